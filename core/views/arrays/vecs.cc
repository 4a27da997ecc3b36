// SPDX-License-Identifier: Apache-2.0
//
// Implements fvecs/NAME.fvecs, .ivecs and .bvecs: columns of vectors in the
// format of nearest-neighbour tools (docs/views.md, section 5).
#include "core/views/arrays/vecs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/container/file_set.h"
#include "core/views/arrays/elements.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

class Vecs final : public Transform {
 public:
  Vecs(Content elements, uint32_t dimension, uint32_t width)
      : elements_(std::move(elements)),
        row_(uint64_t{dimension} * width),
        prefix_(LittleEndian<uint32_t>(&dimension)) {}

  // Reads up to 1 MiB of elements at once, then copies them to their rows.
  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    while (!out.empty()) {
      const size_t n = std::min<size_t>(out.size(), limits::kMiB);
      CTXFS_TRY(Fill(offset, out.first(n), context));
      out = out.subspan(n);
      offset += n;
    }
    return {};
  }
  Status Verify(const ReadContext& context) const override {
    return elements_.Verify(context);
  }
  bool HasUnreadable(uint64_t& budget,
                     const ReadContext& context) const override {
    return elements_.HasUnreadable(budget, context);
  }

 private:
  static constexpr uint64_t kPrefix = sizeof(uint32_t);

  /// Returns how many bytes of elements precede byte `offset` of the file.
  uint64_t Before(uint64_t offset) const {
    const uint64_t whole = offset / (row_ + kPrefix);
    const uint64_t rest = offset % (row_ + kPrefix);
    return whole * row_ + (rest > kPrefix ? rest - kPrefix : 0);
  }

  Status Fill(uint64_t offset, MutableBytes out,
              const ReadContext& context) const {
    const uint64_t first = Before(offset);
    Buffer bytes(static_cast<size_t>(Before(offset + out.size()) - first));
    CTXFS_TRY(ReadInto(elements_, first, bytes.span(), context));
    Bytes from = bytes.span();
    while (!out.empty()) {
      const uint64_t within = offset % (row_ + kPrefix);
      const bool prefix = within < kPrefix;
      const uint64_t left = prefix ? kPrefix - within : row_ + kPrefix - within;
      const size_t n =
          static_cast<size_t>(std::min<uint64_t>(left, out.size()));
      if (prefix) {
        std::memcpy(out.data(), prefix_.data() + within, n);
      } else {
        std::memcpy(out.data(), from.data(), n);
        from = from.subspan(n);
      }
      out = out.subspan(n);
      offset += n;
    }
    return {};
  }

  Content elements_;
  uint64_t row_;  // bytes of a row's elements
  std::array<std::byte, kPrefix> prefix_;
};

/// Returns the file suffix for a dtype (floats are widened to float32); empty
/// if there is none.
std::string_view Suffix(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBf16:
      return ".fvecs";
    case DType::kI32:
      return ".ivecs";
    case DType::kU8:
      return ".bvecs";
    default:
      return {};
  }
}

DType Shown(DType dtype) {
  return Suffix(dtype) == ".fvecs" ? DType::kF32 : dtype;
}

bool MayHaveVectors(const Exports& exports) {
  return exports.arrays != nullptr && exports.vectors;
}

Result<Content> OpenVectors(const ArrayInfo& array,
                            const ReadContext& context) {
  const Content elements = CTXFS_TRY(OpenElements(array, context));
  const DType shown = Shown(array.dtype);
  return VecsContent(
      shown == array.dtype ? elements : WidenElements(array.dtype, elements),
      static_cast<uint32_t>(array.shape[1]),
      static_cast<uint32_t>(DTypeSize(shown)));
}

Status MakeVectors(const Viewed& viewed, const ReadContext& /*context*/,
                   ViewTables& into) {
  const std::vector<ArrayInfo>& arrays = *viewed.arrays;
  into.push_back(
      MakeTable({.placement = {.directory = "fvecs"},
                 .count = static_cast<uint32_t>(arrays.size()),
                 .path = [&arrays](uint32_t file, std::string& scratch)
                     -> std::optional<std::string_view> {
                   const ArrayInfo& array = arrays[file];
                   const std::string_view suffix = Suffix(array.dtype);
                   if (suffix.empty() || array.shape.size() != 2 ||
                       array.shape[1] == 0 || array.shape[1] > INT32_MAX) {
                     return std::nullopt;
                   }
                   scratch = array.name;
                   return scratch += suffix;
                 },
                 .open =
                     [&arrays](uint32_t file, const ReadContext& context) {
                       return OpenVectors(arrays[file], context);
                     },
                 .facts =
                     [&arrays](uint32_t file) {
                       const ArrayInfo& array = arrays[file];
                       return FileFacts{BytesOf(array, Shown(array.dtype)) +
                                        array.shape[0] * sizeof(uint32_t)};
                     },
                 .describe =
                     [&arrays](uint32_t file, const ReadContext& /*context*/) {
                       EntryInfo info;
                       info.kind = "view";
                       info.computed = true;
                       info.dtype = DTypeName(Shown(arrays[file].dtype));
                       info.shape = arrays[file].shape;
                       return info;
                     },
                 .owner = viewed.arrays}));
  return {};
}

}  // namespace

Content VecsContent(const Content& elements, uint32_t dimension,
                    uint32_t width) {
  const uint64_t rows = elements.size() / (uint64_t{dimension} * width);
  return {Computed{std::make_shared<const Vecs>(elements, dimension, width), 0},
          elements.size() + rows * sizeof(uint32_t)};
}

extern const View kFvecsView;
const View kFvecsView{"fvecs", &MayHaveVectors, &MakeVectors};

}  // namespace ctxfs

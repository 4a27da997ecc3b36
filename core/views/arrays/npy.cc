// SPDX-License-Identifier: Apache-2.0
//
// Implements npy/NAME.npy: arrays as numpy saves them, bfloat16 and 8-bit
// floats widened to float32; raw16/NAME.npy: the bits of bfloat16; and
// merged/NAME.npy: arrays with deltas applied (docs/views.md, section 2).
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/views/arrays/elements.h"
#include "core/views/arrays/npy_header.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

class NpyFiles final : public FileTable {
 public:
  /// kAll: all arrays. kBits: the bits of bfloat16 arrays. kMerged: arrays with
  /// deltas applied.
  enum class Which { kAll, kBits, kMerged };

  NpyFiles(Arrays arrays, Which which)
      : FileTable({.directory = Directory(which)}),
        arrays_(std::move(arrays)),
        which_(which) {}

  uint32_t count() const override {
    return static_cast<uint32_t>(arrays_->size());
  }
  std::optional<std::string_view> Path(uint32_t file,
                                       std::string& scratch) const override {
    const ArrayInfo& array = (*arrays_)[file];
    if (IsPacked(array.dtype)) return std::nullopt;
    if (bits() && array.dtype != DType::kBf16) return std::nullopt;
    if (which_ == Which::kMerged && !array.merged) return std::nullopt;
    if (!HasNpy(Shown(array))) return std::nullopt;
    scratch = array.name;
    return scratch += ".npy";
  }
  FileFacts Facts(uint32_t file) const override {
    const ArrayInfo& array = (*arrays_)[file];
    return {NpyHeader(Shown(array), array.shape).size() +
            BytesOf(array, Shown(array))};
  }
  std::optional<EntryInfo> Describe(
      uint32_t file, const ReadContext& /*context*/) const override {
    const ArrayInfo& array = (*arrays_)[file];
    EntryInfo info;
    info.kind = "view";
    info.computed = true;
    info.dtype = DTypeName(Shown(array));
    info.shape = array.shape;
    if (Shown(array) != array.dtype) {
      const std::string from(DTypeName(array.dtype));
      info.note = (bits() ? "the bits of " : "widened from ") + from;
    }
    return info;
  }
  Result<Content> Open(uint32_t file,
                       const ReadContext& context) const override {
    const ArrayInfo& array = (*arrays_)[file];
    const Content elements = CTXFS_TRY(OpenElements(array, context));
    Content content = LiteralContent(NpyHeader(Shown(array), array.shape));
    const bool widened = Shown(array) != array.dtype && !bits();
    content.Append(widened ? WidenElements(array.dtype, elements) : elements);
    return content;
  }

 private:
  static std::string Directory(Which which) {
    // The names of merged arrays include their directory.
    if (which == Which::kMerged) return {};
    return which == Which::kBits ? "raw16" : "npy";
  }
  bool bits() const { return which_ == Which::kBits; }
  DType Shown(const ArrayInfo& array) const {
    return bits() ? DType::kU16 : Widened(array.dtype);
  }

  Arrays arrays_;
  Which which_;
};

template <NpyFiles::Which kWhich>
Status MakeNpy(const Viewed& viewed, const ReadContext& /*context*/,
               ViewTables& into) {
  into.push_back(std::make_shared<const NpyFiles>(viewed.arrays, kWhich));
  return {};
}

}  // namespace

extern const View kNpyView;
const View kNpyView{"npy", &MayHaveArrays, &MakeNpy<NpyFiles::Which::kAll>};

extern const View kMergedView;
const View kMergedView{"merged", &MayHaveArrays,
                       &MakeNpy<NpyFiles::Which::kMerged>};

extern const View kRaw16View;
const View kRaw16View{"raw16", &MayHaveArrays,
                      &MakeNpy<NpyFiles::Which::kBits>};

}  // namespace ctxfs

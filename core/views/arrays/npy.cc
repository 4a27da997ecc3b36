// SPDX-License-Identifier: Apache-2.0
//
// npy/NAME.npy: arrays as numpy saves them, bfloat16 and floats of 8 bits
// widened to float32; raw16/NAME.npy: bfloat16 as its bits; merged/NAME.npy:
// those arrays that deltas were applied to (docs/views.md, section 2).
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
  /// All arrays; bfloat16 arrays alone, as their bits; or arrays that a delta
  /// was applied to.
  enum class Which { kAll, kBits, kMerged };

  NpyFiles(std::shared_ptr<const std::vector<ArrayInfo>> arrays, Which which)
      : FileTable({.directory = Directory(which)}),
        arrays_(std::move(arrays)),
        which_(which),
        bits_(which == Which::kBits) {}

  uint32_t count() const override {
    return static_cast<uint32_t>(arrays_->size());
  }
  std::optional<std::string_view> Path(uint32_t file,
                                       std::string& scratch) const override {
    const ArrayInfo& array = (*arrays_)[file];
    if (IsPacked(array.dtype)) return std::nullopt;
    if (which_ == Which::kBits && array.dtype != DType::kBf16) {
      return std::nullopt;
    }
    if (which_ == Which::kMerged && !array.merged) return std::nullopt;
    if (!HasNpy(Shown(array))) return std::nullopt;
    scratch = array.name;
    return scratch += ".npy";
  }
  std::optional<uint64_t> KnownSize(uint32_t file) const override {
    const ArrayInfo& array = (*arrays_)[file];
    return NpyHeader(Shown(array), array.shape).size() +
           BytesOf(array, Shown(array));
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
      info.note = (bits_ ? "the bits of " : "widened from ") + from;
    }
    return info;
  }
  Result<Content> Open(uint32_t file,
                       const ReadContext& context) const override {
    const ArrayInfo& array = (*arrays_)[file];
    Result<Content> elements = OpenElements(array, context);
    if (!elements) return elements;
    Content content = LiteralContent(NpyHeader(Shown(array), array.shape));
    if (Shown(array) != array.dtype && !bits_) {
      content.Append(WidenElements(array.dtype, *elements));
    } else {
      content.Append(*elements);
    }
    return content;
  }

 private:
  static std::string Directory(Which which) {
    switch (which) {
      case Which::kAll:
        return "npy";
      case Which::kBits:
        return "raw16";
      case Which::kMerged:
        break;
    }
    return {};  // their names start with their directory
  }
  DType Shown(const ArrayInfo& array) const {
    return bits_ ? DType::kU16 : Widened(array.dtype);
  }

  std::shared_ptr<const std::vector<ArrayInfo>> arrays_;
  Which which_;
  bool bits_;
};

void MakeNpy(const Viewed& viewed, const ReadContext& /*context*/,
             ViewTables& into) {
  into.push_back(
      std::make_shared<const NpyFiles>(viewed.arrays, NpyFiles::Which::kAll));
}

void MakeRaw16(const Viewed& viewed, const ReadContext& /*context*/,
               ViewTables& into) {
  into.push_back(
      std::make_shared<const NpyFiles>(viewed.arrays, NpyFiles::Which::kBits));
}

void MakeMerged(const Viewed& viewed, const ReadContext& /*context*/,
                ViewTables& into) {
  into.push_back(std::make_shared<const NpyFiles>(viewed.arrays,
                                                  NpyFiles::Which::kMerged));
}

}  // namespace

extern const View kNpyView;
const View kNpyView{"npy", &MayHaveArrays, &MakeNpy};

extern const View kMergedView;
const View kMergedView{"merged", &MayHaveArrays, &MakeMerged};

extern const View kRaw16View;
const View kRaw16View{"raw16", &MayHaveArrays, &MakeRaw16};

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
//
// npy/NAME.npy: arrays as numpy saves them, bfloat16 widened to float32;
// raw16/NAME.npy: bfloat16 as its bits; merged/NAME.npy: those arrays that
// deltas were applied to (docs/views.md, section 2).
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/views/arrays/elements.h"
#include "core/views/arrays/npy_header.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

constexpr std::string_view kMergedPrefix = "merged/";

class NpyFiles final : public DerivedFiles {
 public:
  /// All arrays; bfloat16 arrays alone, as their bits; or what was merged.
  enum class Which { kAll, kBits, kMerged };

  NpyFiles(std::shared_ptr<const std::vector<ArrayInfo>> arrays, Which which)
      : arrays_(std::move(arrays)),
        which_(which),
        bits_(which == Which::kBits) {}

  uint32_t count() const override {
    return static_cast<uint32_t>(arrays_->size());
  }
  std::optional<std::string> Path(uint32_t file) const override {
    const ArrayInfo& array = (*arrays_)[file];
    switch (which_) {
      case Which::kAll:
        break;
      case Which::kBits:
        if (array.dtype != DType::kBf16) return std::nullopt;
        return "raw16/" + array.name + ".npy";
      case Which::kMerged:
        if (!array.name.starts_with(kMergedPrefix)) return std::nullopt;
        return array.name + ".npy";
    }
    return "npy/" + array.name + ".npy";
  }
  Result<uint64_t> Size(uint32_t file,
                        const ReadContext& /*context*/) const override {
    const ArrayInfo& array = (*arrays_)[file];
    return NpyHeader(Shown(array), array.shape).size() +
           BytesOf(array, Shown(array));
  }
  EntryInfo Describe(uint32_t file) const override {
    const ArrayInfo& array = (*arrays_)[file];
    EntryInfo info;
    info.kind = "view";
    info.dtype = DTypeName(Shown(array));
    info.shape = array.shape;
    if (Shown(array) != array.dtype) {
      info.note = bits_ ? "the bits of bf16" : "widened from bf16";
    }
    return info;
  }
  Result<Content> Open(uint32_t file,
                       const ReadContext& context) const override {
    const ArrayInfo& array = (*arrays_)[file];
    Result<Content> elements = OpenElements(array, context);
    if (!elements) return elements;
    auto header = std::make_shared<const std::string>(
        NpyHeader(Shown(array), array.shape));
    const uint64_t size = header->size();
    Content content;
    content.Append(Literal{std::move(header)}, size);
    if (array.dtype == DType::kBf16 && !bits_) {
      content.Append(WidenElements(array.dtype, *elements));
    } else {
      content.Append(*elements);
    }
    return content;
  }

 private:
  DType Shown(const ArrayInfo& array) const {
    return bits_ ? DType::kU16 : Widened(array.dtype);
  }

  std::shared_ptr<const std::vector<ArrayInfo>> arrays_;
  Which which_;
  bool bits_;
};

void MakeNpy(const Viewed& viewed, ViewFiles& into) {
  into.derived.push_back(
      std::make_shared<const NpyFiles>(viewed.arrays, NpyFiles::Which::kAll));
}

void MakeRaw16(const Viewed& viewed, ViewFiles& into) {
  into.derived.push_back(
      std::make_shared<const NpyFiles>(viewed.arrays, NpyFiles::Which::kBits));
}

void MakeMerged(const Viewed& viewed, ViewFiles& into) {
  into.derived.push_back(std::make_shared<const NpyFiles>(
      viewed.arrays, NpyFiles::Which::kMerged));
}

}  // namespace

extern const View kNpyView;
const View kNpyView{"npy", &MayHaveArrays, &MakeNpy};

extern const View kMergedView;
const View kMergedView{"merged", &MayHaveArrays, &MakeMerged};

extern const View kRaw16View;
const View kRaw16View{"raw16", &MayHaveArrays, &MakeRaw16};

}  // namespace ctxfs

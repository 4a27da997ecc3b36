// SPDX-License-Identifier: Apache-2.0
//
// views/dequantized/NAME: an int8 tensor times its scales, as float32
// (docs/formats/model_shard.md, section 4).
#include <span>
#include <utility>

#include "core/codec/numbers/float_window.h"
#include "core/codec/numbers/widen.h"
#include "core/container/file_set.h"
#include "core/formats/model_shard/model_shard.h"

namespace ctxfs::model_shard {
namespace {

struct Quantized {
  TensorHeader weights;
  TensorHeader scales;
  uint32_t scales_entry = 0;
  uint64_t columns = 0;  // elements of a row; 0: one scale for all rows

  uint64_t size() const { return weights.data_size * sizeof(float); }
};

Result<Quantized> Examine(const ModelShard& shard, uint32_t entry,
                          const ReadContext& context) {
  const std::optional<uint32_t> scales_entry = shard.ScalesOf(entry);
  const auto unfit = [&](const char* why) {
    return Error{Code::kCorrupt, std::string("no scales: ") + why,
                 shard.Record(entry).data_offset};
  };
  if (!scales_entry) return unfit("no entry has the name of scales");
  TensorHeader weights = CTXFS_TRY(shard.Header(entry, context));
  if (weights.dtype != DType::kI8) return unfit("the tensor is not int8");
  TensorHeader scales = CTXFS_TRY(shard.Header(*scales_entry, context));
  if (scales.dtype != DType::kF32 && scales.dtype != DType::kF16 &&
      scales.dtype != DType::kBf16) {
    return unfit("the elements are not f32, f16 or bf16");
  }
  Quantized found{std::move(weights), std::move(scales), *scales_entry, 0};
  const std::vector<uint64_t>& shape = found.weights.shape;
  const uint64_t count = found.scales.elements();
  if (count != 1) {
    if (shape.size() != 2 || count != shape[0]) {
      return unfit("there is neither one scale nor one for each row");
    }
    found.columns = shape[1];
  }
  if (found.weights.data_size > INT64_MAX / sizeof(float)) {
    return unfit("too many elements");
  }
  return found;
}

class Dequantize final : public Transform {
 public:
  Dequantize(Content weights, Content scales, DType dtype, uint64_t columns)
      : weights_(std::move(weights)),
        scales_(std::move(scales)),
        dtype_(dtype),
        columns_(columns) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    return FillFloats(offset, out,
                      [&](uint64_t first, std::span<float> floats) {
                        return Multiply(first, floats, context);
                      });
  }

  Status Verify(const ReadContext& context) const override {
    CTXFS_TRY(weights_.Verify(context));
    return scales_.Verify(context);
  }

 private:
  Status Multiply(uint64_t first, std::span<float> floats,
                  const ReadContext& context) const {
    Buffer bytes(floats.size());
    CTXFS_TRY(ReadInto(weights_, first, bytes.span(), context));
    WidenToFloat(DType::kI8, bytes.span(), floats);

    const auto row_of = [this](uint64_t element) {
      return columns_ == 0 ? 0 : element / columns_;
    };
    const uint64_t row = row_of(first);
    const uint64_t rows = row_of(first + floats.size() - 1) - row + 1;
    Buffer stored(static_cast<size_t>(rows * DTypeSize(dtype_)));
    CTXFS_TRY(
        ReadInto(scales_, row * DTypeSize(dtype_), stored.span(), context));
    std::vector<float> scales(static_cast<size_t>(rows));
    WidenToFloat(dtype_, stored.span(), scales);
    for (size_t i = 0; i < floats.size(); ++i) {
      floats[i] *= scales[static_cast<size_t>(row_of(first + i) - row)];
    }
    return {};
  }

  Content weights_;
  Content scales_;
  DType dtype_;
  uint64_t columns_;
};

Result<Content> OpenDequantized(const ModelShard& shard, uint32_t entry,
                                const ReadContext& context) {
  const Quantized found = CTXFS_TRY(Examine(shard, entry, context));
  Content weights = CTXFS_TRY(shard.OpenTensor(entry, context));
  Content scales = CTXFS_TRY(shard.OpenTensor(found.scales_entry, context));
  return Content(Computed{std::make_shared<const Dequantize>(
                     std::move(weights), std::move(scales), found.scales.dtype,
                     found.columns)},
                 found.size());
}

}  // namespace

std::shared_ptr<const FileTable> DequantizedTensors(
    std::shared_ptr<const ModelShard> shard) {
  const ModelShard& model = *shard;
  return MakeTable(
      {.placement = {.role = Role::kViews,
                     .directory = "dequantized",
                     .exists_cost = Cost::kSmallRead},
       .count = model.entry_count(),
       .path = PathsOfEntries(model.EntryTable(),
                              [&model](uint32_t entry) {
                                return model.ScalesOf(entry) &&
                                       model.MayBeTensor(entry);
                              }),
       .open =
           [&model](uint32_t entry, const ReadContext& context) {
             return OpenDequantized(model, entry, context);
           },
       .facts =
           [&model](uint32_t entry) {
             const auto scales = model.ScalesOf(entry);
             const bool plain =
                 scales && model.IsPlain(entry) && model.IsPlain(*scales);
             return FileFacts{.size_cost =
                                  plain ? Cost::kSmallRead : Cost::kDecode};
           },
       .size =
           [&model](uint32_t entry, const ReadContext& context) {
             return SizeIn(Examine(model, entry, context), &Quantized::size);
           },
       .exists = [&model](uint32_t entry, Cost most,
                          const ReadContext& context) -> Result<bool> {
         const bool likely = model.LikelyTensor(entry) ||
                             model.LikelyTensor(*model.ScalesOf(entry));
         if (most < Cost::kDecode && likely) return true;
         return ExistsIf(Examine(model, entry, context), likely);
       },
       .describe =
           [&model](uint32_t entry, const ReadContext& context) {
             EntryInfo info = model.Describe(entry, context);
             info.kind = "dequantized";
             if (info.shape) info.dtype = DTypeName(DType::kF32);
             info.computed = true;
             info.note = "int8 times the scales of entry " +
                         std::to_string(*model.ScalesOf(entry));
             return info;
           },
       .owner = std::move(shard)});
}

Result<ArrayInfo> DequantizedArray(std::shared_ptr<const ModelShard> shard,
                                   uint32_t entry, std::string name,
                                   const ReadContext& context) {
  const Quantized found = CTXFS_TRY(Examine(*shard, entry, context));
  return ArrayInfo{std::move(name), DType::kF32, found.weights.shape,
                   [shard = std::move(shard), entry](const ReadContext& of) {
                     return OpenDequantized(*shard, entry, of);
                   },
                   /*opening_reads=*/true};
}

}  // namespace ctxfs::model_shard

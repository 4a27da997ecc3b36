// SPDX-License-Identifier: Apache-2.0
//
// views/dequantized/NAME: an int8 tensor times its scales, as float32
// (docs/model_shard.md, section 4).
#include <span>
#include <utility>

#include "core/codec/float_window.h"
#include "core/codec/widen.h"
#include "core/container/entry_file_table.h"
#include "core/container/examined.h"
#include "core/formats/model_shard/model_shard.h"

namespace ctxfs::model_shard {
namespace {

/// An int8 tensor and its scales.
struct Quantized {
  TensorHeader weights;
  TensorHeader scales;
  uint32_t scales_entry = 0;
  uint64_t columns = 0;  // elements with one scale; 0: all have the same

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
  Result<TensorHeader> weights = shard.Header(entry, context);
  if (!weights) return std::move(weights).error();
  if (weights->dtype != DType::kI8) return unfit("the tensor is not int8");
  Result<TensorHeader> scales = shard.Header(*scales_entry, context);
  if (!scales) return std::move(scales).error();
  if (scales->dtype != DType::kF32 && scales->dtype != DType::kF16 &&
      scales->dtype != DType::kBf16) {
    return unfit("the elements are not f32, f16 or bf16");
  }
  Quantized found{std::move(*weights), std::move(*scales), *scales_entry, 0};
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
    if (Status verified = weights_.Verify(context); !verified) return verified;
    return scales_.Verify(context);
  }

 private:
  Status Multiply(uint64_t first, std::span<float> floats,
                  const ReadContext& context) const {
    Buffer bytes(floats.size());
    Status read = ReadInto(weights_, first, bytes.span(), context);
    if (!read) return read;
    WidenToFloat(DType::kI8, bytes.span(), floats);

    const auto row_of = [this](uint64_t element) {
      return columns_ == 0 ? 0 : element / columns_;
    };
    const uint64_t row = row_of(first);
    const uint64_t rows = row_of(first + floats.size() - 1) - row + 1;
    Buffer stored(static_cast<size_t>(rows * DTypeSize(dtype_)));
    read = ReadInto(scales_, row * DTypeSize(dtype_), stored.span(), context);
    if (!read) return read;
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
  const Result<Quantized> found = Examine(shard, entry, context);
  if (!found) return found.error();
  Result<Content> weights = shard.OpenTensor(entry, context);
  if (!weights) return std::move(weights).error();
  Result<Content> scales = shard.OpenTensor(found->scales_entry, context);
  if (!scales) return std::move(scales).error();
  return Content(Computed{std::make_shared<const Dequantize>(
                     std::move(*weights), std::move(*scales),
                     found->scales.dtype, found->columns)},
                 found->size());
}

class DequantizedFiles final : public EntryFileTable {
 public:
  explicit DequantizedFiles(std::shared_ptr<const ModelShard> shard)
      : EntryFileTable(shard->EntryTable(), Role::kViews, "dequantized"),
        shard_(std::move(shard)) {}

  bool MayHave(uint32_t entry) const override {
    return shard_->ScalesOf(entry) && shard_->MayBeTensor(entry);
  }
  Cost exists_cost() const override { return Cost::kSmallRead; }
  Result<bool> Exists(uint32_t entry, Cost most,
                      const ReadContext& context) const override {
    const bool believed = shard_->BelievedTensor(entry) ||
                          shard_->BelievedTensor(*shard_->ScalesOf(entry));
    if (most < Cost::kDecode && believed) return true;
    return ExistsIf(Examine(*shard_, entry, context), believed);
  }
  Cost size_cost(uint32_t entry) const override {
    const bool plain =
        shard_->IsPlain(entry) && shard_->IsPlain(*shard_->ScalesOf(entry));
    return plain ? Cost::kSmallRead : Cost::kDecode;
  }
  Result<uint64_t> Size(uint32_t entry,
                        const ReadContext& context) const override {
    return SizeIn(Examine(*shard_, entry, context), &Quantized::size);
  }
  Result<Content> Open(uint32_t entry,
                       const ReadContext& context) const override {
    return OpenDequantized(*shard_, entry, context);
  }
  std::optional<EntryInfo> Describe(
      uint32_t entry, const ReadContext& /*context*/) const override {
    EntryInfo info = shard_->Describe(entry);
    info.kind = "dequantized";
    if (info.shape) info.dtype = DTypeName(DType::kF32);
    info.computed = true;
    info.note = "int8 times the scales of entry " +
                std::to_string(*shard_->ScalesOf(entry));
    return info;
  }

 private:
  std::shared_ptr<const ModelShard> shard_;
};

}  // namespace

std::shared_ptr<const FileTable> DequantizedTensors(
    std::shared_ptr<const ModelShard> shard) {
  return std::make_shared<const DequantizedFiles>(std::move(shard));
}

Result<ArrayInfo> DequantizedArray(std::shared_ptr<const ModelShard> shard,
                                   uint32_t entry, std::string name,
                                   const ReadContext& context) {
  const Result<Quantized> found = Examine(*shard, entry, context);
  if (!found) return found.error();
  return ArrayInfo{std::move(name), DType::kF32, found->weights.shape,
                   [shard = std::move(shard), entry](const ReadContext& of) {
                     return OpenDequantized(*shard, entry, of);
                   },
                   /*opening_reads=*/true};
}

}  // namespace ctxfs::model_shard

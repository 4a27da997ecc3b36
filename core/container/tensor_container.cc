// SPDX-License-Identifier: Apache-2.0
#include "core/container/tensor_container.h"

#include <string>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/container/entry_file_table.h"

namespace ctxfs {
namespace {

constexpr uint32_t kTensorsPerCheck = 4096;

}  // namespace

class TensorContainer::Tensors final : public FileTable {
 public:
  explicit Tensors(std::shared_ptr<const TensorContainer> model)
      : FileTable({.role = Role::kEntries, .directory = "tensors"}),
        model_(std::move(model)) {}

  uint32_t count() const override { return model_->count(); }
  std::optional<std::string_view> Path(
      uint32_t tensor, std::string& /*scratch*/) const override {
    return model_->TensorName(tensor);
  }
  Result<Content> Open(uint32_t tensor,
                       const ReadContext& /*context*/) const override {
    return model_->OpenTensor(tensor);
  }
  std::optional<uint64_t> KnownSize(uint32_t tensor) const override {
    return model_->TensorSize(tensor);
  }
  std::optional<EntryInfo> Describe(
      uint32_t tensor, const ReadContext& /*context*/) const override {
    return model_->DescribeTensor(tensor);
  }
  std::optional<Error> Fault(uint32_t tensor) const override {
    return model_->TensorFault(tensor);
  }

 private:
  const std::shared_ptr<const TensorContainer> model_;
};

class TensorContainer::Values final : public EntryFileTable {
 public:
  explicit Values(std::shared_ptr<const TensorContainer> model)
      : EntryFileTable(model->TensorFiles(), Role::kViews, "dequantized"),
        model_(std::move(model)) {}

  bool MayHave(uint32_t tensor) const override {
    return model_->ValueBytes(tensor).has_value();
  }
  Result<Content> Open(uint32_t tensor,
                       const ReadContext& /*context*/) const override {
    return model_->OpenValues(tensor);
  }
  std::optional<uint64_t> KnownSize(uint32_t tensor) const override {
    return model_->ValueBytes(tensor);
  }
  std::optional<EntryInfo> Describe(
      uint32_t tensor, const ReadContext& /*context*/) const override {
    return model_->DescribeValues(tensor);
  }

 private:
  const std::shared_ptr<const TensorContainer> model_;
};

Result<Content> TensorContainer::OpenValues(uint32_t /*tensor*/) const {
  return Error{Code::kNotFound, "the tensor has no values to be told"};
}

EntryInfo TensorContainer::DescribeValues(uint32_t tensor) const {
  EntryInfo info = DescribeTensor(tensor);
  info.size = ValueBytes(tensor).value_or(0);
  info.codec = std::exchange(info.dtype, std::string(DTypeName(DType::kF32)));
  info.note.clear();
  info.computed = true;
  return info;
}

std::shared_ptr<const FileTable> TensorContainer::TensorFiles() const {
  return std::make_shared<const Tensors>(Share(*this));
}

std::shared_ptr<const FileTable> TensorContainer::ValueFiles() const {
  return std::make_shared<const Values>(Share(*this));
}

Exports TensorContainer::TensorExports() const {
  Exports exports;
  if (count() == 0 || count() > limits::kArrayEntries) return exports;
  exports.arrays = [self = Share(*this)](const ReadContext& context) {
    return self->Arrays(context);
  };
  exports.weights =
      [self = Share(*this)](
          const ReadContext& context) -> Result<std::vector<ArrayInfo>> {
    std::vector<ArrayInfo> arrays = self->Arrays(context);
    if (arrays.size() == self->count()) return arrays;
    return Error{Code::kCorrupt, "some tensors cannot be read"};
  };
  return exports;
}

std::vector<ArrayInfo> TensorContainer::Arrays(
    const ReadContext& context) const {
  std::vector<ArrayInfo> arrays;
  for (uint32_t i = 0; i < count(); ++i) {
    if (i % kTensorsPerCheck == 0 && !context.Check()) break;
    if (auto array = ArrayOf(i)) arrays.push_back(*std::move(array));
  }
  return arrays;
}

TensorContainer::Totals TensorContainer::SumTensors(
    const ReadContext& context) const {
  Totals totals;
  for (uint32_t i = 0; i < count(); ++i) {
    if (i % kTensorsPerCheck == 0 && !context.Check()) break;
    if (TensorFault(i)) ++totals.unreadable;
    totals.bytes = CheckedAdd(totals.bytes, TensorSize(i)).value_or(UINT64_MAX);
  }
  return totals;
}

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#include "core/container/tensor_container.h"

#include <fmt/core.h>

#include <string>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/container/file_set.h"

namespace ctxfs {
namespace {

constexpr uint32_t kTensorsPerCheck = 4096;

}  // namespace

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
  return MakeTable(
      {.placement = {.role = Role::kEntries, .directory = "tensors"},
       .count = count(),
       .path = [this](uint32_t tensor,
                      std::string& /*scratch*/) { return TensorName(tensor); },
       .open =
           [this](uint32_t tensor, const ReadContext& context) {
             return OpenTensor(tensor, context);
           },
       .facts =
           [this](uint32_t tensor) {
             return FileFacts{TensorSize(tensor), TensorFault(tensor)};
           },
       .describe =
           [this](uint32_t tensor, const ReadContext& /*context*/) {
             return DescribeTensor(tensor);
           },
       .owner = Share(*this)});
}

std::shared_ptr<const FileTable> TensorContainer::ValueFiles() const {
  return MakeTable(
      {.placement = {.role = Role::kViews, .directory = "dequantized"},
       .count = count(),
       .path = PathsOfEntries(
           TensorFiles(),
           [this](uint32_t tensor) { return ValueBytes(tensor).has_value(); }),
       .open =
           [this](uint32_t tensor, const ReadContext& /*context*/) {
             return OpenValues(tensor);
           },
       .facts =
           [this](uint32_t tensor) { return FileFacts{ValueBytes(tensor)}; },
       .describe =
           [this](uint32_t tensor, const ReadContext& /*context*/) {
             return DescribeValues(tensor);
           },
       .owner = Share(*this)});
}

Exports TensorContainer::TensorExports() const {
  Exports exports;
  if (count() == 0 || count() > limits::kArrayEntries) return exports;
  exports.arrays = [self = Share(*this)](const ReadContext& context) {
    return self->Arrays(context);
  };
  exports.complete = [self = Share(*this)](const ReadContext& context) {
    return self->CheckArrays(context);
  };
  exports.weights =
      [self = Share(*this)](
          const ReadContext& context) -> Result<std::vector<ArrayInfo>> {
    CTXFS_TRY(self->CheckArrays(context));
    return self->Arrays(context);
  };
  return exports;
}

Status TensorContainer::CheckArrays(const ReadContext& context) const {
  uint32_t missing = 0;
  uint32_t first = 0;
  for (uint32_t i = 0; i < count(); ++i) {
    if (i % kTensorsPerCheck == 0) {
      CTXFS_TRY(context.Check());
    }
    if (!IsArray(i) && missing++ == 0) first = i;
  }
  if (missing == 0) return {};
  const std::optional<Error> fault = TensorFault(first);
  std::string why = fault ? fault->what
                          : "tensor " + Quote(TensorName(first)) + ": " +
                                DescribeTensor(first).note;
  return Error{fault ? fault->code : Code::kUnsupported,
               fmt::format("{} of {} tensors cannot be read as arrays; the "
                           "first is {}",
                           missing, count(), why),
               fault ? fault->offset : kNoOffset};
}

std::vector<ArrayInfo> TensorContainer::Arrays(
    const ReadContext& context) const {
  std::vector<ArrayInfo> arrays;
  for (uint32_t i = 0; i < count(); ++i) {
    if (i % kTensorsPerCheck == 0 && !context.Check()) break;
    // The array copies the name. If memory is refused, the list is incomplete,
    // but no one uses it: the caller's work fails, as after an interrupt.
    if (!AdmitGrowth(arrays) || !HeapAllowance::Admit(TensorName(i).size())) {
      break;
    }
    if (auto array = ArrayOf(i)) arrays.push_back(*std::move(array));
  }
  return arrays;
}

void TensorContainer::AddTotals(Json& info, const ReadContext& context) const {
  uint64_t bytes = 0;
  uint64_t unreadable = 0;
  for (uint32_t i = 0; i < count(); ++i) {
    if (i % kTensorsPerCheck == 0 && !context.Check()) break;
    if (TensorFault(i)) ++unreadable;
    bytes = CheckedAdd(bytes, TensorSize(i)).value_or(UINT64_MAX);
  }
  info.update({{"entries", count()},
               {"entries_unreadable", unreadable},
               {"stored_size", bytes},
               {"decoded_size", bytes}});
}

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
//
// Checks the layout of the data (docs/formats/safetensors.md, section 4): the
// tensors' ranges, in order, must cover all data without holes and overlaps.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "core/base/bytes.h"
#include "core/base/heap/heap_allowance.h"
#include "core/formats/safetensors/header.h"
#include "core/formats/safetensors/limits.h"

namespace ctxfs::safetensors {
namespace {

Error Fault(const SafetensorsHeader& header, uint32_t tensor,
            const std::string& what) {
  return {Code::kCorrupt, header.Label(tensor) + ": " + what};
}

std::string RangeText(const SafetensorsTensor& tensor) {
  return fmt::format("data_offsets [{}, {}]", tensor.begin, tensor.end);
}

/// Returns the bits of all elements. Multiplies like the library, left to right
/// with a check at each step: an overflow before a 0 counts as overflow.
std::optional<uint64_t> BitsOf(std::span<const uint64_t> shape, DType dtype) {
  std::optional<uint64_t> product = 1;
  for (const uint64_t dim : shape) {
    if (product) product = CheckedMul(*product, dim);
  }
  return product ? CheckedMul(*product, DTypeBits(dtype)) : std::nullopt;
}

class Chain {
 public:
  Chain(const SafetensorsHeader& header, uint64_t data_at,
        SafetensorsFaults& faults)
      : header_(header), data_at_(data_at), faults_(faults) {}

  /// Adds the next tensor in range order. `gaps`: whether holes are faults.
  void Add(uint32_t tensor, bool gaps) {
    const SafetensorsTensor& record = header_.tensors[tensor];
    if (record.begin < end_) {
      Report(
          tensor,
          fmt::format("overlaps the tensor before it, which ends at {}", end_));
    } else if (record.begin > end_ && gaps) {
      Report(tensor, fmt::format("leaves a hole after {}", end_));
    }
    end_ = std::max(end_, record.end);
  }

  uint64_t end() const { return end_; }

 private:
  void Report(uint32_t tensor, const std::string& what) {
    const SafetensorsTensor& record = header_.tensors[tensor];
    faults_.Add(header_.Label(tensor) + ": " + RangeText(record) + " " + what,
                data_at_ + record.begin);
  }

  const SafetensorsHeader& header_;
  const uint64_t data_at_;
  SafetensorsFaults& faults_;
  uint64_t end_ = 0;
};

}  // namespace

std::optional<Error> SafetensorsRangeFault(const SafetensorsHeader& header,
                                           uint32_t tensor, uint64_t data) {
  const SafetensorsTensor& record = header.tensors[tensor];
  if (record.begin > record.end) {
    return Fault(header, tensor, RangeText(record) + " end before they begin");
  }
  if (record.end > data) {
    return Fault(header, tensor,
                 fmt::format("{} run past the end of the data ({} bytes)",
                             RangeText(record), data));
  }
  return std::nullopt;
}

std::optional<Error> SafetensorsShapeFault(const SafetensorsHeader& header,
                                           uint32_t tensor) {
  const std::optional<DType> dtype = header.KnownDType(tensor);
  if (!dtype) return std::nullopt;
  const std::optional<uint64_t> bits = BitsOf(header.Shape(tensor), *dtype);
  if (!bits) {
    return Fault(header, tensor,
                 "its shape has 2^64 bits or more: an overflow");
  }
  if (*bits % 8 != 0) {
    return Fault(header, tensor,
                 fmt::format("its {} bits are not whole bytes", *bits));
  }
  const SafetensorsTensor& record = header.tensors[tensor];
  if (record.end - record.begin == *bits / 8) return std::nullopt;
  return Fault(
      header, tensor,
      fmt::format("{} are not the {} bytes that its type and shape need",
                  RangeText(record), *bits / 8));
}

Status CheckSafetensorsLayout(const SafetensorsHeader& header, uint64_t data_at,
                              uint64_t data, SafetensorsFaults& faults,
                              const ReadContext& context) {
  CTXFS_TRY(HeapAllowance::Admit(header.tensors.size() * sizeof(uint32_t)));
  std::vector<uint32_t> order(header.tensors.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto less = [&header](uint32_t a, uint32_t b) {
    const SafetensorsTensor& one = header.tensors[a];
    const SafetensorsTensor& other = header.tensors[b];
    return one.begin != other.begin ? one.begin < other.begin
                                    : one.end < other.end;
  };
  if (!std::is_sorted(order.begin(), order.end(), less)) {
    std::sort(order.begin(), order.end(), less);
  }

  // Omitted tensors leave holes. These are not reported, because the omissions
  // already are.
  bool whole = header.left_out == 0;
  Chain chain(header, data_at, faults);
  uint32_t checked = 0;
  for (const uint32_t tensor : order) {
    if (checked++ % kTensorsPerCheck == 0) {
      CTXFS_TRY(context.Check());
    }
    if (auto range = SafetensorsRangeFault(header, tensor, data)) {
      faults.Add(std::move(range->what), data_at);
      whole = false;
      continue;
    }
    if (auto shape = SafetensorsShapeFault(header, tensor)) {
      faults.Add(std::move(shape->what),
                 data_at + header.tensors[tensor].begin);
    }
    chain.Add(tensor, whole);
  }
  if (whole && chain.end() < data) {
    faults.Add(fmt::format("{} trailing bytes after the last tensor",
                           data - chain.end()),
               data_at + chain.end());
  }
  return {};
}

}  // namespace ctxfs::safetensors

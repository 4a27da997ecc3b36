// SPDX-License-Identifier: Apache-2.0
//
// Computes sizes and positions of tensors (docs/formats/gguf.md, sections 4 and
// 8).
#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "core/base/bytes.h"
#include "core/formats/gguf/header.h"

namespace ctxfs::gguf {
namespace {

using Fault = GgufTensor::Fault;

constexpr const char* kWhy[] = {
    nullptr,
    "a dimension is 2^63 or more",
    "its shape has 2^63 - 1 elements or more: an overflow",
    "its innermost dimension is not a multiple of the block size of its type",
    "its data runs past the end of the file",
};

std::string Why(Fault fault) { return kWhy[static_cast<size_t>(fault)]; }

/// The number of tensors that a warning is about, and the first of them.
struct Count {
  uint64_t tensors = 0;
  uint32_t first = 0;

  void Add(uint32_t tensor) {
    if (tensors++ == 0) first = tensor;
  }
};

class LayoutCheck {
 public:
  LayoutCheck(GgufHeader& header, uint64_t file_size)
      : header_(header), file_size_(file_size) {}

  void Run() {
    if (header_.data_at <= file_size_)
      data_size_ = file_size_ - header_.data_at;
    for (uint32_t i = 0; i < count(); ++i) Measure(i);
    MeasureUnknown();
    CheckOrder();  // before Place, which sets sizes of cut tensors to 0
    for (uint32_t i = 0; i < count(); ++i) Place(i);
    CheckOverlap();
    header_.shown_end = Padded(header_.data_at + data_end_);
  }

 private:
  uint32_t count() const {
    return static_cast<uint32_t>(header_.tensors.size());
  }

  /// Returns the number of elements; nullopt from 2^63 - 1 on. The number is 0
  /// if any dimension is 0, however large the others are.
  std::optional<uint64_t> Elements(const GgufTensor& tensor) const {
    const auto dims =
        std::span(header_.dims).subspan(tensor.dims_at, tensor.rank);
    if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
    std::optional<uint64_t> product = 1;
    for (const uint64_t dim : dims) {
      if (product) product = CheckedMul(*product, dim);
    }
    if (!product || *product >= INT64_MAX) return std::nullopt;
    return product;
  }

  void Measure(uint32_t number) {
    GgufTensor& tensor = header_.tensors[number];
    if (tensor.fault == Fault::kNone) tensor.fault = MeasureSound(tensor);
    if (tensor.fault != Fault::kNone) Report(number);
  }

  void Report(uint32_t number) {
    GgufTensor& tensor = header_.tensors[number];
    tensor.size = 0;
    header_.AddFault(header_.Label(number) + ": " + Why(tensor.fault),
                     tensor.record_at);
  }

  Fault MeasureSound(GgufTensor& tensor) const {
    const std::optional<uint64_t> elements = Elements(tensor);
    if (!elements) return Fault::kOverflow;
    const GgufType* type = GgufTypeOf(tensor.type);
    if (type == nullptr) return Fault::kNone;
    const uint64_t row = tensor.rank == 0 ? 1 : header_.dims[tensor.dims_at];
    if (row % type->block != 0) return Fault::kRow;
    const std::optional<uint64_t> size =
        CheckedMul(*elements / type->block, type->bytes);
    if (!size) return Fault::kPastEnd;
    tensor.size = *size;
    return Fault::kNone;
  }

  /// Sets the sizes of tensors of unknown type: each ends at the next higher
  /// offset of a tensor, or at the end of the file. Warns about tensors whose
  /// values cannot be shown.
  void MeasureUnknown() {
    std::vector<uint64_t> offsets;
    offsets.reserve(count());
    Count unknown;
    Count big_endian;
    for (uint32_t i = 0; i < count(); ++i) {
      const GgufTensor& tensor = header_.tensors[i];
      offsets.push_back(tensor.offset);
      if (GgufTypeOf(tensor.type) == nullptr) {
        unknown.Add(i);
      } else if (header_.layout.big_endian && tensor.fault == Fault::kNone &&
                 !GgufTypeOf(tensor.type)->plain &&
                 header_.QuantOf(tensor) == nullptr) {
        big_endian.Add(i);
      }
    }
    Warn(big_endian,
         "are of a quantised type whose byte order in a big-endian file is "
         "undefined: bytes only");
    Warn(unknown, "are of an unknown type: bytes only");
    if (unknown.tensors == 0) return;
    std::sort(offsets.begin(), offsets.end());
    for (GgufTensor& tensor : header_.tensors) {
      if (GgufTypeOf(tensor.type) != nullptr || tensor.fault != Fault::kNone ||
          tensor.offset > data_size_) {
        continue;
      }
      const auto next =
          std::upper_bound(offsets.begin(), offsets.end(), tensor.offset);
      const uint64_t end =
          next == offsets.end() ? data_size_ : std::min(*next, data_size_);
      tensor.size = end - tensor.offset;
    }
  }

  uint64_t Padded(uint64_t end) const {
    const uint64_t mask = uint64_t{header_.alignment} - 1;
    return end > UINT64_MAX - mask ? UINT64_MAX : (end + mask) & ~mask;
  }

  void CheckOrder() {
    Count loose;
    uint64_t expected = 0;
    for (uint32_t i = 0; i < count(); ++i) {
      const GgufTensor& tensor = header_.tensors[i];
      if (tensor.offset != expected) loose.Add(i);
      expected =
          Padded(CheckedAdd(tensor.offset, tensor.size).value_or(UINT64_MAX));
    }
    Warn(loose,
         "are not packed: they do not start at the padded end of the tensor "
         "before them");
  }

  void Place(uint32_t number) {
    GgufTensor& tensor = header_.tensors[number];
    if (tensor.offset % header_.alignment != 0) {
      header_.AddFault(
          fmt::format("{}: its offset {} is misaligned, not a multiple of {}",
                      header_.Label(number), tensor.offset, header_.alignment),
          tensor.record_at);
    }
    if (tensor.fault != Fault::kNone) return;
    const uint64_t end =
        CheckedAdd(tensor.offset, tensor.size).value_or(UINT64_MAX);
    header_.data_end =
        std::max(header_.data_end,
                 CheckedAdd(header_.data_at, end).value_or(UINT64_MAX));
    const bool unknown = GgufTypeOf(tensor.type) == nullptr;
    if ((tensor.size == 0 && !unknown) ||
        InBounds(tensor.offset, tensor.size, data_size_)) {
      return;
    }
    tensor.fault = Fault::kPastEnd;
    Report(number);
  }

  void CheckOverlap() {
    std::vector<uint32_t> order;
    order.reserve(count());
    for (uint32_t i = 0; i < count(); ++i) {
      if (header_.tensors[i].size > 0) order.push_back(i);
    }
    std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
      return header_.tensors[a].offset < header_.tensors[b].offset;
    });
    Count shared;
    uint64_t end = 0;
    for (const uint32_t i : order) {
      const GgufTensor& tensor = header_.tensors[i];
      if (tensor.offset < end) shared.Add(i);
      end = std::max(end, tensor.offset + tensor.size);
    }
    Warn(shared, "overlap other tensors");
    data_end_ = end;
  }

  void Warn(const Count& count, const char* what) {
    if (count.tensors == 0) return;
    header_.warnings.push_back(
        {fmt::format("{} tensors, the first of them {}, {}", count.tensors,
                     header_.Label(count.first), what),
         header_.tensors[count.first].record_at});
  }

  GgufHeader& header_;
  const uint64_t file_size_;
  uint64_t data_size_ = 0;
  uint64_t data_end_ = 0;
};

}  // namespace

void CheckGgufLayout(GgufHeader& header, uint64_t file_size) {
  LayoutCheck(header, file_size).Run();
}

std::optional<Error> GgufHeader::TensorFault(uint32_t tensor) const {
  const GgufTensor& record = tensors[tensor];
  if (record.fault == Fault::kNone) return std::nullopt;
  return Error{Code::kCorrupt, Label(tensor) + ": " + Why(record.fault),
               record.record_at};
}

}  // namespace ctxfs::gguf

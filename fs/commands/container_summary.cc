// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/container_summary.h"

#include <algorithm>

namespace ctxfs {
namespace {

/// Sizes are declared by the container: a sum may exceed 64 bits.
uint64_t AddUpTo(uint64_t a, uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

uint64_t Product(const std::vector<uint64_t>& shape) {
  uint64_t product = 1;
  for (const uint64_t extent : shape) {
    if (extent != 0 && product > UINT64_MAX / extent) return UINT64_MAX;
    product *= extent;
  }
  return product;
}

/// "crc32c" of "crc32c:9a71bb4c".
std::string Algorithm(const std::string& checksum) {
  return checksum.empty() ? "none" : checksum.substr(0, checksum.find(':'));
}

void CountArray(const EntryInfo& info, ContainerSummary& summary) {
  const uint64_t elements = Product(*info.shape);
  ++summary.arrays;
  summary.elements = AddUpTo(summary.elements, elements);
  summary.all_tensors &= info.kind == "tensor";
  ContainerSummary::Dtype& dtype = summary.dtypes[info.dtype];
  ++dtype.arrays;
  dtype.elements = AddUpTo(dtype.elements, elements);
  dtype.bytes = AddUpTo(dtype.bytes, info.size);

  std::vector<ContainerSummary::Array>& largest = summary.largest;
  if (largest.size() == ContainerSummary::kLargest &&
      largest.back().bytes >= info.size) {
    return;
  }
  const auto place =
      std::find_if(largest.begin(), largest.end(),
                   [&info](const auto& one) { return one.bytes < info.size; });
  largest.insert(place,
                 {info.name.value_or(""), info.dtype, *info.shape, info.size});
  if (largest.size() > ContainerSummary::kLargest) largest.pop_back();
}

}  // namespace

ContainerSummary ContainerSummary::Of(const Container& container) {
  ContainerSummary summary;
  const auto entries = container.Entries();
  summary.entries = entries->count();
  for (uint32_t entry = 0; entry < entries->count(); ++entry) {
    const EntryInfo info =
        entries->Describe(entry, LoneContext()).value_or(EntryInfo{});
    summary.decoded_bytes = AddUpTo(summary.decoded_bytes, info.size);
    summary.stored_bytes = AddUpTo(summary.stored_bytes, info.stored_size);
    ++summary.codecs[info.codec];
    ++summary.checksums[Algorithm(info.checksum)];
    if (!info.dtype.empty() && info.shape) CountArray(info, summary);
  }
  return summary;
}

}  // namespace ctxfs

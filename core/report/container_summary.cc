// SPDX-License-Identifier: Apache-2.0
#include "core/report/container_summary.h"

#include <algorithm>

namespace ctxfs {
namespace {

/// Returns "crc32c" for "crc32c:9a71bb4c".
std::string Algorithm(const std::string& checksum) {
  return checksum.empty() ? "none" : checksum.substr(0, checksum.find(':'));
}

void CountArray(const EntryInfo& info, ContainerSummary& summary) {
  const uint64_t elements = ElementsOf(*info.shape);
  ++summary.arrays;
  summary.elements = AddUpTo(summary.elements, elements);
  summary.all_tensors &= info.kind == "tensor";
  const bool known = summary.dtypes.size() < ContainerSummary::kMaxDtypes ||
                     summary.dtypes.contains(info.dtype);
  ContainerSummary::Dtype& dtype =
      summary.dtypes[known ? info.dtype : "(other)"];
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

void ContainerSummary::Add(const EntryInfo& info) {
  ++entries;
  decoded_bytes = AddUpTo(decoded_bytes, info.size);
  stored_bytes = AddUpTo(stored_bytes, info.stored_size);
  ++codecs[info.codec];
  const bool in_parts = info.checksum.empty() && !info.verified.empty() &&
                        info.verified != "none";
  ++checksums[in_parts ? "each part" : Algorithm(info.checksum)];
  if (!info.dtype.empty() && info.shape) CountArray(info, *this);
}

ContainerSummary ContainerSummary::Of(const Container& container) {
  ContainerSummary summary;
  const auto table = container.Entries();
  for (uint32_t entry = 0; entry < table->count(); ++entry) {
    summary.Add(table->Describe(entry, LoneContext()).value_or(EntryInfo{}));
  }
  return summary;
}

}  // namespace ctxfs

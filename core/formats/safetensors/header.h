// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/result.h"
#include "core/container/facts/name_list.h"
#include "core/content/read_context.h"

namespace ctxfs::safetensors {

/// One tensor of a header (docs/formats/safetensors.md, section 2), in 32
/// bytes.
struct SafetensorsTensor {
  /// The data, half open, relative to the end of the header; not yet checked.
  uint64_t begin = 0;
  uint64_t end = 0;
  uint32_t dims_at = 0;  // in SafetensorsHeader::dims
  uint32_t rank = 0;
  /// A DType; kFirstOtherDType + n for number n of other_dtypes.
  uint32_t dtype = 0;

  static constexpr uint32_t kFirstOtherDType = 256;
};

/// Faults of a container's structure: the first of them, and how many there
/// are. Offsets are bytes of the file.
struct SafetensorsFaults {
  std::vector<Error> first;  // at most kMaxFaults
  uint64_t count = 0;

  void Add(std::string what, uint64_t offset);
};

/// A parsed header. Tensors are in the order of the text.
struct SafetensorsHeader {
  NameList names;
  std::vector<uint64_t> dims;
  std::vector<SafetensorsTensor> tensors;
  std::vector<std::string> other_dtypes;  // in lower case
  /// Bytes of the text that are the `__metadata__` object; none if it is
  /// absent, null or malformed.
  struct Part {
    size_t offset = 0;
    size_t length = 0;
  };
  std::optional<Part> metadata;
  /// Entries that are malformed and therefore not in `tensors`.
  uint64_t left_out = 0;

  std::span<const uint64_t> Shape(uint32_t tensor) const;
  /// The type if it is one of section 3.
  std::optional<DType> KnownDType(uint32_t tensor) const;
  std::string_view DTypeText(uint32_t tensor) const;
  /// "tensor 3 'a'", for messages.
  std::string Label(uint32_t tensor) const;
};

/// Parses the header `json`, which starts at byte `offset` of the file. Faults
/// that salvage tolerates are added to `faults`; fails with kCorrupt or kLimit
/// on all others, or with kInterrupted.
Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view json,
                                                 uint64_t offset,
                                                 SafetensorsFaults& faults,
                                                 const ReadContext& context);

// Section 4. `data` is the number of bytes after the header.

/// Why the bytes of a tensor are not in the file; nullopt if they are.
std::optional<Error> SafetensorsRangeFault(const SafetensorsHeader& header,
                                           uint32_t tensor, uint64_t data);

/// Why the bytes of a tensor, which are in the file, are not those that its
/// type and shape need; nullopt for an unknown type.
std::optional<Error> SafetensorsShapeFault(const SafetensorsHeader& header,
                                           uint32_t tensor);

/// Adds every fault of section 4; the data starts at byte `data_at` of the
/// file. Fails only if interrupted.
Status CheckSafetensorsLayout(const SafetensorsHeader& header, uint64_t data_at,
                              uint64_t data, SafetensorsFaults& faults,
                              const ReadContext& context);

}  // namespace ctxfs::safetensors

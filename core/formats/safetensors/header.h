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

/// A tensor of a header (docs/formats/safetensors.md, section 2); 32 bytes of
/// memory.
struct SafetensorsTensor {
  /// Half-open range of the data, relative to the end of the header; unchecked.
  uint64_t begin = 0;
  uint64_t end = 0;
  uint32_t dims_at = 0;  // in SafetensorsHeader::dims
  uint32_t rank = 0;
  /// A DType, or kFirstOtherDType + index in other_dtypes.
  uint32_t dtype = 0;

  static constexpr uint32_t kFirstOtherDType = 256;
};

/// The first faults of a container's structure. Offsets are bytes of the file.
struct SafetensorsFaults {
  std::vector<Error> first;  // at most kMaxFaults
  uint64_t count = 0;

  void Add(std::string what, uint64_t offset);
};

/// A parsed header. Tensors are in the order of its text.
struct SafetensorsHeader {
  NameList names;
  std::vector<uint64_t> dims;
  std::vector<SafetensorsTensor> tensors;
  std::vector<std::string> other_dtypes;  // in lower case
  /// Range of the `__metadata__` object in the text of the header. `metadata`
  /// is unset if the header has no such object, if a value in it is not a
  /// string, or if its key is repeated.
  struct Part {
    size_t offset = 0;
    size_t length = 0;
  };
  std::optional<Part> metadata;
  /// Number of malformed entries, which `tensors` omits.
  uint64_t left_out = 0;

  std::span<const uint64_t> Shape(uint32_t tensor) const;
  /// Returns the type if section 3 lists it.
  std::optional<DType> KnownDType(uint32_t tensor) const;
  std::string_view DTypeText(uint32_t tensor) const;
  /// Returns a label for messages: "tensor 3 'a'".
  std::string Label(uint32_t tensor) const;
};

/// Parses the header `json`, which starts at byte `offset` of the file. Adds
/// faults that salvage accepts to `faults`; fails with kCorrupt or kLimit on
/// all others, or with kInterrupted.
Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view json,
                                                 uint64_t offset,
                                                 SafetensorsFaults& faults,
                                                 const ReadContext& context);

// Checks of section 4. `data`: number of bytes after the header.

/// Returns why a tensor's bytes are not in the file; nullopt if they are.
std::optional<Error> SafetensorsRangeFault(const SafetensorsHeader& header,
                                           uint32_t tensor, uint64_t data);

/// Returns why the length of a tensor's range disagrees with its type and
/// shape; nullopt if it agrees or the type is unknown. Does not check that the
/// range is in the file.
std::optional<Error> SafetensorsShapeFault(const SafetensorsHeader& header,
                                           uint32_t tensor);

/// Adds every fault of section 4; the data starts at byte `data_at` of the
/// file. Fails only if interrupted or out of memory.
Status CheckSafetensorsLayout(const SafetensorsHeader& header, uint64_t data_at,
                              uint64_t data, SafetensorsFaults& faults,
                              const ReadContext& context);

}  // namespace ctxfs::safetensors

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/facts/name_list.h"
#include "core/content/read_context.h"
#include "core/formats/gguf/dequant.h"
#include "core/formats/gguf/reader.h"

namespace ctxfs::gguf {

constexpr uint32_t kGgufMagic = 0x46554747;  // "GGUF"

/// The types of metadata values (docs/formats/gguf.md, section 3).
enum GgufValueType : uint32_t {
  kGgufUint8 = 0,
  kGgufInt8 = 1,
  kGgufUint16 = 2,
  kGgufInt16 = 3,
  kGgufUint32 = 4,
  kGgufInt32 = 5,
  kGgufFloat32 = 6,
  kGgufBool = 7,
  kGgufString = 8,
  kGgufArray = 9,
  kGgufUint64 = 10,
  kGgufInt64 = 11,
  kGgufFloat64 = 12,
  kGgufValueTypes = 13,
};

std::string_view GgufValueTypeName(uint32_t type);
/// Returns the size of a value; 0 for strings and arrays.
uint64_t GgufValueBytes(uint32_t type);

/// A key-value pair; its value starts at byte `value_at` of the file.
struct GgufPair {
  uint64_t value_at = 0;
  uint32_t key = 0;  // index in GgufHeader::keys
  uint32_t type = 0;
};

/// A tensor record; 40 bytes of memory.
struct GgufTensor {
  /// Why a tensor has no bytes. Salvage accepts these faults (section 8).
  enum class Fault : uint8_t { kNone, kDims, kOverflow, kRow, kPastEnd };

  uint64_t record_at = 0;  // byte of the file
  uint64_t offset = 0;     // from the start of the data
  uint64_t size = 0;       // bytes; 0 after a fault
  uint32_t dims_at = 0;    // index of the first in GgufHeader::dims
  uint32_t type = 0;
  uint8_t rank = 0;
  Fault fault = Fault::kNone;
};

struct GgufHeader {
  GgufLayout layout;
  uint32_t version = 0;
  uint32_t alignment = 32;
  uint64_t end = 0;            // the byte after the last record
  uint64_t data_at = 0;        // base of the offsets; byte of the file
  NameList keys;               // of all pairs, duplicates included
  NameList names;              // of the tensors
  std::vector<uint64_t> dims;  // innermost first, as stored
  std::vector<GgufPair> pairs;
  std::vector<GgufTensor> tensors;
  std::vector<Error> faults;  // the first kMaxFaults
  uint64_t fault_count = 0;
  std::vector<Warning> warnings;
  uint64_t data_end = 0;   // highest end of a tensor; byte of the file
  uint64_t shown_end = 0;  // highest end of a whole tensor, padded

  /// Returns the pair with `key`; null if there is none.
  const GgufPair* Find(std::string_view key) const;
  /// Returns the shape of `tensor`, outermost dimension first.
  std::vector<uint64_t> Shape(const GgufTensor& tensor) const;
  /// Returns a label for messages: "tensor 3 'a'".
  std::string Label(uint32_t tensor) const;
  std::optional<Error> TensorFault(uint32_t tensor) const;
  /// Returns a tensor's quantised type if ctxfs can dequantise it; else null.
  const GgufType* QuantOf(const GgufTensor& tensor) const;

  void AddFault(std::string what, uint64_t offset);
};

/// Reads and checks the header of `source`. Fails with kVersion, kLimit,
/// kInterrupted or an error of the source, and with kCorrupt for a fault; with
/// `salvage`, only for a fault that salvage does not accept (section 8).
Result<GgufHeader> ReadGgufHeader(const Source& source, bool salvage,
                                  const ReadContext& context);

/// Computes the sizes of tensors and checks their positions (section 8). Adds
/// faults and warnings to `header`.
void CheckGgufLayout(GgufHeader& header, uint64_t file_size);

/// Returns an integer of the metadata; nullopt if it is missing, not of `type`,
/// or cut off. `type` must be kGgufUint16, kGgufUint32 or kGgufInt32.
Maybe<int64_t> GgufInteger(const GgufHeader& header, const Source& source,
                           std::string_view key, uint32_t type,
                           const Request& request);

}  // namespace ctxfs::gguf

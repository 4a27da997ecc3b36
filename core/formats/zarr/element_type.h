// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/dtype.h"
#include "core/base/json/json.h"
#include "core/base/result.h"

namespace ctxfs::zarr {

/// The type of an array's elements (docs/formats/zarr.md, section 3).
struct ElementType {
  enum class Kind : uint8_t {
    kNumber,   // has a DType
    kOpaque,   // bytes without a DType, such as structures
    kText,     // texts of any length, shown as JSON lines
    kBinary,   // bytes of any length, shown as JSON lines of base64
    kUnknown,  // cannot be read
  };

  Kind kind = Kind::kUnknown;
  DType dtype = DType::kU8;  // of kNumber
  uint64_t size = 1;         // bytes; of kNumber and kOpaque
  /// Bytes of the units whose order the byte order concerns; 1 for kOpaque,
  /// which is shown as stored.
  uint32_t unit = 1;
  bool big = false;  // v2: the stored numbers are big-endian
  /// Whether a fill value of a kOpaque type is a number, of 8 bytes.
  bool ticks = false;
  uint32_t character = 1;  // bytes of a character in a fill value of kOpaque
  std::string name;        // as stored, for people

  bool lines() const { return kind == Kind::kText || kind == Kind::kBinary; }
};

/// Returns the type of a v2 `dtype`; kUnknown for one that is not read. "|O" is
/// kUnknown, too: a filter says what it is. Fails with kCorrupt if it is no
/// type at all, or too large.
Result<ElementType> TypeOfV2(const Json& dtype);
/// Returns the type of a v3 `data_type`.
Result<ElementType> TypeOfV3(const Json& data_type);

/// Returns the type of a number in numpy's text, such as "<i4", or by its name
/// in v3; nullopt if it is none.
std::optional<ElementType> NumberType(const std::string& text);

/// Whether DTypes of this kind are integers with a sign, and floats.
bool IsSigned(DType dtype);
bool IsFloat(DType dtype);

}  // namespace ctxfs::zarr

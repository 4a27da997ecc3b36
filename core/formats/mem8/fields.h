// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/formats/mem8/sections.h"

namespace ctxfs {

/// "0x06".
std::string Mem8TypeText(uint8_t type);

/// "identity", ..., "sensor_arbitration"; empty for types that have no name.
std::string_view Mem8SectionName(uint8_t type);

/// Bytes that the fields of a section take, by the counts at its start; nothing
/// for types that are not known.
std::optional<uint32_t> Mem8ContentSize(uint8_t type, Bytes payload);

/// What is wrong with a section's fields.
Mem8Fault FindMem8Fault(const Mem8Layout& layout, Bytes payload, uint8_t type);
std::string_view Mem8FaultText(Mem8Fault fault);

/// A section's fields (docs/mem8.md, section 5); `error` where they cannot all
/// be told, `raw_hex` for types that are not known. `image` is that of the
/// layout. Adds to `text` the bytes of strings that the answer repeats: kLimit
/// when that is over limits::kMem8JsonBytes.
Result<Json> DecodeMem8Section(const Mem8Layout& layout, Bytes image,
                               const Mem8Section& section, uint64_t& text);

}  // namespace ctxfs

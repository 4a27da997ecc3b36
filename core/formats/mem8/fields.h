// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/formats/mem8/sections.h"

namespace ctxfs::mem8 {

/// Returns "0x06", for example.
std::string Mem8TypeText(uint8_t type);

/// Returns "identity", ..., "sensor_arbitration"; empty for unknown types.
std::string_view Mem8SectionName(uint8_t type);

/// Returns the number of bytes that the fields of a section take according to
/// its counts; nullopt for unknown types.
std::optional<uint32_t> Mem8ContentSize(uint8_t type, Bytes payload);

/// Returns the fault of a section's fields; kSound if there is none or the type
/// is unknown.
Mem8Fault FindMem8Fault(const Mem8Layout& layout, Bytes payload, uint8_t type);
std::string_view Mem8FaultText(Mem8Fault fault);

/// Returns the fields of a section (docs/formats/mem8.md, section 5), with a
/// member `error` if some cannot be decoded, or a member `raw_hex` for unknown
/// types. `layout` must describe `image`. Adds the bytes of strings in the
/// result to `text`; fails with kLimit if `text` exceeds kMaxJsonBytes.
Result<Json> DecodeMem8Section(const Mem8Layout& layout, Bytes image,
                               const Mem8Section& section, uint64_t& text);

}  // namespace ctxfs::mem8

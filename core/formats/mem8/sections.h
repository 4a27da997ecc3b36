// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/formats/mem8/image.h"

namespace ctxfs::mem8 {

/// The meaning of a section's length (docs/formats/mem8.md, section 4).
/// Detected for each file, because the format's description contradicts itself.
enum class Mem8Length : uint8_t { kPayload, kTotal, kTypeAndPayload };

/// Returns "payload", "total" or "type+payload".
std::string_view Mem8LengthName(Mem8Length length);

/// Why fields of a section cannot be decoded. kStringIndex affects only the
/// field that has the wrong index.
enum class Mem8Fault : uint8_t { kSound, kTooShort, kCount, kStringIndex };

struct Mem8Section {
  uint8_t type = 0;
  uint16_t length_field = 0;
  uint32_t offset = 0;  // of the type byte, in the image
  uint32_t size = 0;    // of the payload, 3 bytes after `offset`
  Mem8Fault fault = Mem8Fault::kSound;

  static constexpr uint32_t kHead = 3;
  uint32_t payload_at() const { return offset + kHead; }
};

/// The positions of strings and sections in an image, without their bytes.
struct Mem8Layout {
  struct String {
    uint32_t at;
    uint32_t size;
  };

  bool big_endian = false;
  Mem8Length length = Mem8Length::kPayload;
  std::vector<String> strings;
  std::vector<Mem8Section> sections;  // in order
  std::vector<Warning> warnings;
};

/// Locates strings and sections. Fails if the string table is truncated. Other
/// damage becomes a warning or the fault of a section.
Result<Mem8Layout> FindMem8Sections(const Mem8Image& image);

}  // namespace ctxfs::mem8

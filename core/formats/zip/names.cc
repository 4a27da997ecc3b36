// SPDX-License-Identifier: Apache-2.0
//
// Decodes names of members (docs/formats/zip.md, section 9).
#include "core/formats/zip/names.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/codec/checksum.h"

namespace ctxfs::zip {
namespace {

constexpr uint16_t kUnicodePath = 0x7075;

// Unicode for code page 437, from 0x80 on.
constexpr std::array<uint16_t, 128> kCodePage437 = {
    0x00C7, 0x00FC, 0x00E9, 0x00E2, 0x00E4, 0x00E0, 0x00E5, 0x00E7, 0x00EA,
    0x00EB, 0x00E8, 0x00EF, 0x00EE, 0x00EC, 0x00C4, 0x00C5, 0x00C9, 0x00E6,
    0x00C6, 0x00F4, 0x00F6, 0x00F2, 0x00FB, 0x00F9, 0x00FF, 0x00D6, 0x00DC,
    0x00A2, 0x00A3, 0x00A5, 0x20A7, 0x0192, 0x00E1, 0x00ED, 0x00F3, 0x00FA,
    0x00F1, 0x00D1, 0x00AA, 0x00BA, 0x00BF, 0x2310, 0x00AC, 0x00BD, 0x00BC,
    0x00A1, 0x00AB, 0x00BB, 0x2591, 0x2592, 0x2593, 0x2502, 0x2524, 0x2561,
    0x2562, 0x2556, 0x2555, 0x2563, 0x2551, 0x2557, 0x255D, 0x255C, 0x255B,
    0x2510, 0x2514, 0x2534, 0x252C, 0x251C, 0x2500, 0x253C, 0x255E, 0x255F,
    0x255A, 0x2554, 0x2569, 0x2566, 0x2560, 0x2550, 0x256C, 0x2567, 0x2568,
    0x2564, 0x2565, 0x2559, 0x2558, 0x2552, 0x2553, 0x256B, 0x256A, 0x2518,
    0x250C, 0x2588, 0x2584, 0x258C, 0x2590, 0x2580, 0x03B1, 0x00DF, 0x0393,
    0x03C0, 0x03A3, 0x03C3, 0x00B5, 0x03C4, 0x03A6, 0x0398, 0x03A9, 0x03B4,
    0x221E, 0x03C6, 0x03B5, 0x2229, 0x2261, 0x00B1, 0x2265, 0x2264, 0x2320,
    0x2321, 0x00F7, 0x2248, 0x00B0, 0x2219, 0x00B7, 0x221A, 0x207F, 0x00B2,
    0x25A0, 0x00A0};

void AppendUtf8(uint16_t character, std::string& text) {
  const auto put = [&text](unsigned byte) { text += static_cast<char>(byte); };
  if (character < 0x800) {
    put(0xC0U | character >> 6);
  } else {
    put(0xE0U | character >> 12);
    put(0x80U | (character >> 6 & 0x3FU));
  }
  put(0x80U | (character & 0x3FU));
}

std::string FromCodePage437(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      AppendUtf8(kCodePage437[byte - 0x80U], text);
    }
  }
  return text;
}

/// Returns the name in extra field 0x7075, if its CRC is that of `name`.
std::optional<std::string> UnicodePath(std::string_view name, Bytes extra) {
  const std::optional<Bytes> field = FindExtraField(extra, kUnicodePath);
  if (!field) return std::nullopt;
  ByteReader in(*field);
  const uint8_t version = in.U8();
  const uint32_t crc = in.U32();
  if (!in.ok() || version != 1 || crc != Crc32(AsBytes(name))) {
    return std::nullopt;
  }
  return std::string(AsText(in.Take(in.remaining())));
}

/// Replaces with slashes those backslashes that are separators. In some code
/// pages a backslash is also the second byte of a character: if the name has
/// slashes, a backslash after a non-ASCII byte is such a second byte.
void ReplaceBackslashes(std::string& name, bool utf8) {
  const bool has_slashes = name.find('/') != std::string::npos;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '\\') continue;
    const bool ends_character = !utf8 && has_slashes && i > 0 &&
                                static_cast<unsigned char>(name[i - 1]) >= 0x80;
    if (!ends_character) name[i] = '/';
  }
}

/// Returns `c` in lower case, and a slash for a backslash.
char Folded(char c) {
  if (c == '\\') return '/';
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x80;
  });
}

/// Whether `text` has only '?' and '_', which writers store for characters that
/// a code page lacks.
bool StandsForOthers(std::string_view text) {
  return text.find_first_not_of("?_") == std::string_view::npos;
}

}  // namespace

std::optional<Bytes> FindExtraField(Bytes extra, uint16_t id) {
  ByteReader in(extra);
  while (in.remaining() >= 4) {
    const uint16_t found = in.U16();
    const Bytes field = in.Take(in.U16());
    if (!in.ok()) return std::nullopt;
    if (found == id) return field;
  }
  return std::nullopt;
}

std::string ShownName(std::string_view stored, NameForm form, Bytes extra) {
  std::optional<std::string> path = UnicodePath(stored, extra);
  const bool utf8 = path || form.utf8;
  std::string name = path ? *std::move(path) : std::string(stored);
  if (form.backslashes) ReplaceBackslashes(name, utf8);
  if (!utf8) name = FromCodePage437(name);
  size_t start = 0;
  while (name.compare(start, 2, "./") == 0) start += 2;
  return name.substr(start);
}

bool AreFormsOfOneName(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty() && Folded(a.front()) == Folded(b.front())) {
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  while (!a.empty() && !b.empty() && Folded(a.back()) == Folded(b.back())) {
    a.remove_suffix(1);
    b.remove_suffix(1);
  }
  if (a.empty() && b.empty()) return true;
  const bool first = IsAscii(a);
  const bool second = IsAscii(b);
  if (first && second) return false;
  return (!first || StandsForOthers(a)) && (!second || StandsForOthers(b));
}

}  // namespace ctxfs::zip

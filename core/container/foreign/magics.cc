// SPDX-License-Identifier: Apache-2.0
#include "core/container/foreign/magics.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/text/text.h"

namespace ctxfs {
namespace {

using std::literals::operator""sv;

struct Magic {
  size_t at;
  std::string_view bytes;
  std::string_view extension;
};

// The first element that matches counts.
constexpr std::array kMagics = {
    Magic{0, "\x89PNG\r\n\x1A\n"sv, "png"},
    Magic{0, "\xFF\xD8\xFF"sv, "jpg"},
    Magic{0, "GIF87a"sv, "gif"},
    Magic{0, "GIF89a"sv, "gif"},
    Magic{0, "fLaC"sv, "flac"},
    Magic{0, "OggS"sv, "ogg"},
    Magic{0, "ID3"sv, "mp3"},
    Magic{0, "II*\0"sv, "tif"},
    Magic{0, "MM\0*"sv, "tif"},
    Magic{0, "\x1A\x45\xDF\xA3"sv, "mkv"},
    Magic{0, "%PDF-"sv, "pdf"},
    Magic{0, "\x93NUMPY"sv, "npy"},
    Magic{0, "\x1F\x8B"sv, "gz"},
    Magic{0, "\x28\xB5\x2F\xFD"sv, "zst"},
    Magic{0, "PK\x03\x04"sv, "zip"},
};

constexpr std::array kRiffTypes = {
    Magic{8, "WEBP"sv, "webp"},
    Magic{8, "WAVE"sv, "wav"},
    Magic{8, "AVI "sv, "avi"},
};

constexpr std::array kBrands = {
    Magic{8, "M4A "sv, "m4a"},
    Magic{8, "avif"sv, "avif"},
    Magic{8, "heic"sv, "heic"},
};

bool HasAt(std::string_view value, size_t at, std::string_view bytes) {
  return value.size() >= at && value.substr(at).starts_with(bytes);
}

template <size_t kCount>
std::string_view Find(const std::array<Magic, kCount>& magics,
                      std::string_view value) {
  const auto found = std::find_if(
      magics.begin(), magics.end(),
      [&](const Magic& magic) { return HasAt(value, magic.at, magic.bytes); });
  return found == magics.end() ? std::string_view() : found->extension;
}

uint8_t At(std::string_view value, size_t at) {
  return static_cast<uint8_t>(value[at]);
}

/// Whether `value` is a bitmap: its header states the size of the file.
bool IsBmp(std::string_view value) {
  if (value.size() < 6 || !value.starts_with("BM")) return false;
  uint32_t size = 0;
  for (size_t i = 6; i-- > 2;) size = size << 8 | At(value, i);
  return size == value.size();
}

/// Whether a frame of MPEG audio, layer III, begins here.
bool IsMp3Frame(std::string_view value) {
  if (value.size() < 3 || At(value, 0) != 0xFF) return false;
  const unsigned layer = At(value, 1) >> 1 & 3;
  const unsigned bit_rate = At(value, 2) >> 4;
  const unsigned sampling_rate = At(value, 2) >> 2 & 3;
  return At(value, 1) >> 5 == 7 && layer == 1 && bit_rate != 0 &&
         bit_rate != 15 && sampling_rate != 3;
}

bool LooksLikeJson(std::string_view text) {
  constexpr std::string_view kWhite = " \t\r\n";
  const size_t first = text.find_first_not_of(kWhite);
  if (first == std::string_view::npos) return false;
  const char last = text[text.find_last_not_of(kWhite)];
  return (text[first] == '{' && last == '}') ||
         (text[first] == '[' && last == ']');
}

/// The extension of a binary value; empty if nothing matches.
std::string_view BinaryExtension(std::string_view value) {
  if (const std::string_view found = Find(kMagics, value); !found.empty()) {
    return found;
  }
  if (value.starts_with("RIFF")) {
    const std::string_view found = Find(kRiffTypes, value);
    if (!found.empty()) return found;
  }
  if (HasAt(value, 4, "ftyp")) {
    const std::string_view found = Find(kBrands, value);
    return found.empty() ? "mp4" : found;
  }
  if (IsBmp(value)) return "bmp";
  return IsMp3Frame(value) ? "mp3" : "";
}

}  // namespace

std::string_view ExtensionOf(Bytes value) {
  const std::string_view bytes = AsText(value);
  const std::string_view binary = BinaryExtension(bytes);
  if (!binary.empty()) return binary;
  if (!IsReadableText(value)) return "bin";
  return LooksLikeJson(bytes) ? "json" : "txt";
}

bool IsReadableText(Bytes value) {
  const std::string_view text = AsText(value);
  const auto is_control = [](char c) {
    const auto byte = static_cast<uint8_t>(c);
    return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
  };
  return !text.empty() && std::none_of(text.begin(), text.end(), is_control) &&
         IsUtf8(text);
}

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#include "core/formats/gguf/metadata_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "core/base/json/json_writer.h"
#include "core/base/text/text.h"

namespace ctxfs::gguf {
namespace {

// A string of more bytes than this is written in parts of this size.
constexpr uint64_t kStringPart = 64 * limits::kKiB;
// Maximum number of array items written at once.
constexpr uint64_t kItemsAtOnce = 1024;
// Minimum number of text bytes between two saved states.
constexpr uint64_t kBetweenPlaces = 256 * limits::kKiB;

template <typename T, typename... Form>
void AppendDigits(T value, std::string& text, Form... form) {
  char digits[32];
  const auto end =
      std::to_chars(std::begin(digits), std::end(digits), value, form...);
  text.append(digits, end.ptr);
}

template <typename T>
void AppendFloat(T value, std::string& text) {
  if (std::isnan(value)) {
    text += "\"NaN\"";
  } else if (std::isinf(value)) {
    text += value > 0 ? "\"inf\"" : "\"-inf\"";
  } else {
    const size_t before = text.size();
    ctxfs::AppendFloat(value, text);
    // Writes the fewest significant digits that identify the number
    // (docs/formats/gguf.md, section 9). to_chars omits the exponent if that
    // takes no more characters, and then writes all digits of a large whole
    // number: 134217728, not 1.3421773e+08.
    if (text.ends_with(".0") && std::abs(value) > T{1 << 24}) {
      text.resize(before);
      AppendDigits(value, text, std::chars_format::scientific);
    }
  }
}

/// Appends `utf8` with the escapes of docs/formats/gguf.md, section 9. JsonLine
/// has other escapes: it writes a tab as \t and a carriage return as \r, and
/// does not escape DEL.
void AppendEscaped(std::string_view utf8, std::string& text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char c : utf8) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c == '\n') {
      text += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      text += "\\u00";
      text += kDigits[byte >> 4];
      text += kDigits[byte & 15];
    } else {
      text += c;
    }
  }
}

/// Returns the number of bytes at the end of `text` that belong to an
/// incomplete character. `text` is part of well-formed UTF-8.
size_t CutCharacter(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0U) == 0x80) continue;
    const size_t length = byte >= 0xF0   ? 4
                          : byte >= 0xE0 ? 3
                          : byte >= 0xC0 ? 2
                                         : 1;
    return length > back ? back : 0;
  }
  return 0;
}

/// Whether the next `bytes` bytes are UTF-8. Does not move `in`.
bool IsUtf8Ahead(GgufReader& in, uint64_t bytes) {
  const uint64_t start = in.at();
  std::string part;
  bool utf8 = true;
  while (bytes > 0 && in.ok() && utf8) {
    const uint64_t size = std::min(bytes, kStringPart);
    in.Append(size, part);
    bytes -= size;
    const size_t cut = bytes > 0 ? CutCharacter(part) : 0;
    const size_t whole = part.size() - cut;
    utf8 = IsUtf8(std::string_view(part).substr(0, whole));
    part.erase(0, whole);
  }
  in.Seek(start);
  return utf8;
}

/// A position in the text, and the state to resume from.
struct Place {
  uint64_t offset = 0;
  GgufMetadataWriter::State state;
};

/// Renders any window, resuming from the last saved state before it.
class MetadataWindow final : public Transform {
 public:
  MetadataWindow(std::shared_ptr<const Source> source,
                 std::shared_ptr<const GgufHeader> header,
                 std::vector<Place> places)
      : source_(std::move(source)),
        header_(std::move(header)),
        places_(std::move(places)) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    const auto after =
        std::upper_bound(places_.begin(), places_.end(), offset,
                         [](uint64_t wanted, const Place& place) {
                           return wanted < place.offset;
                         });
    auto [at, state] = *(after - 1);  // `at`: offset of the next `piece`
    GgufMetadataWriter writer(*source_, *header_, context);
    std::string piece;
    while (!out.empty()) {
      CTXFS_TRY(context.Check());
      piece.clear();
      CTXFS_TRY(writer.Write(state, piece));
      if (at + piece.size() > offset) {
        const auto skip = static_cast<size_t>(offset - at);
        const size_t n = std::min(piece.size() - skip, out.size());
        std::memcpy(out.data(), piece.data() + skip, n);
        out = out.subspan(n);
        offset += n;
      }
      at += piece.size();
    }
    return {};
  }

 private:
  const std::shared_ptr<const Source> source_;
  const std::shared_ptr<const GgufHeader> header_;
  const std::vector<Place> places_;
};

}  // namespace

void AppendGgufScalar(uint32_t type, GgufReader& in, std::string& text) {
  switch (type) {
    case kGgufUint8:
      return AppendDigits(unsigned{in.U8()}, text);
    case kGgufInt8:
      return AppendDigits(int{static_cast<int8_t>(in.U8())}, text);
    case kGgufUint16:
      return AppendDigits(in.U16(), text);
    case kGgufInt16:
      return AppendDigits(static_cast<int16_t>(in.U16()), text);
    case kGgufUint32:
      return AppendDigits(in.U32(), text);
    case kGgufInt32:
      return AppendDigits(static_cast<int32_t>(in.U32()), text);
    case kGgufFloat32:
      return AppendFloat(std::bit_cast<float>(in.U32()), text);
    case kGgufBool:
      text += in.U8() != 0 ? "true" : "false";
      return;
    case kGgufUint64:
      return AppendDigits(in.U64(), text);
    case kGgufInt64:
      return AppendDigits(static_cast<int64_t>(in.U64()), text);
    default:
      return AppendFloat(std::bit_cast<double>(in.U64()), text);
  }
}

void GgufMetadataWriter::WriteKey(State& state, std::string& text) const {
  const GgufPair& pair = header_.pairs[state.pair];
  const std::string_view key = header_.keys[pair.key];
  if (state.key_done == 0) {
    state.hex = !IsUtf8(key);
    text += state.pair == 0 ? "{\n\"" : ",\n\"";
    if (state.hex) {
      text += "#" + std::to_string(state.pair) + "\": {\"key_hex\": \"";
    }
  }
  std::string_view part =
      key.substr(static_cast<size_t>(state.key_done), kStringPart);
  const bool last = state.key_done + part.size() == key.size();
  if (!state.hex && !last) part.remove_suffix(CutCharacter(part));
  if (state.hex) {
    text += Hex(part);
  } else {
    AppendEscaped(part, text);
  }
  state.key_done += part.size();
  if (!last) return;
  state.key_done = 0;
  text += state.hex ? "\", " : "\": {";
  text += "\"type\": \"";
  text += GgufValueTypeName(pair.type);
  text += "\", ";
  if (pair.type != kGgufArray) text += "\"value\": ";
  state.in_pair = true;
  state.at = pair.value_at;
}

Status GgufMetadataWriter::BeginValue(State& state, uint32_t type,
                                      std::string& text) {
  if (type == kGgufString) return BeginString(state, text);
  if (type != kGgufArray) {
    AppendGgufScalar(type, in_, text);
    return {};
  }
  // Opening the file has checked the depth.
  State::Level& level = state.levels[state.depth++];
  if (state.depth > 1) text += '{';
  level.type = in_.U32();
  level.left = in_.Count();
  level.first = true;
  text += "\"items\": \"";
  text += GgufValueTypeName(level.type);
  text += "\", \"value\": [";
  return {};
}

void GgufMetadataWriter::EndValue(State& state, std::string& text) const {
  if (state.depth > 0) return;
  text += '}';
  state.in_pair = false;
  ++state.pair;
}

Status GgufMetadataWriter::BeginString(State& state, std::string& text) {
  state.string_left = in_.Count();
  if (!in_.ok()) return in_.error();
  state.hex = !IsUtf8Ahead(in_, state.string_left);
  state.in_string = true;
  text += state.hex ? "{\"hex\": \"" : "\"";
  return WriteString(state, text);
}

Status GgufMetadataWriter::WriteString(State& state, std::string& text) {
  const uint64_t size = std::min(state.string_left, kStringPart);
  std::string part;
  const uint64_t start = in_.at();
  in_.Append(size, part);
  if (!in_.ok()) return in_.error();
  if (!state.hex && size < state.string_left) {
    const size_t cut = CutCharacter(part);
    part.resize(part.size() - cut);
    in_.Seek(start + part.size());
  }
  state.string_left -= part.size();
  if (state.hex) {
    text += Hex(part);
  } else {
    AppendEscaped(part, text);
  }
  if (state.string_left > 0) return {};
  state.in_string = false;
  text += state.hex ? "\"}" : "\"";
  return {};
}

Status GgufMetadataWriter::WriteItems(State& state, std::string& text) {
  const uint32_t depth = state.depth;
  const size_t before = text.size();
  for (uint64_t n = 0; n < kItemsAtOnce && text.size() - before < kStringPart;
       ++n) {
    State::Level& level = state.levels[depth - 1];
    if (level.left == 0) {
      text += depth > 1 ? "]}" : "]";
      --state.depth;
      return {};
    }
    --level.left;
    if (!std::exchange(level.first, false)) text += ", ";
    CTXFS_TRY(BeginValue(state, level.type, text));
    if (!in_.ok()) return in_.error();
    if (state.in_string || state.depth != depth) return {};
  }
  return {};
}

Status GgufMetadataWriter::Write(State& state, std::string& text) {
  if (!state.in_pair && state.pair == header_.pairs.size()) {
    text += state.pair == 0 ? "{}\n" : "\n}\n";
    state.done = true;
    return {};
  }
  const bool begins = !state.in_pair;
  if (begins) WriteKey(state, text);
  if (!state.in_pair) return {};
  in_.Seek(state.at);
  if (state.in_string) {
    CTXFS_TRY(WriteString(state, text));
  } else if (begins) {
    CTXFS_TRY(BeginValue(state, header_.pairs[state.pair].type, text));
  } else {
    CTXFS_TRY(WriteItems(state, text));
  }
  if (!in_.ok()) return in_.error();
  state.at = in_.at();
  if (!state.in_string) EndValue(state, text);
  return {};
}

Result<Content> GgufMetadataText(std::shared_ptr<const Source> source,
                                 std::shared_ptr<const GgufHeader> header,
                                 const ReadContext& context) {
  GgufMetadataWriter writer(*source, *header, context);
  GgufMetadataWriter::State state;
  std::vector<Place> places = {{0, state}};
  uint64_t size = 0;
  std::string piece;
  while (!state.done) {
    if (size >= places.back().offset + kBetweenPlaces) {
      places.push_back({size, state});
    }
    piece.clear();
    CTXFS_TRY(context.Check());
    CTXFS_TRY(writer.Write(state, piece));
    CTXFS_TRY(context.Charge(piece.size()));
    size += piece.size();
    if (size > kMaxMetadataText) {
      return Error{Code::kLimit,
                   fmt::format("metadata.json is longer than {} bytes",
                               kMaxMetadataText)};
    }
  }
  auto window = std::make_shared<const MetadataWindow>(
      std::move(source), std::move(header), std::move(places));
  return Content(Computed{std::move(window), 0}, size);
}

}  // namespace ctxfs::gguf

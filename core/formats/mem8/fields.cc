// SPDX-License-Identifier: Apache-2.0
//
// Decodes the fields of the eight known section types (docs/formats/mem8.md,
// section 5).
#include "core/formats/mem8/fields.h"

#include <fmt/core.h>

#include <array>
#include <bit>
#include <vector>

#include "core/base/json/json.h"
#include "core/base/text/text.h"
#include "core/formats/mem8/limits.h"

namespace ctxfs::mem8 {
namespace {

enum Type : uint8_t {
  kIdentity = 1,
  kContext,
  kStructure,
  kCompilation,
  kCache,
  kAiContext,
  kRelationships,
  kSensorArbitration,
};

constexpr uint32_t kItemSize = 5;       // of a concept or a structure entry
constexpr uint16_t kNoString = 0xFFFF;  // no string: no table has so many

struct TypeInfo {
  std::string_view name;
  uint32_t size;    // bytes, without the counted items
  uint32_t counts;  // number of u8 counts
  uint32_t first;   // offset of the first count; the others follow it
  uint32_t each;    // bytes of an item
};

constexpr std::array<TypeInfo, 9> kTypes = {
    {{},
     {"identity", 17, 0, 0, 0},
     {"context", 1, 1, 0, kItemSize},
     {"structure", 1, 1, 0, kItemSize},
     {"compilation", 7, 0, 0, 0},
     {"cache", 40, 0, 0, 0},
     {"ai_context", 3, 2, 1, 2},
     {"relationships", 2, 2, 0, 2},
     {"sensor_arbitration", 13, 0, 0, 0}}};

const TypeInfo* Known(uint8_t type) {
  return type > 0 && type < kTypes.size() ? &kTypes[type] : nullptr;
}

/// Returns the offsets of string numbers in a valid section.
std::vector<uint32_t> StringPlaces(uint8_t type, uint32_t content) {
  std::vector<uint32_t> places;
  switch (type) {
    case kIdentity:
      return {0, 3};
    case kContext:
    case kStructure:
      for (uint32_t at = 1; at < content; at += kItemSize) {
        places.push_back(at);
        places.push_back(at + 2);
      }
      return places;
    case kAiContext:
    case kRelationships:
      for (uint32_t at = kTypes[type].size; at < content; at += 2) {
        places.push_back(at);
      }
      return places;
    default:
      return {};
  }
}

Json NameOf(std::span<const std::string_view> names, uint8_t number) {
  if (number >= names.size()) return nullptr;
  return std::string(names[number]);
}

/// Reads the fields of a valid section in order. Fields in braced lists, too,
/// are read in order: C++ evaluates these from left to right.
class FieldReader {
 public:
  FieldReader(const Mem8Layout& layout, Bytes image, Bytes payload)
      : layout_(layout), image_(image), in_(payload, 0, layout.big_endian) {}

  /// Returns the fields of a section of a known type; null for other types.
  Json Read(uint8_t type) {
    switch (type) {
      case kIdentity:
        return Identity();
      case kContext:
        return Context();
      case kStructure:
        return Structure();
      case kCompilation:
        return Compilation();
      case kCache:
        return Cache();
      case kAiContext:
        return AiContext();
      case kRelationships:
        return Relationships();
      case kSensorArbitration:
        return SensorArbitration();
      default:
        return nullptr;
    }
  }

  uint64_t text() const { return text_; }
  /// Returns the first string number that is out of range.
  std::optional<uint16_t> bad_string() const { return bad_string_; }

 private:
  Json Identity() {
    Json fields;
    String(fields, "path");
    fields["project_type"] = in_.U8();
    String(fields, "purpose");
    fields["version"] = in_.U32();
    fields["created"] = in_.U32();
    fields["modified"] = in_.U32();
    return fields;
  }

  Json Context() {
    Json concepts = Json::array();
    for (unsigned left = in_.U8(); left > 0; --left) {
      Json one;
      String(one, "name");
      String(one, "description");
      one["importance"] = in_.U8();
      concepts.push_back(std::move(one));
    }
    return {{"concepts", std::move(concepts)}};
  }

  Json Structure() {
    Json entries = Json::array();
    for (unsigned left = in_.U8(); left > 0; --left) {
      Json one;
      String(one, "path");
      String(one, "purpose");
      const uint8_t flags = in_.U8();
      one["flags"] = flags;
      one["is_directory"] = (flags & 1) != 0;
      one["has_mem8"] = (flags & 2) != 0;
      one["is_key_file"] = (flags & 4) != 0;
      one["is_historic"] = (flags & 8) != 0;
      entries.push_back(std::move(one));
    }
    return {{"entries", std::move(entries)}};
  }

  Json Compilation() {
    constexpr std::string_view kStatus[] = {"failed", "partial", "success"};
    const uint8_t status = in_.U8();
    return {{"status", status},
            {"status_name", NameOf(kStatus, status)},
            {"last_build", in_.U32()},
            {"errors", in_.U8()},
            {"warnings", in_.U8()}};
  }

  Json Cache() {
    constexpr uint64_t kSha256Bytes = 32;
    return {{"directory_crc", in_.U32()},
            {"content_sha256", Hex(AsText(in_.Take(kSha256Bytes)))},
            {"expires", in_.U32()}};
  }

  Json AiContext() {
    constexpr std::string_view kDepth[] = {"surface", "moderate", "deep"};
    const uint8_t depth = in_.U8();
    const unsigned hints = in_.U8();
    const unsigned historic = in_.U8();
    return {{"understanding", depth},
            {"understanding_name", NameOf(kDepth, depth)},
            {"hints", Strings(hints)},
            {"historic", Strings(historic)}};
  }

  Json Relationships() {
    const unsigned upstream = in_.U8();
    const unsigned downstream = in_.U8();
    return {{"upstream", Strings(upstream)},
            {"downstream", Strings(downstream)}};
  }

  Json SensorArbitration() {
    return {{"subconscious_weight", FloatJson(std::bit_cast<float>(in_.U32()))},
            {"llm_weight", FloatJson(std::bit_cast<float>(in_.U32()))},
            {"override_threshold", in_.U8()},
            {"independence_date", in_.U32()}};
  }

  Json StringAt(uint16_t number) {
    if (number >= layout_.strings.size()) {
      if (number != kNoString && !bad_string_) bad_string_ = number;
      return nullptr;
    }
    const Mem8Layout::String& string = layout_.strings[number];
    text_ += string.size;
    // Beyond the limit the caller fails, so the text is discarded.
    if (text_ > kMaxJsonBytes) return nullptr;
    return std::string(AsText(image_.subspan(string.at, string.size)));
  }

  void String(Json& fields, const std::string& key) {
    const uint16_t number = in_.U16();
    fields[key] = StringAt(number);
    fields[key + "_index"] = number;
  }

  Json Strings(unsigned count) {
    Json strings = Json::array();
    for (; count > 0; --count) strings.push_back(StringAt(in_.U16()));
    return strings;
  }

  const Mem8Layout& layout_;
  Bytes image_;
  Mem8Reader in_;
  uint64_t text_ = 0;
  std::optional<uint16_t> bad_string_;
};

}  // namespace

std::string Mem8TypeText(uint8_t type) {
  return "0x" + Hex({reinterpret_cast<const char*>(&type), 1});
}

std::string_view Mem8SectionName(uint8_t type) {
  const TypeInfo* known = Known(type);
  return known == nullptr ? std::string_view() : known->name;
}

std::optional<uint32_t> Mem8ContentSize(uint8_t type, Bytes payload) {
  const TypeInfo* known = Known(type);
  if (known == nullptr) return std::nullopt;
  uint32_t size = known->size;
  for (uint32_t i = 0; i < known->counts; ++i) {
    const size_t at = known->first + i;
    if (at >= payload.size()) break;
    size += known->each * std::to_integer<uint32_t>(payload[at]);
  }
  return size;
}

Mem8Fault FindMem8Fault(const Mem8Layout& layout, Bytes payload, uint8_t type) {
  const std::optional<uint32_t> content = Mem8ContentSize(type, payload);
  if (!content) return Mem8Fault::kSound;
  if (payload.size() < Known(type)->size) return Mem8Fault::kTooShort;
  if (payload.size() < *content) return Mem8Fault::kCount;
  for (const uint32_t at : StringPlaces(type, *content)) {
    Mem8Reader in(payload.subspan(at), at, layout.big_endian);
    const uint16_t number = in.U16();
    if (number >= layout.strings.size() && number != kNoString) {
      return Mem8Fault::kStringIndex;
    }
  }
  return Mem8Fault::kSound;
}

std::string_view Mem8FaultText(Mem8Fault fault) {
  constexpr std::string_view kTexts[] = {"", "shorter than its fields",
                                         "count runs past the section",
                                         "string index out of range"};
  return kTexts[static_cast<size_t>(fault)];
}

Result<Json> DecodeMem8Section(const Mem8Layout& layout, Bytes image,
                               const Mem8Section& section, uint64_t& text) {
  const Bytes payload = image.subspan(section.payload_at(), section.size);
  const std::string error(Mem8FaultText(section.fault));
  if (section.fault == Mem8Fault::kTooShort ||
      section.fault == Mem8Fault::kCount) {
    return Json{{"error", error}};
  }
  FieldReader reader(layout, image, payload);
  Json fields = reader.Read(section.type);
  if (fields.is_null()) {
    text += payload.size();
    fields["raw_hex"] = Hex(AsText(payload));
  }
  text += reader.text();
  if (text > kMaxJsonBytes) {
    return Error{
        Code::kLimit,
        fmt::format(
            "the strings that it repeats are over the limit of {} bytes",
            kMaxJsonBytes),
        section.offset};
  }
  if (const std::optional<uint16_t> bad = reader.bad_string()) {
    fields["error"] = fmt::format("{}: {}", error, *bad);
  }
  return fields;
}

}  // namespace ctxfs::mem8

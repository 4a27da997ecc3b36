// SPDX-License-Identifier: Apache-2.0
//
// The body of a .mem8 (docs/formats/mem8.md, sections 3 and 4).
//
//   16   strings: u16 count, u16 total, then each: u16 length, bytes
//   ...  sections, each: u8 type, u16 length, payload
//   ...  the jump table, which is used only as the end of the sections. If it
//        comes before them, its lowest offset is their start
#include "core/formats/mem8/sections.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

#include "core/base/text/text.h"
#include "core/formats/mem8/fields.h"
#include "core/formats/mem8/limits.h"

namespace ctxfs::mem8 {
namespace {

constexpr uint64_t kIndexAt = 12;
constexpr uint32_t kSlots = 9;  // by type; slot 0 is unused
constexpr uint32_t kSlotSize = 8;

/// Walks the body with one meaning of the length field after the other, until
/// the sections fit. If they fit with none, uses the one with which most known
/// sections are exactly as long as their fields.
class SectionFinder {
 public:
  SectionFinder(Bytes image, Mem8Layout& layout)
      : image_(image), layout_(layout) {}

  Status FindStrings();
  void FindBounds(uint32_t index_offset);
  void FindSections();

 private:
  struct Walk {
    std::vector<Mem8Section> sections;
    std::optional<Warning> stopped;  // why the walk stopped before the end
    bool over_limit = false;
    bool fits = true;    // every known section has room for its fields
    size_t natural = 0;  // known sections exactly as long as their fields
  };

  Mem8Reader At(uint64_t offset) const {
    return {image_.subspan(static_cast<size_t>(offset)), offset,
            layout_.big_endian};
  }
  Walk WalkAs(Mem8Length length) const;
  std::optional<uint32_t> FirstSlot(uint32_t index) const;
  void Warn(std::string text, uint64_t at,
            Severity severity = Severity::kNote) {
    layout_.warnings.push_back({std::move(text), at, severity});
  }

  Bytes image_;
  Mem8Layout& layout_;
  uint32_t start_ = 0;  // of the sections
  uint32_t end_ = 0;
  bool to_the_end_ = true;  // end_ is the file's end, not the jump table
};

Status SectionFinder::FindStrings() {
  Mem8Reader in = At(kBodyAt);
  const uint16_t count = in.U16();
  const uint16_t total = in.U16();
  const auto cut = [](uint64_t at) {
    return Error{Code::kCorrupt, "string table truncated", at};
  };
  if (!in.ok() || uint64_t{count} * 2 > in.remaining()) {
    return cut(image_.size());
  }
  layout_.strings.reserve(count);
  uint64_t bytes = 0;
  std::optional<uint64_t> not_utf8;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t at = in.offset();
    const uint16_t length = in.U16();
    const Bytes text = in.Take(length);
    if (!in.ok()) return cut(at);
    layout_.strings.push_back({static_cast<uint32_t>(at + 2), length});
    bytes += length;
    if (!not_utf8 && !IsUtf8(AsText(text))) not_utf8 = at;
  }
  if (not_utf8) Warn("string is not UTF-8", *not_utf8);
  const uint64_t lengths = bytes + 2 * uint64_t{count};
  if (total != bytes && total != lengths && total != lengths + 4) {
    Warn("string table total size disagrees", kBodyAt + 2);
  }
  start_ = static_cast<uint32_t>(in.offset());
  return {};
}

/// For a jump table at `index` before all sections: returns the offset of the
/// first section; nullopt unless all slots that are in use point past the table
/// and into the file.
std::optional<uint32_t> SectionFinder::FirstSlot(uint32_t index) const {
  Mem8Reader in = At(index);
  std::optional<uint32_t> first;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    const uint32_t offset = in.U32();
    (void)in.U32();
    if (offset == 0) continue;
    if (offset < index + kSlots * kSlotSize || offset >= image_.size()) {
      return std::nullopt;
    }
    first = std::min(first.value_or(offset), offset);
  }
  return in.ok() ? first : std::nullopt;
}

void SectionFinder::FindBounds(uint32_t index_offset) {
  end_ = static_cast<uint32_t>(image_.size());
  if (index_offset == 0) return;
  if (index_offset < start_ || index_offset > image_.size()) {
    Warn("index offset outside file", kIndexAt, Severity::kDamage);
    return;
  }
  if (index_offset == start_) {
    if (const std::optional<uint32_t> first = FirstSlot(index_offset)) {
      start_ = *first;
      return;
    }
  }
  end_ = index_offset;
  to_the_end_ = false;
}

SectionFinder::Walk SectionFinder::WalkAs(Mem8Length length) const {
  constexpr uint32_t kAlsoCounted[] = {0, 3, 1};
  const uint32_t also = kAlsoCounted[static_cast<size_t>(length)];
  Walk walk;
  uint32_t at = start_;
  const auto stop = [&walk](std::string why, uint32_t where) {
    walk.stopped = Warning{std::move(why), where, Severity::kDamage};
    return walk;
  };
  while (at < end_) {
    Mem8Reader in = At(at);
    Mem8Section section;
    section.offset = at;
    section.type = in.U8();
    section.length_field = in.U16();
    if (end_ - at < Mem8Section::kHead) {
      return stop(fmt::format("{} bytes after the last section", end_ - at),
                  at);
    }
    const std::string name = "section " + Mem8TypeText(section.type);
    if (section.type == 0) return stop("section of type 0x00", at);
    if (section.length_field < also) {
      return stop(name + " is shorter than its own head", at);
    }
    section.size = section.length_field - also;
    if (section.size > end_ - section.payload_at()) {
      return stop(name + (to_the_end_ ? " truncated" : " runs past the end"),
                  at);
    }
    if (walk.sections.size() == kMaxSections) {
      walk.over_limit = true;
      return stop(fmt::format("more than {} sections: the rest is not shown",
                              kMaxSections),
                  at);
    }
    const Bytes payload = image_.subspan(section.payload_at(), section.size);
    if (const auto needed = Mem8ContentSize(section.type, payload)) {
      walk.fits = walk.fits && section.size >= *needed;
      if (section.size == *needed) ++walk.natural;
    }
    walk.sections.push_back(section);
    at = section.payload_at() + section.size;
  }
  return walk;
}

void SectionFinder::FindSections() {
  constexpr std::array kMeanings = {Mem8Length::kPayload, Mem8Length::kTotal,
                                    Mem8Length::kTypeAndPayload};
  std::optional<Walk> best;
  for (const Mem8Length meaning : kMeanings) {
    Walk walk = WalkAs(meaning);
    const bool lands = walk.fits && (!walk.stopped || walk.over_limit);
    if (lands || !best || walk.natural > best->natural) {
      best = std::move(walk);
      layout_.length = meaning;
    }
    if (lands) break;
  }
  layout_.sections = std::move(best->sections);
  std::map<uint8_t, uint32_t> seen;
  for (Mem8Section& section : layout_.sections) {
    const Bytes payload = image_.subspan(section.payload_at(), section.size);
    section.fault = FindMem8Fault(layout_, payload, section.type);
    const std::string name = "section " + Mem8TypeText(section.type);
    if (section.fault != Mem8Fault::kSound) {
      Warn(name + ": " + std::string(Mem8FaultText(section.fault)),
           section.offset, Severity::kDamage);
    }
    const auto needed = Mem8ContentSize(section.type, payload);
    if (needed && section.size > *needed) {
      Warn(fmt::format("{} has {} unknown trailing bytes", name,
                       section.size - *needed),
           section.payload_at() + *needed);
    }
    if (++seen[section.type] == 2) {
      Warn("section type " + Mem8TypeText(section.type) + " appears twice",
           section.offset);
    }
  }
  if (best->stopped) layout_.warnings.push_back(*std::move(best->stopped));
}

}  // namespace

std::string_view Mem8LengthName(Mem8Length length) {
  constexpr std::string_view kNames[] = {"payload", "total", "type+payload"};
  return kNames[static_cast<size_t>(length)];
}

Result<Mem8Layout> FindMem8Sections(const Mem8Image& image) {
  Mem8Layout layout;
  layout.big_endian = image.header.big_endian;
  SectionFinder finder(image.bytes.span(), layout);
  if (Status found = finder.FindStrings(); !found) {
    Error error = std::move(found).error();
    if (image.header.crc == Mem8Crc::kMismatch) {
      error.what = "crc mismatch; " + error.what;
    }
    return error;
  }
  finder.FindBounds(image.header.index_offset);
  finder.FindSections();
  return layout;
}

}  // namespace ctxfs::mem8

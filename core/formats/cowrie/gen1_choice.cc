// SPDX-License-Identifier: Apache-2.0
//
// Detects the dialect of a generation 1 value (docs/formats/cowrie.md, section
// 5). No field states it: tags before and after version 2.0.0, and graphs of Go
// and of the other languages, differ only in meaning. In nearly every file,
// only one reading consumes all bytes.
#include <algorithm>
#include <array>
#include <utility>

#include "core/formats/cowrie/cowrie.h"
#include "core/formats/cowrie/gen1.h"

namespace ctxfs::cowrie {
namespace {

/// The result of reading a value in one dialect, complete or not.
struct Reading {
  Gen1Dialect dialect;
  Result<CowrieValue> value;
  uint64_t odd_values = 0;
  bool met_tags = false;
  bool met_graphs = false;
};

Reading ReadIn(Bytes bytes, const Gen1Dialect& dialect, bool numbers,
               const Interrupt& interrupt) {
  CowrieArrays arrays;
  CowrieGen1 decoder(bytes, dialect, numbers, arrays, interrupt);
  Result<Json> json = decoder.Decode();
  Reading reading{dialect, CowrieValue(), decoder.odd_values(),
                  decoder.met_tags(), decoder.met_graphs()};
  if (!json) {
    reading.value = std::move(json).error();
    return reading;
  }
  reading.value->json = *std::move(json);
  reading.value->left_out = arrays.left_out();
  reading.value->arrays = std::move(arrays).Take();
  return reading;
}

/// Reads the value in the possible dialects, and keeps the best reading so far.
class Choice {
 public:
  Choice(Bytes bytes, const Interrupt& interrupt)
      : bytes_(bytes), interrupt_(interrupt) {}

  Result<Gen1Choice> Make() && {
    for (const Gen1Tags tags : {Gen1Tags::kUnified, Gen1Tags::kEarlier}) {
      // Without a tag that depends on the table, both tables give the same
      // result.
      if (tags == Gen1Tags::kEarlier && !met_tags_) break;
      met_graphs_ = false;
      CTXFS_TRY(Try({tags, Gen1Graphs::kGo}));
      if (met_graphs_) {
        CTXFS_TRY(Try({tags, Gen1Graphs::kSpec}));
      }
    }
    if (!best_->value) return std::move(best_->value).error();
    return Gen1Choice{best_->dialect, *std::move(best_->value),
                      std::move(doubt_)};
  }

 private:
  Status Try(const Gen1Dialect& dialect) {
    Reading reading = ReadIn(bytes_, dialect, /*numbers=*/false, interrupt_);
    if (!reading.value && !reading.value.error().Permanent()) {
      return reading.value.error();
    }
    met_tags_ = met_tags_ || reading.met_tags;
    met_graphs_ = met_graphs_ || reading.met_graphs;
    if (best_ && best_->value && reading.value) Compare(reading);
    if (!best_ || IsBetter(reading, *best_)) best_ = std::move(reading);
    return {};
  }

  /// Records a doubt if two complete readings differ.
  void Compare(const Reading& reading) {
    if (reading.value->json == best_->value->json) return;
    if (reading.dialect.tags != best_->dialect.tags) {
      doubt_ = "both tables of tags read it";
    } else if (doubt_.empty()) {
      doubt_ = "both families of graphs read it";
    }
  }

  static bool IsBetter(const Reading& reading, const Reading& best) {
    if (reading.value.has_value() != best.value.has_value()) {
      return reading.value.has_value();
    }
    if (reading.value) return reading.odd_values < best.odd_values;
    return reading.value.error().offset > best.value.error().offset;
  }

  const Bytes bytes_;
  const Interrupt& interrupt_;
  std::optional<Reading> best_;
  bool met_tags_ = false;
  bool met_graphs_ = false;  // with the current table of tags
  std::string doubt_;
};

}  // namespace

bool StartsLikeCowrie1(Bytes bytes) {
  constexpr unsigned kLastScalar = 0x19;
  constexpr std::string_view kGraphs = "\x30\x35\x36\x37\x38\x39";
  if (bytes.empty()) return false;
  const auto tag = std::to_integer<unsigned>(bytes[0]);
  return tag <= kLastScalar ||
         kGraphs.find(static_cast<char>(tag)) != std::string_view::npos;
}

bool LooksLikeCowrieGraph1(Bytes bytes) {
  constexpr uint8_t kGraphTag = 0x39;
  constexpr uint8_t kNodeTag = 0x35;
  constexpr uint8_t kEdgeTag = 0x36;
  constexpr uint8_t kParts2 = 0x03;
  ByteReader go(bytes);
  if (go.U8() != kGraphTag) return false;
  const uint8_t parts = go.U8();
  const uint8_t parts2 = go.U8();
  if (go.ok() && parts2 <= kParts2 && (parts | parts2) != 0) return true;
  ByteReader spec(bytes.subspan(1));
  if (spec.Uvarint() != 0) return spec.U8() == kNodeTag && spec.ok();
  return spec.Uvarint() != 0 && spec.U8() == kEdgeTag && spec.ok();
}

Result<CowrieValue> ReadCowrie1(Bytes bytes, const Gen1Dialect& dialect,
                                bool numbers, const Interrupt& interrupt) {
  return ReadIn(bytes, dialect, numbers, interrupt).value;
}

Result<Gen1Choice> ChooseCowrie1(Bytes bytes, const Interrupt& interrupt) {
  return Choice(bytes, interrupt).Make();
}

}  // namespace ctxfs::cowrie

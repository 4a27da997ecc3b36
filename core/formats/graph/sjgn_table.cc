// SPDX-License-Identifier: Apache-2.0
//
// Tables of nodes and edges (docs/formats/sjgn.md, section 3).
//
//   "SJGS", u8 1, u8 flags
//   names of fields, names of labels, and with flag 1 names of predicates: each
//     a count, and as many texts
//   for each event: u32 length, and an object of cowrie's generation 2
//   u32 0
#include "core/formats/graph/sjgn_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "core/base/json/json.h"
#include "core/base/limits.h"
#include "core/content/read_context.h"
#include "core/formats/cowrie/decoder.h"
#include "core/formats/cowrie/limits.h"

namespace ctxfs::graph {
namespace {

constexpr uint8_t kHasPredicates = 0x01;

// Names or events skipped between two interrupt checks; each may need a read.
constexpr uint64_t kLengthsACheck = 1024;

// Upper bound of memory for a value of an event, which exists twice: as
// decoded, and under the name of its field in the JSON. A typed value is an
// object of several fields.
constexpr uint64_t kBytesAValue = 2 * 512;
// Upper bound of JSON bytes per byte of text: "\\u001f".
constexpr uint64_t kEscape = 6;
// Upper bound of JSON bytes per stored byte, texts excluded: a typed value is
// an object with the names of its fields.
constexpr uint64_t kJsonAByte = 64;
// Size of the pieces in which text grows, bytes.
constexpr uint64_t kPiece = limits::kMiB;

/// The dictionaries that events refer to.
struct Names {
  std::vector<std::string_view> labels;
  std::vector<std::string_view> predicates;
};

std::vector<std::string_view> ReadNames(cowrie::CowrieReader& in) {
  std::vector<std::string_view> names;
  const uint64_t count = in.Count(1);
  if (count > cowrie::kMaxNames) {
    in.Fail(fmt::format("a dictionary of {} names", count), Code::kLimit);
  }
  for (uint64_t i = 0; i < count && in.ok(); ++i) names.push_back(in.View());
  return names;
}

std::string TooMuchText() {
  return fmt::format("the events have more than {} bytes of text",
                     cowrie::kMaxText);
}

/// Decodes a framed event. `text` counts the text bytes of all events.
Result<Json> ReadFrame(Bytes frame, uint64_t offset, const Interrupt& interrupt,
                       uint64_t& text) {
  constexpr uint64_t kHeaderSize = 4;
  constexpr uint8_t kVersion = 2;
  constexpr uint8_t kHints = 0x08;
  ByteReader in(frame, offset);
  const Bytes magic = in.Take(2);
  const uint8_t version = in.U8();
  const uint8_t flags = in.U8();
  // Rejects compressed events: no writer compresses events, which are small,
  // and decompressing thousands of hostile ones would take hours.
  if (!in.ok() || AsText(magic) != "SJ" || version != kVersion ||
      (flags & ~kHints) != 0) {
    return Error{Code::kCorrupt, "an event is not an uncompressed cowrie value",
                 offset};
  }
  cowrie::CowrieArrays arrays;
  cowrie::CowrieDecoder decoder(frame.subspan(kHeaderSize),
                                offset + kHeaderSize, arrays, interrupt);
  Json event = CTXFS_TRY(decoder.Decode((flags & kHints) != 0));
  text += decoder.text();
  if (text > cowrie::kMaxText) {
    return Error{Code::kLimit, TooMuchText(), offset};
  }
  if (!event.is_object()) {
    return Error{Code::kCorrupt, "an event is not an object", offset};
  }
  return event;
}

/// Makes the JSON of an event, where fields have longer names. Read returns the
/// fault, if any.
class EventReader {
 public:
  /// `text` counts the text bytes of all events of a table.
  EventReader(const Json& event, const Names& names, uint64_t& text)
      : event_(event), names_(names), text_(text) {}

  std::string Read() {
    const Json* kind = MemberAt(event_, "k");
    if (kind == nullptr || !kind->is_number_integer()) {
      return "an event has no kind";
    }
    switch (kind->get<int64_t>()) {
      case 0:
        ReadNode();
        break;
      case 1:
        ReadEdge();
        break;
      case 2:
        ReadTriple();
        break;
      default:
        return "an event has an unknown kind";
    }
    ReadOp();
    Copy("ts", "ts");
    return fault_;
  }

  const Json& made() const { return made_; }

 private:
  void ReadNode() {
    made_["kind"] = "node";
    Text("id", "id");
    Json labels = Json::array();
    if (const Json* found = MemberAt(event_, "l")) {
      if (!found->is_array()) fault_ = "the labels of an event are not a list";
      for (const Json& label : *found) {
        labels.push_back(NameOf(label, names_.labels));
        if (!fault_.empty()) break;
      }
    }
    made_["labels"] = std::move(labels);
    Props();
  }
  void ReadEdge() {
    made_["kind"] = "edge";
    if (event_.contains("id")) Text("id", "id");
    Text("f", "from");
    Text("to", "to");
    if (const Json* type = MemberAt(event_, "t")) {
      made_["type"] = NameOf(*type, names_.labels);
    }
    Props();
  }
  void ReadTriple() {
    made_["kind"] = "triple";
    made_["subject"] = event_.value("s", Json());
    if (const Json* predicate = MemberAt(event_, "pr")) {
      made_["predicate"] = NameOf(*predicate, names_.predicates);
    }
    made_["object"] = event_.value("o", Json());
    Copy("g", "graph");
  }
  void ReadOp() {
    const Json* op = MemberAt(event_, "op");
    const int64_t number =
        op != nullptr && op->is_number_integer() ? op->get<int64_t>() : 0;
    if (number != 0 && number != 1)
      fault_ = "an event has an unknown operation";
    made_["op"] = number == 0 ? "upsert" : "delete";
  }
  void Copy(const char* field, const char* name) {
    if (const Json* value = MemberAt(event_, field)) made_[name] = *value;
  }
  void Text(const char* field, const char* name) {
    const Json* text = MemberAt(event_, field);
    if (text == nullptr || !text->is_string()) {
      fault_ = std::string("an event has no text for ") + name;
      return;
    }
    made_[name] = *text;
  }
  void Props() { made_["props"] = event_.value("p", Json::object()); }
  Json NameOf(const Json& index, const std::vector<std::string_view>& names) {
    if (!index.is_number_integer() || index.get<int64_t>() < 0 ||
        index.get<uint64_t>() >= names.size()) {
      fault_ = "a label is not in the dictionary";
      return nullptr;
    }
    const auto name = names[static_cast<size_t>(index.get<uint64_t>())];
    // Counts the name each time, because many events can repeat a long name.
    text_ += name.size();
    if (text_ <= cowrie::kMaxText) return std::string(name);
    fault_ = TooMuchText();
    return nullptr;
  }

  const Json& event_;
  const Names& names_;
  uint64_t& text_;
  Json made_ = Json::object();
  std::string fault_;
};

/// Text that grows in pieces, so that it is never in memory twice while it
/// grows.
class Lines {
 public:
  uint64_t size() const { return size_; }

  void Append(std::string_view text) {
    size_ += text.size();
    while (!text.empty()) {
      if (pieces_.empty() || pieces_.back().size() == kPiece) {
        pieces_.emplace_back().reserve(kPiece);
      }
      std::string& last = pieces_.back();
      const size_t n = std::min<size_t>(text.size(), kPiece - last.size());
      last += text.substr(0, n);
      text.remove_prefix(n);
    }
  }

  /// Returns the whole text. Frees each piece after copying it, and the result
  /// takes memory only as it is filled.
  Buffer Take() && {
    Buffer all(static_cast<size_t>(size_));
    std::byte* out = all.data();
    for (; !pieces_.empty(); pieces_.pop_front()) {
      out = std::copy_n(AsBytes(pieces_.front()).data(), pieces_.front().size(),
                        out);
    }
    return all;
  }

 private:
  uint64_t size_ = 0;
  std::deque<std::string> pieces_;
};

struct Table {
  Lines lines;  // the events as JSON, one on each line
  /// Endpoints of edges; ids of nodes are in `from`.
  cowrie::EdgeIds ids;
  /// Why the table is not a list of edges or nodes; else empty.
  std::string unlisted;
};

/// Appends the ids of an event to the list of edges or nodes.
void List(const Json& event, bool edges, Table& table) {
  if (event["kind"] != (edges ? "edge" : "node")) {
    table.unlisted = "it has events of another kind";
  } else if (event["op"] != "upsert") {
    table.unlisted = "it has events that delete";
  } else if (edges) {
    table.ids.Add(event["from"].get_ref<const std::string&>(),
                  event["to"].get_ref<const std::string&>());
  } else {
    table.ids.Add(event["id"].get_ref<const std::string&>(), "0");
  }
}

/// Decodes a whole table; `offset` is its position.
Result<Table> ReadTable(Bytes bytes, uint64_t offset, bool edges,
                        SjgnWanted wanted, const Interrupt& interrupt) {
  constexpr uint64_t kStepsOfEvent = 64;
  cowrie::CowrieReader in(bytes, offset, interrupt);
  if (AsText(in.Take(4)) != "SJGS" || in.U8() != 1)
    in.Fail("the table is not a stream of events");
  const uint8_t flags = in.U8();
  Names names;
  ReadNames(in);  // of fields; not used: each frame repeats its own
  names.labels = ReadNames(in);
  if ((flags & kHasPredicates) != 0) names.predicates = ReadNames(in);
  Table table;
  uint64_t text = 0;
  for (uint64_t length = in.U32(); length != 0 && in.ok(); length = in.U32()) {
    const uint64_t at = in.offset();
    const Bytes frame = in.Take(length);
    if (!in.Worked(kStepsOfEvent)) break;
    const Json event = CTXFS_TRY(ReadFrame(frame, at, interrupt, text));
    EventReader reader(event, names, text);
    if (std::string fault = reader.Read(); !fault.empty()) {
      return Error{Code::kCorrupt, std::move(fault), at};
    }
    if (wanted == SjgnWanted::kLines) {
      table.lines.Append(JsonLine(reader.made()));
      table.lines.Append("\n");
      if (table.lines.size() > limits::kDecodedBytes) {
        return Error{Code::kLimit, "the events are more than 1 GiB as JSON",
                     at};
      }
    } else {
      List(reader.made(), edges, table);
      if (!table.unlisted.empty()) return table;
    }
  }
  if (in.ok() && in.remaining() != 0) in.Fail("bytes follow the last event");
  if (!in.ok()) return in.TheError();
  if (!table.ids.ok()) table.unlisted = "its ids are not all whole numbers";
  return table;
}

class TableBlock final : public Block {
 public:
  TableBlock(Key key, std::shared_ptr<const Source> data,
             const SjgnSection& table, SjgnWanted wanted)
      : Block(key), data_(std::move(data)), table_(table), wanted_(wanted) {}

  uint64_t cost() const override {
    const uint64_t ids = table_.events * (table_.edges ? 2 : 1);
    return table_.length + NamesCost() + EventCost() +
           (wanted_ == SjgnWanted::kIds ? IdsCost(ids) : LinesCost());
  }
  const Source* made_from() const override { return data_.get(); }

  Result<Buffer> Produce(const ReadContext& context) const override {
    const Buffer bytes = CTXFS_TRY(ReadBuffer(
        *data_, table_.offset, table_.length, "a graph's table", context));
    Table table = CTXFS_TRY(ReadTable(bytes.span(), table_.offset, table_.edges,
                                      wanted_, context.interrupt()));
    if (wanted_ == SjgnWanted::kLines) return std::move(table.lines).Take();
    if (!table.unlisted.empty()) {
      return Error{Code::kCorrupt, table.unlisted, table_.offset};
    }
    const Bytes from = AsBytes(table.ids.from());
    const Bytes to = table_.edges ? AsBytes(table.ids.to()) : Bytes();
    Buffer made(from.size() + to.size());
    std::copy_n(to.data(), to.size(),
                std::copy_n(from.data(), from.size(), made.data()));
    return made;
  }

 private:
  /// Memory of the dictionaries, which are lists of string views. A stored name
  /// takes at least a byte. A list that grows takes up to three times its size:
  /// twice as new capacity, and the old memory.
  uint64_t NamesCost() const {
    constexpr uint64_t kDictionaries = 3;
    return 3 * sizeof(std::string_view) *
           std::min(table_.length, kDictionaries * cowrie::kMaxNames);
  }
  /// Upper bound of text bytes in events of `bytes` bytes. A stored byte is a
  /// byte of text, or refers to a name of the dictionaries. A name that an
  /// event defines itself takes two bytes for each use; in an event of F bytes,
  /// such names yield at most F * F / 8 bytes of text.
  uint64_t TextOf(uint64_t bytes) const {
    const uint64_t a_byte = 1 + table_.longest_name + table_.largest_event / 8;
    return std::min(cowrie::kMaxText,
                    CheckedMul(bytes, a_byte).value_or(UINT64_MAX));
  }
  /// Upper bound of JSON bytes for events of `bytes` bytes.
  uint64_t JsonOf(uint64_t bytes) const {
    return kEscape * TextOf(bytes) + kJsonAByte * bytes;
  }
  /// Memory of the largest event: values, their text twice, and growing JSON.
  uint64_t EventCost() const {
    const uint64_t bytes = table_.largest_event;
    const uint64_t values = kBytesAValue * std::min(bytes, cowrie::kMaxValues);
    return values + 2 * TextOf(bytes) +
           (wanted_ == SjgnWanted::kLines ? 3 * JsonOf(bytes) : uint64_t{0});
  }
  /// Memory of the strings in which ids are collected, which take up to three
  /// times their size while they grow, and of the result.
  static uint64_t IdsCost(uint64_t ids) { return (3 + 1) * ids * 8; }
  /// Memory of the lines, which are collected in pieces, and of the result.
  uint64_t LinesCost() const {
    return 2 * std::min(limits::kDecodedBytes, JsonOf(table_.length)) + kPiece;
  }

  std::shared_ptr<const Source> data_;
  const SjgnSection table_;
  SjgnWanted wanted_;
};

}  // namespace

std::shared_ptr<const Block> DecodeSjgnTable(Key key,
                                             std::shared_ptr<const Source> data,
                                             const SjgnSection& table,
                                             SjgnWanted wanted) {
  return std::make_shared<const TableBlock>(key, std::move(data), table,
                                            wanted);
}

void MeasureSjgnTable(SjgnCursor& in, const ReadContext& context,
                      SjgnSection& table) {
  const auto check = [&](uint64_t number) {
    if (number % kLengthsACheck != 0) return;
    if (Status wanted = context.Check(); !wanted) {
      in.Fail(std::move(wanted).error());
    }
  };
  in.Skip(5);
  const uint8_t flags = in.U8();
  const int dictionaries = (flags & kHasPredicates) != 0 ? 3 : 2;
  for (int i = 0; i < dictionaries; ++i) {
    for (uint64_t n = in.Uvarint(); n > 0 && in.ok(); --n) {
      check(n);
      const uint64_t length = in.Uvarint();
      in.Skip(length);
      if (in.ok()) table.longest_name = std::max(table.longest_name, length);
    }
  }
  while (in.ok()) {
    check(table.events);
    const uint64_t length = in.U32();
    if (length == 0) return;
    in.Skip(length);
    ++table.events;
    table.largest_event = std::max(table.largest_event, length);
  }
}

}  // namespace ctxfs::graph

// SPDX-License-Identifier: Apache-2.0
#include "core/formats/torch/value_walk.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/formats/torch/limits.h"

namespace ctxfs::torch {

using Kind = Node::Kind;

ValueWalk::ValueWalk(const Pickle& pickle, const ReadContext& context,
                     bool writes)
    : pickle_(pickle),
      context_(context),
      text_(writes ? kMaxValueText : 0,
            {Code::kLimit,
             fmt::format(
                 "value_too_large: the text is over the limit of {} bytes",
                 kMaxValueText)}),
      places_(pickle),
      seen_(pickle.count(), kNoPlace) {}

Status ValueWalk::Walk() {
  Value(pickle_.root(), kRootPlace, 0);
  if (IsFull()) FailTooLarge();
  if (error_) return *std::move(error_);
  return {};
}

void ValueWalk::Fail(std::string what) {
  if (!error_) error_ = Error{Code::kLimit, std::move(what)};
}

void ValueWalk::FailTooLarge() {
  if (!error_) error_ = text_.status().error();
}

void ValueWalk::FailExhausted() { Fail("the value is over the limit"); }

bool ValueWalk::MayTake(uint64_t bytes) {
  Status may = HeapAllowance::Admit(bytes);
  if (!may && !error_) error_ = std::move(may).error();
  return may.has_value();
}

bool ValueWalk::MayWalk(unsigned depth) {
  if (failed()) return false;
  if (budget_.CheckIsDue()) {
    if (Status wanted = context_.Check(); !wanted) {
      error_ = std::move(wanted).error();
      return false;
    }
  }
  budget_.Charge(1);
  if (budget_.exhausted()) {
    FailExhausted();
  } else if (depth > kMaxDepth) {
    Fail("pickle_depth: the value is nested deeper than " +
         std::to_string(kMaxDepth));
  } else if (IsFull()) {
    FailTooLarge();
  }
  return !failed();
}

void ValueWalk::Value(NodeId node, PlaceId place, unsigned depth) {
  if (!MayWalk(depth)) return;
  const Node& value = pickle_.at(node);
  switch (value.kind) {
    case Kind::kNone:
      return text_.Null();
    case Kind::kBool:
      return text_.Value(value.number != 0);
    case Kind::kInt:
      return text_.Value(value.number);
    case Kind::kBigInt:
      if (text_.HasRoom(pickle_.Text(node).size())) {
        text_.Value(DecimalDigits(pickle_.Text(node)));
      }
      return;
    case Kind::kFloat:
      return text_.Value(std::bit_cast<double>(value.number));
    case Kind::kText:
      return text_.Value(pickle_.Text(node));
    case Kind::kBytes:
      return PutBytes(pickle_.Text(node));
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kSet:
      return Container(node, place, depth);
    case Kind::kGlobal:
      return Global(node);
    case Kind::kPersistent:
      return Persistent(node, place, depth);
    case Kind::kObject:
      return Call(node, place, depth);
  }
}

bool ValueWalk::HasPlaces(NodeId node) const {
  switch (pickle_.at(node).kind) {
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kSet:
      return pickle_.at(node).first != kNoNode;
    case Kind::kObject:
    case Kind::kPersistent:
      return true;
    default:
      return false;
  }
}

std::string ValueWalk::PathTo(PlaceId place, uint64_t limit) {
  std::optional<std::string> path = places_.Path(place, limit);
  if (path) return *std::move(path);
  Fail("the names of values are over the limit");
  return {};
}

bool ValueWalk::PutReference(NodeId node) {
  if (seen_[node] == kNoPlace) return false;
  if (writes()) PutNamed("$ref", PathTo(seen_[node], kMaxValueText));
  return true;
}

bool ValueWalk::Met(NodeId node, PlaceId place) {
  if (PutReference(node)) return true;
  seen_[node] = place;
  return false;
}

void ValueWalk::PutNamed(const char* key, std::string_view text) {
  text_.BeginObject();
  text_.Member(key, text);
  text_.EndObject();
}

void ValueWalk::PutBytes(std::string_view bytes) {
  text_.BeginObject();
  text_.Key("$bytes");
  text_.Base64(bytes);
  text_.EndObject();
}

void ValueWalk::PutIntegers(const std::vector<int64_t>& numbers) {
  text_.BeginArray();
  for (const int64_t number : numbers) text_.Value(number);
  text_.EndArray();
}

void ValueWalk::Container(NodeId node, PlaceId place, unsigned depth) {
  const Node& value = pickle_.at(node);
  if (value.first != kNoNode && Met(node, place)) return;
  if (value.kind == Kind::kSet) return Set(value.first, place, depth);
  if (value.kind != Kind::kDict) return Array(value.first, place, depth);
  std::vector<Entry> entries;
  AddEntries(pickle_, value.first, entries);
  Dict(std::move(entries), kNoNode, place, depth);
}

void ValueWalk::Array(uint32_t link, PlaceId place, unsigned depth) {
  text_.BeginArray();
  for (uint32_t i = 0; link != kNoNode && !failed();
       link = pickle_.Next(link), ++i) {
    const NodeId child = pickle_.Child(link);
    Value(child, HasPlaces(child) ? places_.AtIndex(place, i) : place,
          depth + 1);
  }
  text_.EndArray();
}

void ValueWalk::Set(uint32_t link, PlaceId place, unsigned depth) {
  text_.BeginObject();
  text_.Key("$set");
  Array(link, place, depth);
  text_.EndObject();
}

// Whether the entries can be members of a JSON object: every key is a text or
// an integer, and none starts with '$', like ctxfs's own keys.
bool ValueWalk::MayBeMembers(const std::vector<Entry>& entries) const {
  return std::all_of(entries.begin(), entries.end(),
                     [this](const Entry& entry) {
                       return IsPlainKey(pickle_, entry.key) &&
                              (!pickle_.Is(entry.key, Kind::kText) ||
                               !pickle_.Text(entry.key).starts_with('$'));
                     });
}

void ValueWalk::Dict(std::vector<Entry> entries, NodeId attributes,
                     PlaceId place, unsigned depth) {
  const bool distinct = MergeEqualKeys(pickle_, budget_, entries);
  if (!MayTake()) return;
  const bool members = distinct && MayBeMembers(entries);
  text_.BeginObject();
  if (members) {
    Members(entries, place, depth);
  } else {
    text_.Key("$dict");
    Pairs(entries, place, depth);
  }
  if (attributes != kNoNode) {
    text_.Key("$attrs");
    Value(attributes, places_.AtWord(place, Word::kAttributes), depth + 1);
  }
  text_.EndObject();
}

void ValueWalk::Members(const std::vector<Entry>& entries, PlaceId place,
                        unsigned depth) {
  for (uint32_t i = 0; i < entries.size() && !failed(); ++i) {
    const auto [key, value] = entries[i];
    if (writes()) {
      // Avoids copying a text, which can be long.
      pickle_.Is(key, Kind::kText) ? text_.Key(pickle_.Text(key))
                                   : text_.Key(KeyText(pickle_, key));
    }
    Value(value, HasPlaces(value) ? places_.AtEntry(place, key, i) : place,
          depth + 1);
  }
}

void ValueWalk::Pairs(const std::vector<Entry>& entries, PlaceId place,
                      unsigned depth) {
  text_.BeginArray();
  for (uint32_t i = 0; i < entries.size() && !failed(); ++i) {
    const auto [key, value] = entries[i];
    const PlaceId at = places_.AtEntry(place, key, i);
    text_.BeginArray();
    Value(key, places_.AtWord(at, Word::kKey), depth + 1);
    Value(value, at, depth + 1);
    text_.EndArray();
  }
  text_.EndArray();
}

Status FindTensors(const Pickle& pickle, const std::string& prefix,
                   const ReadContext& context,
                   std::vector<FoundTensor>& found) {
  CTXFS_TRY(HeapAllowance::Admit(pickle.count() * sizeof(PlaceId)));
  return ValueWalk(pickle, context, prefix, found).Walk();
}

Result<std::string> ValueText(const Pickle& pickle, const TensorPath& path,
                              const ReadContext& context) {
  CTXFS_TRY(HeapAllowance::Admit(pickle.count() * sizeof(PlaceId)));
  ValueWalk walk(pickle, context, path);
  CTXFS_TRY(walk.Walk());
  std::string text = CTXFS_TRY(walk.TakeText());
  CTXFS_TRY(AppendAdmitted(text, "\n"));
  return text;
}

}  // namespace ctxfs::torch

// SPDX-License-Identifier: Apache-2.0
//
// Walks the value of a pickle, to find its tensors and to write it as JSON
// (docs/torch.md, sections 8 and 9). Both are one walk, so that they number
// tensors alike.
#include "core/formats/torch/value.h"

#include <array>
#include <bit>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/formats/torch/json_text.h"
#include "core/formats/torch/limits.h"

namespace ctxfs::torch {
namespace {

using Kind = Node::Kind;

constexpr uint32_t kVisitsPerCheck = 16'384;
constexpr uint32_t kNoPlace = UINT32_MAX;

/// A step on the way from the root to a value. There can be millions.
struct Place {
  enum class Step : uint8_t { kRoot, kKey, kIndex, kPosition, kWord };
  uint32_t parent = kNoPlace;
  uint32_t number = 0;  // of the key's node, an index, a position or a Word
  Step step = Step::kRoot;
};

/// Steps that are no keys of the value itself.
enum Word : uint32_t { kAttributes, kKeyOfDict, kArgs, kKwargs, kCallable };
constexpr std::array<const char*, 5> kWords = {"$attrs", "key", "args",
                                               "kwargs", "callable"};

/// A key and its value.
struct Entry {
  NodeId key;
  NodeId value;
};

class Walker {
 public:
  /// Adds tensors to `found`, their names starting with `prefix`.
  Walker(const Pickle& pickle, const ReadContext& context, std::string prefix,
         std::vector<FoundTensor>& found)
      : Walker(pickle, context, /*writes=*/false) {
    found_ = &found;
    prefix_ = std::move(prefix);
  }
  /// Writes the value; tensors are shown at `shown_at`.
  Walker(const Pickle& pickle, const ReadContext& context,
         const TensorPath& shown_at)
      : Walker(pickle, context, /*writes=*/true) {
    shown_at_ = &shown_at;
  }

  Status Walk() {
    Value(pickle_.root(), 0, 0);
    if (text_.full()) FailTooLarge();
    if (error_) return *std::move(error_);
    return {};
  }
  std::string TakeText() { return text_.Take(); }

 private:
  Walker(const Pickle& pickle, const ReadContext& context, bool writes)
      : pickle_(pickle),
        context_(context),
        text_(writes, kMostValueText),
        seen_(pickle.count(), kNoPlace) {
    places_.push_back({});
  }

  bool writes() const { return shown_at_ != nullptr; }
  bool Failed() const { return error_.has_value(); }
  void Fail(std::string what) {
    if (!error_) error_ = Error{Code::kLimit, std::move(what)};
  }

  void FailTooLarge() {
    Fail("value_too_large: the text is over the limit of " +
         std::to_string(kMostValueText) + " bytes");
  }
  /// Counts work on a text, which many values may share.
  void CountText(uint64_t bytes) { visits_ += bytes / 64; }

  uint32_t At(uint32_t parent, Place::Step step, uint32_t number) {
    places_.push_back({parent, number, step});
    return static_cast<uint32_t>(places_.size() - 1);
  }
  uint32_t AtWord(uint32_t parent, Word word) {
    return At(parent, Place::Step::kWord, word);
  }
  /// Whether something in a value may have a place. Most values are plain.
  bool HasPlaces(NodeId node) const {
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
  uint32_t AtEntry(uint32_t parent, NodeId key, uint32_t position) {
    return IsPlainKey(key) ? At(parent, Place::Step::kKey, key)
                           : At(parent, Place::Step::kPosition, position);
  }

  bool IsPlainKey(NodeId key) const {
    const Kind kind = pickle_.at(key).kind;
    return kind == Kind::kText || kind == Kind::kInt || kind == Kind::kBigInt;
  }
  std::string KeyText(NodeId key) const {
    const Node& node = pickle_.at(key);
    if (node.kind == Kind::kText) return std::string(pickle_.Text(key));
    if (node.kind == Kind::kInt) return std::to_string(node.number);
    return DecimalDigits(pickle_.Text(key));
  }
  std::string StepText(const Place& place) const {
    switch (place.step) {
      case Place::Step::kRoot:
        break;
      case Place::Step::kKey:
        return KeyText(place.number);
      case Place::Step::kIndex:
        return std::to_string(place.number);
      case Place::Step::kPosition:
        return "#" + std::to_string(place.number);
      case Place::Step::kWord:
        return kWords[place.number];
    }
    return {};
  }
  /// The keys that lead to a place, joined by '/'. Fails if they are longer
  /// than `limit`.
  std::string PathTo(uint32_t place, uint64_t limit) {
    std::vector<std::string> steps;
    uint64_t size = 0;
    for (; places_[place].step != Place::Step::kRoot;
         place = places_[place].parent) {
      steps.push_back(StepText(places_[place]));
      size += steps.back().size() + 1;
      if (size > limit) {
        Fail("the names of values are over the limit");
        return {};
      }
    }
    std::string path;
    for (size_t i = steps.size(); i-- > 0;) {
      path += steps[i];
      if (i > 0) path += '/';
    }
    return path;
  }

  void Value(NodeId node, uint32_t place, unsigned depth);
  void Container(NodeId node, uint32_t place, unsigned depth);
  void Call(NodeId node, uint32_t place, unsigned depth);
  bool KnownCall(NodeId node, std::string_view name, uint32_t place,
                 unsigned depth);
  void Global(NodeId node);
  void Persistent(NodeId node, uint32_t place, unsigned depth);
  void Opaque(NodeId node, std::string_view name, uint32_t place,
              unsigned depth);
  void Array(uint32_t link, uint32_t place, unsigned depth);
  void Dict(std::vector<Entry> entries, NodeId attributes, uint32_t place,
            unsigned depth);
  void Pairs(const std::vector<Entry>& entries, uint32_t place, unsigned depth);
  void OrderedDict(NodeId node, uint32_t place, unsigned depth);
  bool Bytes(NodeId node, std::string_view name);
  /// Whether an OrderedDict or Counter has arguments that fit.
  bool HasPairs(NodeId node);
  void Tensor(const TensorId& tensor, uint32_t place, const char* part);
  void TensorObject(const TensorId& tensor, uint32_t place,
                    const char* part = "");
  void Quantised(const QuantisedId& quantised, uint32_t place, unsigned depth);
  void Sparse(const SparseId& sparse, uint32_t place);
  void Integers(const std::vector<int64_t>& numbers);
  void Named(const char* key, std::string_view text);

  /// Writes a reference if a container was met before; else notes its place.
  bool Met(NodeId node, uint32_t place);
  void AddEntries(uint32_t link, std::vector<Entry>& entries) const;
  /// Keeps the last of entries with one key, at the place of the first; false
  /// if a number and a text would be one key.
  bool Unite(std::vector<Entry>& entries);
  bool IsEmptyObject(const Object& object) const {
    return pickle_.at(object.args).first == kNoNode &&
           object.kwargs == kNoNode && object.state == kNoNode &&
           object.items.first == kNoNode && object.entries.first == kNoNode;
  }

  const Pickle& pickle_;
  const ReadContext& context_;
  std::vector<FoundTensor>* found_ = nullptr;
  std::string prefix_;
  const TensorPath* shown_at_ = nullptr;
  JsonText text_;
  std::vector<uint32_t> seen_;  // by node: the place of a container
  std::vector<Place> places_;
  uint64_t visits_ = 0;
  uint64_t name_bytes_ = 0;
  size_t tensors_ = 0;
  std::optional<Error> error_;
};

void Walker::Value(NodeId node, uint32_t place, unsigned depth) {
  if (Failed()) return;
  if (visits_++ % kVisitsPerCheck == 0) {
    if (Status wanted = context_.Check(); !wanted) {
      error_ = std::move(wanted).error();
      return;
    }
  }
  if (visits_ > kMostVisits) return Fail("the value is over the limit");
  if (depth > kMostDepth) {
    return Fail("pickle_depth: the value is nested deeper than " +
                std::to_string(kMostDepth));
  }
  if (text_.full()) return FailTooLarge();
  const Node& value = pickle_.at(node);
  switch (value.kind) {
    case Kind::kNone:
      return text_.Put("null");
    case Kind::kBool:
      return text_.Put(value.number != 0 ? "true" : "false");
    case Kind::kInt:
      return text_.Integer(value.number);
    case Kind::kBigInt:
      return text_.BigInteger(pickle_.Text(node));
    case Kind::kFloat:
      return text_.Float(std::bit_cast<double>(value.number));
    case Kind::kText:
      return text_.String(pickle_.Text(node));
    case Kind::kBytes:
      text_.Put("{\"$bytes\":");
      text_.Base64(pickle_.Text(node));
      return text_.Put("}");
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

bool Walker::Met(NodeId node, uint32_t place) {
  if (seen_[node] == kNoPlace) {
    seen_[node] = place;
    return false;
  }
  if (!writes()) return true;  // no text is written
  const std::string name = PathTo(seen_[node], kMostValueText);
  Named("$ref", name);
  return true;
}

void Walker::Named(const char* key, std::string_view text) {
  text_.Put("{");
  text_.Key(key);
  text_.String(text);
  text_.Put("}");
}

void Walker::Container(NodeId node, uint32_t place, unsigned depth) {
  const Node& value = pickle_.at(node);
  if (value.first != kNoNode && Met(node, place)) return;
  if (value.kind == Kind::kDict) {
    std::vector<Entry> entries;
    AddEntries(value.first, entries);
    return Dict(std::move(entries), kNoNode, place, depth);
  }
  if (value.kind == Kind::kSet) text_.Put("{\"$set\":");
  Array(value.first, place, depth);
  if (value.kind == Kind::kSet) text_.Put("}");
}

void Walker::Array(uint32_t link, uint32_t place, unsigned depth) {
  text_.Put("[");
  for (uint32_t i = 0; link != kNoNode && !Failed();
       link = pickle_.Next(link), ++i) {
    if (i > 0) text_.Put(",");
    const NodeId child = pickle_.Child(link);
    const bool placed = HasPlaces(child);
    Value(child, placed ? At(place, Place::Step::kIndex, i) : place, depth + 1);
  }
  text_.Put("]");
}

void Walker::AddEntries(uint32_t link, std::vector<Entry>& entries) const {
  while (link != kNoNode) {
    const NodeId key = pickle_.Child(link);
    link = pickle_.Next(link);
    if (link == kNoNode) return;
    entries.push_back({key, pickle_.Child(link)});
    link = pickle_.Next(link);
  }
}

bool Walker::Unite(std::vector<Entry>& entries) {
  struct Known {
    size_t index;
    bool text;
  };
  // Not hashed: keys can be made to collide.
  std::map<std::string_view, Known> known;
  std::deque<std::string> digits;  // of keys that are numbers
  bool distinct = true;
  size_t kept = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const Entry entry = entries[i];
    if (!IsPlainKey(entry.key)) {
      entries[kept++] = entry;
      continue;
    }
    const Kind kind = pickle_.at(entry.key).kind;
    const bool text = kind == Kind::kText;
    if (kind == Kind::kBigInt) visits_ += pickle_.Text(entry.key).size();
    if (text) CountText(pickle_.Text(entry.key).size());
    if (visits_ > kMostVisits) return true;  // the next Value fails
    const std::string_view key =
        text ? pickle_.Text(entry.key)
             : std::string_view(digits.emplace_back(KeyText(entry.key)));
    const auto [found, inserted] = known.try_emplace(key, Known{kept, text});
    if (inserted) {
      entries[kept++] = entry;
    } else if (found->second.text == text) {
      entries[found->second.index].value = entry.value;
    } else {
      distinct = false;
      entries[kept++] = entry;
    }
  }
  entries.resize(kept);
  return distinct;
}

void Walker::Dict(std::vector<Entry> entries, NodeId attributes, uint32_t place,
                  unsigned depth) {
  bool plain = Unite(entries);
  for (const Entry& entry : entries) {
    plain = plain && IsPlainKey(entry.key);
    if (pickle_.at(entry.key).kind == Kind::kText) {
      plain = plain && !pickle_.Text(entry.key).starts_with('$');
    }
  }
  text_.Put("{");
  if (plain) {
    for (uint32_t i = 0; i < entries.size() && !Failed(); ++i) {
      if (i > 0) text_.Put(",");
      if (writes()) text_.Key(KeyText(entries[i].key));
      const Entry& entry = entries[i];
      Value(entry.value,
            HasPlaces(entry.value) ? AtEntry(place, entry.key, i) : place,
            depth + 1);
    }
  } else {
    text_.Put("\"$dict\":");
    Pairs(entries, place, depth);
  }
  if (attributes != kNoNode) {
    if (!entries.empty() || !plain) text_.Put(",");
    text_.Key("$attrs");
    Value(attributes, AtWord(place, kAttributes), depth + 1);
  }
  text_.Put("}");
}

void Walker::Pairs(const std::vector<Entry>& entries, uint32_t place,
                   unsigned depth) {
  text_.Put("[");
  for (uint32_t i = 0; i < entries.size() && !Failed(); ++i) {
    const uint32_t at = AtEntry(place, entries[i].key, i);
    text_.Put(i > 0 ? ",[" : "[");
    Value(entries[i].key, AtWord(at, kKeyOfDict), depth + 1);
    text_.Put(",");
    Value(entries[i].value, at, depth + 1);
    text_.Put("]");
  }
  text_.Put("]");
}

void Walker::Global(NodeId node) {
  const std::string_view name = pickle_.Text(node);
  if (const std::optional<TypeInfo> type = TorchType(name)) {
    return Named("$dtype", "torch." + std::string(type->name));
  }
  if (StorageType(name)) {
    return Named("$storage_type", name.substr(name.rfind('.') + 1));
  }
  if (name.starts_with("torch.per_")) return Named("$qscheme", name);
  Named("$opaque", name);
}

void Walker::Persistent(NodeId node, uint32_t place, unsigned depth) {
  if (const std::optional<StorageId> storage = AsStorage(pickle_, node)) {
    text_.Put("{");
    text_.Key("$storage");
    text_.String(storage->key);
    text_.Put(",");
    text_.Key("dtype");
    text_.String(DTypeName(storage->type.dtype));
    text_.Put(",");
    text_.Key("size");
    text_.Integer(storage->elements);
    return text_.Put("}");
  }
  const std::string_view name = GlobalName(pickle_, node);
  if (!name.empty()) return Named("$opaque", name);
  if (Met(node, place)) return;
  text_.Put("{\"$opaque\":\"persistent_id\",\"args\":");
  Value(pickle_.at(node).first, AtWord(place, kArgs), depth + 1);
  text_.Put("}");
}

void Walker::Integers(const std::vector<int64_t>& numbers) {
  text_.Put("[");
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) text_.Put(",");
    text_.Integer(numbers[i]);
  }
  text_.Put("]");
}

void Walker::Tensor(const TensorId& tensor, uint32_t place, const char* part) {
  if (Failed()) return;
  const size_t number = tensors_++;
  if (writes()) return text_.String((*shown_at_)(number));
  if (found_->size() >= kMostTensors) {
    return Fail("more than " + std::to_string(kMostTensors) + " tensors");
  }
  std::string name = PathTo(place, kMostTensorNames - name_bytes_);
  const bool nameless = places_[place].step == Place::Step::kRoot;
  if (nameless && prefix_.empty()) name = "tensor";
  name = prefix_ + name + part;
  if (name.size() > kMostTensorNames - name_bytes_) {
    return Fail("the names of tensors are over the limit");
  }
  name_bytes_ += name.size();
  found_->push_back({std::move(name), tensor});
}

void Walker::TensorObject(const TensorId& tensor, uint32_t place,
                          const char* part) {
  text_.Put("{\"$tensor\":");
  Tensor(tensor, place, part);
  text_.Put("}");
}

void Walker::Quantised(const QuantisedId& quantised, uint32_t place,
                       unsigned depth) {
  text_.Put("{\"$tensor\":");
  Tensor(quantised.codes, place, "");
  text_.Put(",\"quantizer\":{\"scheme\":");
  text_.String(quantised.scheme);
  if (quantised.scales) {
    text_.Put(",\"scales\":");
    TensorObject(*quantised.scales, place, ".scales");
    text_.Put(",\"zero_points\":");
    TensorObject(*quantised.zero_points, place, ".zero_points");
    text_.Put(",\"axis\":");
    text_.Integer(quantised.axis);
  } else {
    text_.Put(",\"scale\":");
    Value(quantised.scale, place, depth + 1);
    text_.Put(",\"zero_point\":");
    Value(quantised.zero_point, place, depth + 1);
  }
  text_.Put("}}");
}

void Walker::Sparse(const SparseId& sparse, uint32_t place) {
  text_.Put("{\"$sparse\":{\"layout\":");
  text_.String(sparse.layout);
  text_.Put(",\"shape\":");
  Integers(sparse.shape);
  for (const auto& [name, tensor] : sparse.parts) {
    text_.Put(",");
    text_.Key(name);
    TensorObject(tensor, place, ("." + name).c_str());
  }
  if (sparse.coalesced) {
    text_.Put(",\"coalesced\":");
    text_.Put(*sparse.coalesced ? "true" : "false");
  }
  text_.Put("}}");
}

void Walker::Call(NodeId node, uint32_t place, unsigned depth) {
  if (const std::optional<TensorId> tensor = AsTensor(pickle_, node)) {
    return TensorObject(*tensor, place);
  }
  const std::string_view name = CalleeName(pickle_, node);
  if (const std::optional<QuantisedId> one = AsQuantised(pickle_, node)) {
    return Quantised(*one, place, depth);
  }
  if (const std::optional<SparseId> sparse = AsSparse(pickle_, node)) {
    return Sparse(*sparse, place);
  }
  if (const std::optional<MetaId> meta = AsMeta(pickle_, node)) {
    text_.Put("{\"$meta\":{\"dtype\":");
    text_.String(DTypeName(meta->type.dtype));
    text_.Put(",\"shape\":");
    Integers(meta->shape);
    return text_.Put("}}");
  }
  if (KnownCall(node, name, place, depth)) return;
  Opaque(node, name, place, depth);
}

bool Walker::Bytes(NodeId node, std::string_view name) {
  if (name == "builtins.bytearray") {
    const Object& object = pickle_.ObjectAt(node);
    const NodeId content = Argument(pickle_, node, 0);
    if (content == kNoNode) {
      text_.Put("{\"$bytes\":\"\"}");
      return pickle_.at(object.args).first == kNoNode;
    }
    if (pickle_.at(content).kind == Kind::kBytes) {
      text_.Put("{\"$bytes\":");
      text_.Base64(pickle_.Text(content));
      text_.Put("}");
      return true;
    }
    if (CalleeName(pickle_, content) == "_codecs.encode") {
      return Bytes(content, "_codecs.encode");
    }
    if (pickle_.at(content).kind != Kind::kText) return false;
  } else if (name != "_codecs.encode") {
    return false;
  }
  // Text whose characters are the bytes.
  const NodeId text = Argument(pickle_, node, 0);
  const NodeId codec = Argument(pickle_, node, 1);
  if (text == kNoNode || pickle_.at(text).kind != Kind::kText ||
      (!pickle_.IsText(codec, "latin1") && !pickle_.IsText(codec, "latin-1"))) {
    return false;
  }
  std::string bytes;
  const std::string_view characters = pickle_.Text(text);
  CountText(characters.size());
  for (size_t i = 0; i < characters.size(); ++i) {
    const auto first = static_cast<unsigned char>(characters[i]);
    if (first < 0x80) {
      bytes += characters[i];
    } else if ((first == 0xC2 || first == 0xC3) && i + 1 < characters.size()) {
      const auto second = static_cast<unsigned char>(characters[++i]);
      bytes += static_cast<char>((first & 3U) << 6 | (second & 0x3FU));
    } else {
      return false;
    }
  }
  text_.Put("{\"$bytes\":");
  text_.Base64(bytes);
  text_.Put("}");
  return true;
}

void Walker::OrderedDict(NodeId node, uint32_t place, unsigned depth) {
  const Object& object = pickle_.ObjectAt(node);
  std::vector<Entry> entries;
  const NodeId first = Argument(pickle_, node, 0);
  if (first != kNoNode && pickle_.at(first).kind == Kind::kDict) {
    AddEntries(pickle_.at(first).first, entries);
  } else if (first != kNoNode) {
    for (uint32_t link = pickle_.at(first).first; link != kNoNode;
         link = pickle_.Next(link)) {
      const NodeId pair = pickle_.Child(link);
      entries.push_back({pickle_.Child(pair, 0), pickle_.Child(pair, 1)});
    }
  }
  AddEntries(object.entries.first, entries);
  if ((!entries.empty() || object.state != kNoNode) && Met(node, place)) {
    return;
  }
  visits_ += entries.size();
  Dict(std::move(entries), object.state, place, depth);
}

bool Walker::HasPairs(NodeId node) {
  const NodeId args = pickle_.ObjectAt(node).args;
  const NodeId first = pickle_.Child(args, 0);
  if (first == kNoNode) return true;
  if (pickle_.Child(args, 1) != kNoNode) return false;
  const Kind kind = pickle_.at(first).kind;
  if (kind == Kind::kDict) return true;
  if (kind != Kind::kList && kind != Kind::kTuple) return false;
  for (uint32_t link = pickle_.at(first).first; link != kNoNode;
       link = pickle_.Next(link)) {
    if (++visits_ > kMostVisits) return true;  // the next Value fails
    const NodeId pair = pickle_.Child(link);
    const Kind inner = pickle_.at(pair).kind;
    if ((inner != Kind::kList && inner != Kind::kTuple) ||
        pickle_.Child(pair, 1) == kNoNode ||
        pickle_.Child(pair, 2) != kNoNode) {
      return false;
    }
  }
  return true;
}

bool Walker::KnownCall(NodeId node, std::string_view name, uint32_t place,
                       unsigned depth) {
  const Object& object = pickle_.ObjectAt(node);
  const NodeId first = Argument(pickle_, node, 0);
  // A parameter that is quantised or sparse.
  if (name.starts_with("torch._utils._rebuild_parameter") &&
      IsKnownName(name) && first != kNoNode) {
    const std::string_view inner = CalleeName(pickle_, first);
    if (inner == "torch._utils._rebuild_qtensor" ||
        inner == "torch._utils._rebuild_sparse_tensor" ||
        inner == "torch._utils._rebuild_meta_tensor_no_storage") {
      Value(first, place, depth + 1);
      return true;
    }
  }
  const bool has_extra =
      object.items.first != kNoNode || object.kwargs != kNoNode;
  if (has_extra) return false;
  if (name == "collections.OrderedDict" || name == "collections.Counter") {
    if (!HasPairs(node)) return false;
    if (visits_ > kMostVisits) {
      Fail("the value is over the limit");
      return true;
    }
    OrderedDict(node, place, depth);
    return true;
  }
  if (object.entries.first != kNoNode || object.state != kNoNode) return false;
  if (name.starts_with("torch.jit._pickle.") && IsKnownName(name)) {
    if (first == kNoNode) return false;
    Value(first, place, depth + 1);
    return true;
  }
  if (name == "_codecs.encode" || name == "builtins.bytearray") {
    return Bytes(node, name);
  }
  if (name == "builtins.set" || name == "builtins.frozenset") {
    uint32_t link = kNoNode;
    if (first != kNoNode) {
      const Kind kind = pickle_.at(first).kind;
      if (kind != Kind::kList && kind != Kind::kTuple && kind != Kind::kSet) {
        return false;
      }
      link = pickle_.at(first).first;
    }
    if (link != kNoNode && Met(node, place)) return true;
    text_.Put("{\"$set\":");
    Array(link, place, depth);
    text_.Put("}");
    return true;
  }
  if (first == kNoNode) return false;
  const NodeId second = Argument(pickle_, node, 1);
  if (name == "builtins.complex" && second != kNoNode &&
      pickle_.at(first).kind == Kind::kFloat &&
      pickle_.at(second).kind == Kind::kFloat) {
    text_.Put("{\"$complex\":[");
    Value(first, place, depth + 1);
    text_.Put(",");
    Value(second, place, depth + 1);
    text_.Put("]}");
    return true;
  }
  if (name == "torch.Size") {
    const std::optional<std::vector<int64_t>> size = AsIntegers(pickle_, first);
    if (size) Integers(*size);
    return size.has_value();
  }
  if (pickle_.at(first).kind != Kind::kText) return false;
  std::string text(pickle_.Text(first));
  if (name == "torch.serialization._get_layout") {
    Named("$layout", text);
    return true;
  }
  if (name != "torch.device") return false;
  if (second != kNoNode) {
    const std::optional<int64_t> index = AsInteger(pickle_, second);
    if (!index) return false;
    text += ":" + std::to_string(*index);
  }
  Named("$device", text);
  return true;
}

void Walker::Opaque(NodeId node, std::string_view name, uint32_t place,
                    unsigned depth) {
  const Object& object = pickle_.ObjectAt(node);
  if (!IsEmptyObject(object) && Met(node, place)) return;
  text_.Put("{\"$opaque\":");
  text_.String(name);
  const auto put = [&](const char* key, NodeId value, uint32_t at) {
    text_.Put(",");
    text_.Key(key);
    Value(value, at, depth + 1);
  };
  if (name.empty()) put("callable", object.callable, AtWord(place, kCallable));
  if (pickle_.at(object.args).first != kNoNode) {
    put("args", object.args, AtWord(place, kArgs));
  }
  if (object.kwargs != kNoNode) {
    put("kwargs", object.kwargs, AtWord(place, kKwargs));
  }
  if (object.state != kNoNode) put("state", object.state, place);
  if (object.items.first != kNoNode) {
    text_.Put(",\"items\":");
    Array(object.items.first, place, depth + 1);
  }
  if (object.entries.first != kNoNode) {
    std::vector<Entry> entries;
    AddEntries(object.entries.first, entries);
    (void)Unite(entries);
    text_.Put(",\"entries\":");
    Pairs(entries, place, depth + 1);
  }
  text_.Put("}");
}

}  // namespace

Status FindTensors(const Pickle& pickle, const std::string& prefix,
                   const ReadContext& context,
                   std::vector<FoundTensor>& found) {
  Walker walker(pickle, context, prefix, found);
  return walker.Walk();
}

Result<std::string> ValueText(const Pickle& pickle, const TensorPath& path,
                              const ReadContext& context) {
  Walker walker(pickle, context, path);
  Status walked = walker.Walk();
  if (!walked) return std::move(walked).error();
  return walker.TakeText() + "\n";
}

}  // namespace ctxfs::torch

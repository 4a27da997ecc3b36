// SPDX-License-Identifier: Apache-2.0
//
// Names and calls in the value of a pickle. Calls with a meaning
// (docs/formats/torch.md, section 5) become the value that Python would create;
// all others are opaque.
#include <array>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/formats/torch/names.h"
#include "core/formats/torch/value_walk.h"

namespace ctxfs::torch {
namespace {

using Kind = Node::Kind;

bool IsEmpty(const Pickle& pickle, const Object& object) {
  return pickle.at(object.args).first == kNoNode && object.kwargs == kNoNode &&
         object.state == kNoNode && object.items.first == kNoNode &&
         object.entries.first == kNoNode;
}

/// Whether a call makes a parameter from a quantised, sparse or meta tensor.
bool WrapsSpecialTensor(const Pickle& pickle, std::string_view name,
                        NodeId wrapped) {
  if (!name.starts_with("torch._utils._rebuild_parameter") ||
      !IsKnownName(name)) {
    return false;
  }
  const std::string_view inner = UtilsName(CalleeName(pickle, wrapped));
  return inner == "_rebuild_qtensor" || inner == "_rebuild_sparse_tensor" ||
         inner == "_rebuild_meta_tensor_no_storage";
}

/// Converts UTF-8 to Latin-1. Returns false if a character is not in Latin-1.
bool EncodeLatin1(std::string_view text, std::string& bytes) {
  bytes.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) {
      bytes += text[i];
    } else if ((first == 0xC2 || first == 0xC3) && i + 1 < text.size()) {
      const auto second = static_cast<unsigned char>(text[++i]);
      bytes += static_cast<char>((first & 3U) << 6 | (second & 0x3FU));
    } else {
      return false;
    }
  }
  return true;
}

/// Returns the bytes, in `scratch`, for the arguments (text, "latin1"); nullopt
/// for other arguments, or if memory is refused.
std::optional<std::string_view> EncodedText(const Pickle& pickle, NodeId call,
                                            WalkBudget& budget,
                                            std::string& scratch) {
  const NodeId text = Argument(pickle, call, 0);
  const NodeId codec = Argument(pickle, call, 1);
  if (!pickle.Is(text, Kind::kText) ||
      (!pickle.IsText(codec, "latin1") && !pickle.IsText(codec, "latin-1"))) {
    return std::nullopt;
  }
  budget.ChargeText(pickle.Text(text).size());
  if (!HeapAllowance::Admit(pickle.Text(text).size())) return std::nullopt;
  scratch.reserve(pickle.Text(text).size());
  if (!EncodeLatin1(pickle.Text(text), scratch)) return std::nullopt;
  return scratch;
}

/// Returns the bytes of a call of builtins.bytearray or _codecs.encode, which
/// protocol 2 uses to write bytes; nullopt for unsupported arguments. May point
/// into `scratch`.
std::optional<std::string_view> BytesOfCall(const Pickle& pickle, NodeId call,
                                            WalkBudget& budget,
                                            std::string& scratch) {
  if (CalleeName(pickle, call) == "_codecs.encode") {
    return EncodedText(pickle, call, budget, scratch);
  }
  const NodeId content = Argument(pickle, call, 0);
  if (content == kNoNode) return "";
  if (pickle.Is(content, Kind::kBytes)) return pickle.Text(content);
  const bool encoded = CalleeName(pickle, content) == "_codecs.encode";
  return EncodedText(pickle, encoded ? content : call, budget, scratch);
}

}  // namespace

void ValueWalk::Global(NodeId node) {
  const std::string_view name = pickle_.Text(node);
  if (const std::optional<TypeInfo> type = TorchType(name)) {
    return PutNamed("$dtype", "torch." + std::string(type->name));
  }
  if (LooksLikeTorchType(name)) return PutNamed("$dtype", name);
  if (StorageType(name)) {
    return PutNamed("$storage_type", name.substr(name.rfind('.') + 1));
  }
  if (name.starts_with("torch.per_")) return PutNamed("$qscheme", name);
  PutNamed("$opaque", name);
}

void ValueWalk::Persistent(NodeId node, PlaceId place, unsigned depth) {
  if (const std::optional<StorageId> storage = AsStorage(pickle_, node)) {
    return Storage(*storage);
  }
  const std::string_view name = GlobalName(pickle_, node);
  if (!name.empty()) return PutNamed("$opaque", name);
  if (Met(node, place)) return;
  text_.BeginObject();
  text_.Member("$opaque", "persistent_id");
  text_.Key("args");
  Value(pickle_.at(node).first, places_.AtWord(place, Word::kArgs), depth + 1);
  text_.EndObject();
}

void ValueWalk::Call(NodeId node, PlaceId place, unsigned depth) {
  // Looks for a reference first, because classifying a call can visit all
  // values in it.
  if (PutReference(node)) return;
  if (const std::optional<TensorId> tensor = AsTensor(pickle_, node)) {
    return TensorObject(*tensor, place);
  }
  if (const std::optional<QuantisedId> one = AsQuantised(pickle_, node)) {
    return Quantised(*one, place, depth);
  }
  if (const std::optional<SparseId> sparse = AsSparse(pickle_, node)) {
    return Sparse(*sparse, place);
  }
  if (const std::optional<MetaId> meta = AsMeta(pickle_, node)) {
    return Meta(*meta);
  }
  const CallSite call{.node = node,
                      .place = place,
                      .depth = depth,
                      .name = CalleeName(pickle_, node),
                      .object = pickle_.ObjectAt(node),
                      .first = Argument(pickle_, node, 0),
                      .second = Argument(pickle_, node, 1)};
  if (!KnownCall(call)) Opaque(call);
}

bool ValueWalk::KnownCall(const CallSite& call) {
  if (WrapsSpecialTensor(pickle_, call.name, call.first)) {
    return FirstArgument(call);
  }
  const Object& object = call.object;
  if (object.items.first != kNoNode || object.kwargs != kNoNode) return false;
  if (call.name == "collections.OrderedDict" ||
      call.name == "collections.Counter") {
    return OrderedDict(call);
  }
  if (object.entries.first != kNoNode || object.state != kNoNode) return false;
  return PlainCall(call);
}

/// Writes a call with only positional arguments.
bool ValueWalk::PlainCall(const CallSite& call) {
  using Method = bool (ValueWalk::*)(const CallSite&);
  static constexpr auto kMethods =
      std::to_array<std::pair<std::string_view, Method>>({
          {"_codecs.encode", &ValueWalk::BytesCall},
          {"builtins.bytearray", &ValueWalk::BytesCall},
          {"builtins.complex", &ValueWalk::Complex},
          {"builtins.frozenset", &ValueWalk::SetCall},
          {"builtins.set", &ValueWalk::SetCall},
          {"torch.Size", &ValueWalk::Size},
          {"torch.device", &ValueWalk::Device},
          {"torch.serialization._get_layout", &ValueWalk::Layout},
      });
  if (call.name.starts_with("torch.jit._pickle.") && IsKnownName(call.name)) {
    return FirstArgument(call);
  }
  for (const auto& [name, method] : kMethods) {
    if (call.name == name) return (this->*method)(call);
  }
  return false;
}

bool ValueWalk::FirstArgument(const CallSite& call) {
  if (call.first == kNoNode) return false;
  Value(call.first, call.place, call.depth + 1);
  return true;
}

bool ValueWalk::OrderedDict(const CallSite& call) {
  const NodeId content = call.first;
  std::vector<Entry> entries;
  if (call.second != kNoNode) return false;
  if (pickle_.IsSequence(content)) {
    if (!AddPairs(pickle_, content, budget_, entries)) return false;
    if (budget_.exhausted()) {
      FailExhausted();
      return true;
    }
  } else if (pickle_.Is(content, Kind::kDict)) {
    AddEntries(pickle_, pickle_.at(content).first, entries);
  } else if (content != kNoNode) {
    return false;
  }
  AddEntries(pickle_, call.object.entries.first, entries);
  budget_.Charge(entries.size());
  if (!entries.empty() || call.object.state != kNoNode) {
    seen_[call.node] = call.place;
  }
  Dict(std::move(entries), call.object.state, call.place, call.depth);
  return true;
}

bool ValueWalk::BytesCall(const CallSite& call) {
  std::string scratch;
  const std::optional<std::string_view> bytes =
      BytesOfCall(pickle_, call.node, budget_, scratch);
  if (bytes) PutBytes(*bytes);
  return bytes.has_value();
}

bool ValueWalk::SetCall(const CallSite& call) {
  const NodeId content = call.first;
  uint32_t link = kNoNode;
  if (content != kNoNode) {
    if (!pickle_.IsSequence(content) && !pickle_.Is(content, Kind::kSet)) {
      return false;
    }
    link = pickle_.at(content).first;
  }
  if (link != kNoNode) seen_[call.node] = call.place;
  Set(link, call.place, call.depth);
  return true;
}

bool ValueWalk::Complex(const CallSite& call) {
  if (!pickle_.Is(call.first, Kind::kFloat) ||
      !pickle_.Is(call.second, Kind::kFloat)) {
    return false;
  }
  text_.BeginObject();
  text_.Key("$complex");
  text_.BeginArray();
  Value(call.first, call.place, call.depth + 1);
  Value(call.second, call.place, call.depth + 1);
  text_.EndArray();
  text_.EndObject();
  return true;
}

bool ValueWalk::Size(const CallSite& call) {
  const std::optional<std::vector<int64_t>> size =
      AsIntegers(pickle_, call.first);
  if (size) PutIntegers(*size);
  return size.has_value();
}

bool ValueWalk::Layout(const CallSite& call) {
  if (!pickle_.Is(call.first, Kind::kText)) return false;
  PutNamed("$layout", pickle_.Text(call.first));
  return true;
}

bool ValueWalk::Device(const CallSite& call) {
  if (!pickle_.Is(call.first, Kind::kText)) return false;
  const std::string_view text = pickle_.Text(call.first);
  budget_.ChargeText(text.size());
  std::string number;
  if (call.second != kNoNode) {
    const std::optional<int64_t> index = AsInteger(pickle_, call.second);
    if (!index) return false;
    number = ":" + std::to_string(*index);
  }
  const size_t size = text.size() + number.size();
  if (!text_.HasRoom(size) || !MayTake(size)) return true;
  std::string device;
  device.reserve(size);
  device.append(text).append(number);
  PutNamed("$device", device);
  return true;
}

void ValueWalk::Opaque(const CallSite& call) {
  const auto& [node, place, depth, name, object, first, second] = call;
  if (!IsEmpty(pickle_, object)) seen_[node] = place;
  text_.BeginObject();
  text_.Member("$opaque", name);
  const auto put = [&](const char* key, NodeId value, PlaceId at) {
    text_.Key(key);
    Value(value, at, call.depth + 1);
  };
  if (name.empty()) {
    put("callable", object.callable, places_.AtWord(place, Word::kCallable));
  }
  if (pickle_.at(object.args).first != kNoNode) {
    put("args", object.args, places_.AtWord(place, Word::kArgs));
  }
  if (object.kwargs != kNoNode) {
    put("kwargs", object.kwargs, places_.AtWord(place, Word::kKwargs));
  }
  if (object.state != kNoNode) put("state", object.state, place);
  if (object.items.first != kNoNode) {
    text_.Key("items");
    Array(object.items.first, place, depth + 1);
  }
  if (object.entries.first != kNoNode) {
    std::vector<Entry> entries;
    AddEntries(pickle_, object.entries.first, entries);
    (void)MergeEqualKeys(pickle_, budget_, entries);
    text_.Key("entries");
    if (MayTake()) Pairs(entries, place, depth + 1);
  }
  text_.EndObject();
}

}  // namespace ctxfs::torch

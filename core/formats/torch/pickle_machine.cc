// SPDX-License-Identifier: Apache-2.0
#include "core/formats/torch/pickle_machine.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/text/text.h"
#include "core/formats/torch/limits.h"
#include "core/formats/torch/names.h"

namespace ctxfs::torch {

NodeId PickleMachine::Add(Node node) {
  if (pickle_.nodes_.size() >= kMaxNodes) {
    Fail(fmt::format("more than {} values", kMaxNodes), Code::kLimit);
    return 0;
  }
  if (!MayGrow(pickle_.nodes_)) return 0;
  pickle_.nodes_.push_back(node);
  return static_cast<NodeId>(pickle_.nodes_.size() - 1);
}

void PickleMachine::PushNode(NodeId node) {
  if (stack_.size() >= kMaxNodes) {
    return Fail("the stack is over the limit", Code::kLimit);
  }
  if (MayGrow(stack_)) stack_.push_back(node);
}

NodeId PickleMachine::Top() {
  if (stack_.empty() || stack_.back() == kMark) {
    Fail("an opcode needs a value, and the stack has none");
    return kNoNode;
  }
  return stack_.back();
}

NodeId PickleMachine::Pop() {
  const NodeId top = Top();
  if (!failed()) stack_.pop_back();
  return top;
}

void PickleMachine::Drop() {
  if (stack_.empty()) return Fail("POP of an empty stack");
  stack_.pop_back();
}

size_t PickleMachine::AfterMark() {
  const auto mark = std::find(stack_.rbegin(), stack_.rend(), kMark);
  if (mark == stack_.rend()) {
    Fail("an opcode needs a mark, and the stack has none");
    return stack_.size();
  }
  return static_cast<size_t>(stack_.rend() - mark);
}

bool PickleMachine::HasMarkFrom(size_t start) const {
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(start);
  return std::find(first, stack_.end(), kMark) != stack_.end();
}

void PickleMachine::DropToMark() {
  const size_t start = AfterMark();
  if (!failed()) stack_.resize(start - 1);
}

void PickleMachine::PushFloat(uint64_t big_endian_bits) {
  const uint64_t bits = __builtin_bswap64(big_endian_bits);
  Push(Kind::kFloat, static_cast<int64_t>(bits));
}

void PickleMachine::PushText(Kind kind) {
  if (failed()) return;
  const size_t size = pickle_.texts_.size() - text_at_;
  PushNode(Add({.kind = kind,
                .first = static_cast<uint32_t>(text_at_),
                .last = static_cast<uint32_t>(size)}));
}

void PickleMachine::PushLong() {
  std::string& texts = pickle_.texts_;
  const auto byte = [&texts](size_t at) {
    return static_cast<unsigned char>(texts[at]);
  };
  // Drops redundant sign bytes, which writers usually omit.
  while (texts.size() - text_at_ > 1) {
    const size_t last = texts.size() - 1;
    const unsigned sign = (byte(last - 1) & 0x80U) != 0 ? 0xFF : 0;
    if (byte(last) != sign) break;
    texts.pop_back();
  }
  const size_t size = texts.size() - text_at_;
  if (size > sizeof(int64_t)) return PushText(Kind::kBigInt);
  const bool negative = size > 0 && (byte(texts.size() - 1) & 0x80U) != 0;
  uint64_t value = negative ? UINT64_MAX : 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | byte(text_at_ + i);
  texts.resize(text_at_);
  Push(Kind::kInt, static_cast<int64_t>(value));
}

void PickleMachine::PushPython2Text() {
  const auto text = std::string_view(pickle_.texts_).substr(text_at_);
  PushText(IsUtf8(text) ? Kind::kText : Kind::kBytes);
}

void PickleMachine::Memorize(uint64_t key) {
  const NodeId top = Top();
  if (failed()) return;
  if (Status may = memo_.AdmitPut(key); !may) {
    return FailWith(std::move(may).error());
  }
  const bool full = memo_.size() >= kMaxNodes && !memo_.IsNear(key);
  if (full || !memo_.Put(key, top, kMaxNodes)) {
    Fail("the memo is over the limit", Code::kLimit);
  }
}

void PickleMachine::Recall(uint64_t key) {
  if (failed()) return;
  if (const std::optional<NodeId> value = memo_.Get(key)) {
    return PushNode(*value);
  }
  Fail(fmt::format("memo key {} is not set", key));
}

void PickleMachine::Link(NodeId node, uint32_t& first, uint32_t& last) {
  if (failed()) return;
  if (pickle_.links_.size() >= kMaxNodes) {
    return Fail(fmt::format("more than {} elements", kMaxNodes), Code::kLimit);
  }
  if (!MayGrow(pickle_.links_)) return;
  const auto link = static_cast<uint32_t>(pickle_.links_.size());
  pickle_.links_.push_back({node, kNoNode});
  if (last == kNoNode) {
    first = link;
  } else {
    pickle_.links_[last].next = link;
  }
  last = link;
}

void PickleMachine::LinkFrom(size_t start, NodeId to, Kind kind) {
  Node& node = pickle_.nodes_[to];
  uint32_t* first = &node.first;
  uint32_t* last = &node.last;
  if (node.kind == Kind::kObject) {
    Object& object = pickle_.objects_[static_cast<size_t>(node.number)];
    auto& links = kind == Kind::kDict ? object.entries : object.items;
    first = &links.first;
    last = &links.second;
  }
  for (size_t i = start; i < stack_.size() && !failed(); ++i) {
    Link(stack_[i], *first, *last);
  }
}

void PickleMachine::MakeFrom(size_t start, size_t to, Kind kind) {
  const NodeId made = Add({.kind = kind});
  if (failed()) return;
  LinkFrom(start, made, kind);
  stack_.resize(to);
  PushNode(made);
}

void PickleMachine::MakeTuple(size_t count) {
  const size_t size = stack_.size();
  if (count > size || HasMarkFrom(size - count)) {
    return Fail("a tuple needs more values than the stack has");
  }
  MakeFrom(size - count, size - count, Kind::kTuple);
}

void PickleMachine::MakeFromMark(Kind kind) {
  const size_t start = AfterMark();
  if (!failed()) MakeFrom(start, start - 1, kind);
}

void PickleMachine::Append(size_t count, Kind kind) {
  if (stack_.size() <= count) return Fail("too few values on the stack");
  const size_t start = stack_.size() - count;
  AppendFrom(start, start - 1, kind);
}

void PickleMachine::AppendFromMark(Kind kind) {
  const size_t start = AfterMark();
  if (failed()) return;
  if (start < 2) return Fail("too few values on the stack");
  AppendFrom(start, start - 2, kind);
}

void PickleMachine::AppendFrom(size_t start, size_t to, Kind kind) {
  if (HasMarkFrom(start) || stack_[to] == kMark) {
    return Fail("too few values on the stack");
  }
  const NodeId target = stack_[to];
  if (!pickle_.Is(target, kind) && !pickle_.Is(target, Kind::kObject)) {
    return Fail("elements are added to a value that is not a container");
  }
  if (kind == Kind::kDict && (stack_.size() - start) % 2 != 0) {
    return Fail("a key has no value");
  }
  LinkFrom(start, target, kind);
  stack_.resize(to + 1);
}

void PickleMachine::PushGlobal(std::string_view module, std::string_view name) {
  if (failed()) return;
  // A copy, because `module` and `name` may point into texts_, which grows.
  const std::string text = NameOfGlobal(module, name);
  // Counts repeated names, too: a STACK_GLOBAL takes 1 byte, and can repeat
  // names of 64 KiB.
  name_bytes_ += text.size();
  if (name_bytes_ > kMaxNamesBytes) {
    return Fail("the names are over the limit", Code::kLimit);
  }
  AddText(text);
  PushText(Kind::kGlobal);
}

void PickleMachine::PushStackGlobal() {
  const NodeId name = Pop();
  const NodeId module = Pop();
  if (failed()) return;
  if (!pickle_.Is(name, Kind::kText) || !pickle_.Is(module, Kind::kText)) {
    return Fail("a name is not text");
  }
  if (pickle_.Text(name).size() > kMaxNameBytes ||
      pickle_.Text(module).size() > kMaxNameBytes) {
    return Fail("a name is too long");
  }
  PushGlobal(pickle_.Text(module), pickle_.Text(name));
}

void PickleMachine::PushPersistent() {
  const NodeId id = Pop();
  if (!failed()) PushNode(Add({.kind = Kind::kPersistent, .first = id}));
}

void PickleMachine::Call(bool with_keywords) {
  Object object;
  if (with_keywords) object.kwargs = Pop();
  object.args = Pop();
  object.callable = Pop();
  if (failed()) return;
  if (!pickle_.Is(object.args, Kind::kTuple) ||
      (with_keywords && !pickle_.Is(object.kwargs, Kind::kDict))) {
    return Fail("the arguments of a call are not a tuple");
  }
  if (!MayGrow(pickle_.objects_)) return;
  pickle_.objects_.push_back(object);
  Push(Kind::kObject, static_cast<int64_t>(pickle_.objects_.size() - 1));
}

void PickleMachine::Build() {
  const NodeId state = Pop();
  const NodeId to = Top();
  if (failed()) return;
  if (!pickle_.Is(to, Kind::kObject)) {
    return Fail("BUILD of a value that can have no state");
  }
  const auto number = static_cast<size_t>(pickle_.at(to).number);
  pickle_.objects_[number].state = state;
}

}  // namespace ctxfs::torch

// SPDX-License-Identifier: Apache-2.0
//
// Maps the opcodes that ReadPickle supports (docs/formats/torch.md, section 4)
// to operations of PickleMachine.
#include "core/formats/torch/pickle.h"

#include <fmt/core.h>

#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "core/formats/torch/limits.h"
#include "core/formats/torch/pickle_machine.h"

namespace ctxfs::torch {

NodeId Pickle::Child(NodeId node, uint32_t index) const {
  uint32_t link = nodes_[node].first;
  while (link != kNoNode && index-- > 0) link = links_[link].next;
  return link == kNoNode ? kNoNode : links_[link].node;
}

void PickleMachine::Begin(uint8_t code) {
  code_ = code;
  text_at_ = pickle_.texts_.size();
  if (kRuns[code] == nullptr) {
    Fail(fmt::format("opcode 0x{:02x} is not supported", code));
  }
}

bool PickleMachine::Keeps(uint64_t size) {
  const bool integer = code_ == 0x8A || code_ == 0x8B;
  if (integer && size > kMaxIntegerBytes) {
    Fail(fmt::format("an integer of {} bytes is over the limit", size));
  }
  if (code_ == 'c' && size > kMaxNameBytes) Fail("a name is too long");
  return !failed();
}

void PickleMachine::CutOff(bool at_limit) {
  if (!at_limit) return Fail("the pickle is cut off");
  Fail(fmt::format("the pickle is over the limit of {} bytes", kMaxPickleBytes),
       Code::kLimit);
}

void PickleMachine::CheckProtocol(uint64_t protocol) {
  if (protocol >= 2 && protocol <= 5) return;
  Fail(fmt::format("protocol {} is not 2 to 5", protocol));
}

void PickleMachine::End() {
  pickle_.root_ = Pop();
  Stop();
}

namespace {

constexpr std::array<PickleMachine::Run, 256> ByCode(
    std::initializer_list<PickleMachine::Operation> operations) {
  std::array<PickleMachine::Run, 256> all{};
  for (const auto& [codes, run] : operations) {
    for (const char code : codes) all[static_cast<unsigned char>(code)] = run;
  }
  return all;
}

}  // namespace

// The supported opcodes, with their names in Python's pickletools.
constexpr std::array<PickleMachine::Run, 256> PickleMachine::kRuns = ByCode({
    // PROTO; FRAME (its size is not needed to read a whole file); STOP
    {"\x80", [](M& m, const Operand& o) { m.CheckProtocol(o.number); }},
    {"\x95", [](M&, const Operand&) {}},
    {".", [](M& m, const Operand&) { m.End(); }},
    // NONE, NEWTRUE, NEWFALSE, BININT; BININT1, BININT2
    {"N", [](M& m, const Operand&) { m.Push(Kind::kNone); }},
    {"\x88", [](M& m, const Operand&) { m.Push(Kind::kBool, 1); }},
    {"\x89", [](M& m, const Operand&) { m.Push(Kind::kBool, 0); }},
    {"J",
     [](M& m, const Operand& o) { m.PushInt(static_cast<int32_t>(o.number)); }},
    {"KM",
     [](M& m, const Operand& o) { m.PushInt(static_cast<int64_t>(o.number)); }},
    // LONG1, LONG4; BINFLOAT, the only big-endian number
    {"\x8A\x8B", [](M& m, const Operand&) { m.PushLong(); }},
    {"G", [](M& m, const Operand& o) { m.PushFloat(o.number); }},
    // SHORT_BINUNICODE, BINUNICODE, BINUNICODE8
    {"\x8CX\x8D", [](M& m, const Operand&) { m.PushText(Kind::kText); }},
    // SHORT_BINSTRING, BINSTRING: str of Python 2
    {"UT", [](M& m, const Operand&) { m.PushPython2Text(); }},
    // SHORT_BINBYTES, BINBYTES, BINBYTES8, BYTEARRAY8
    {"CB\x8E\x96", [](M& m, const Operand&) { m.PushText(Kind::kBytes); }},
    // MARK, POP, POP_MARK, DUP
    {"(", [](M& m, const Operand&) { m.PushMark(); }},
    {"0", [](M& m, const Operand&) { m.Drop(); }},
    {"1", [](M& m, const Operand&) { m.DropToMark(); }},
    {"2", [](M& m, const Operand&) { m.PushAgain(); }},
    // BINPUT, LONG_BINPUT; MEMOIZE; BINGET, LONG_BINGET
    {"qr", [](M& m, const Operand& o) { m.Memorize(o.number); }},
    {"\x94", [](M& m, const Operand&) { m.MemorizeNext(); }},
    {"hj", [](M& m, const Operand& o) { m.Recall(o.number); }},
    // EMPTY_LIST, EMPTY_DICT, EMPTY_TUPLE, EMPTY_SET
    {"]", [](M& m, const Operand&) { m.Push(Kind::kList); }},
    {"}", [](M& m, const Operand&) { m.Push(Kind::kDict); }},
    {")", [](M& m, const Operand&) { m.Push(Kind::kTuple); }},
    {"\x8F", [](M& m, const Operand&) { m.Push(Kind::kSet); }},
    // TUPLE1, TUPLE2, TUPLE3, TUPLE, FROZENSET
    {"\x85", [](M& m, const Operand&) { m.MakeTuple(1); }},
    {"\x86", [](M& m, const Operand&) { m.MakeTuple(2); }},
    {"\x87", [](M& m, const Operand&) { m.MakeTuple(3); }},
    {"t", [](M& m, const Operand&) { m.MakeFromMark(Kind::kTuple); }},
    {"\x91", [](M& m, const Operand&) { m.MakeFromMark(Kind::kSet); }},
    // APPEND, APPENDS, SETITEM, SETITEMS, ADDITEMS
    {"a", [](M& m, const Operand&) { m.Append(1, Kind::kList); }},
    {"e", [](M& m, const Operand&) { m.AppendFromMark(Kind::kList); }},
    {"s", [](M& m, const Operand&) { m.Append(2, Kind::kDict); }},
    {"u", [](M& m, const Operand&) { m.AppendFromMark(Kind::kDict); }},
    {"\x90", [](M& m, const Operand&) { m.AppendFromMark(Kind::kSet); }},
    // GLOBAL, STACK_GLOBAL; REDUCE, NEWOBJ; NEWOBJ_EX; BUILD; BINPERSID
    {"c",
     [](M& m, const Operand& o) { m.PushGlobal(*o.text, *o.second_text); }},
    {"\x93", [](M& m, const Operand&) { m.PushStackGlobal(); }},
    {"R\x81", [](M& m, const Operand&) { m.Call(/*with_keywords=*/false); }},
    {"\x92", [](M& m, const Operand&) { m.Call(/*with_keywords=*/true); }},
    {"b", [](M& m, const Operand&) { m.Build(); }},
    {"Q", [](M& m, const Operand&) { m.PushPersistent(); }},
});

Result<Pickle> ReadPickle(const Content& content, uint64_t offset,
                          const ReadContext& context, uint64_t& end) {
  return PickleMachine(content, offset, context).ReadPickle(end);
}

}  // namespace ctxfs::torch

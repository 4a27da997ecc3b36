// SPDX-License-Identifier: Apache-2.0
//
// The opcodes that ReadPickle reads (docs/formats/torch.md, section 4), each of
// which is an operation of PickleMachine.
#include "core/formats/torch/pickle.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "core/formats/torch/limits.h"
#include "core/formats/torch/opcodes.h"
#include "core/formats/torch/pickle_input.h"
#include "core/formats/torch/pickle_machine.h"

namespace ctxfs::torch {

NodeId Pickle::Child(NodeId node, uint32_t index) const {
  uint32_t link = nodes_[node].first;
  while (link != kNoNode && index-- > 0) link = links_[link].next;
  return link == kNoNode ? kNoNode : links_[link].node;
}

namespace {

using Kind = Node::Kind;

class PickleReader {
 public:
  /// What opcodes do with the number that follows them, 0 if there is none.
  using Run = void (*)(PickleReader& reader, uint64_t number);
  struct Operation {
    std::string_view codes;
    Run run;
  };

  PickleReader(const Content& content, uint64_t offset,
               const ReadContext& context)
      : input_(content, offset, context), context_(context) {}

  Result<Pickle> Read(uint64_t& end);

 private:
  using R = PickleReader;
  static const std::array<Run, 256> kRuns;  // by code

  void Execute(uint8_t code);

  /// The next `size` bytes, at most PickleInput::kPiece; none after a fault.
  Bytes Take(uint64_t size);
  /// An unsigned little-endian number of 1 to 8 bytes; 0 after a fault.
  uint64_t Number(size_t size) { return LittleEndianNumber(Take(size)); }
  /// The text up to the next line feed.
  std::string Line();
  /// Adds `size` bytes to the machine's texts; returns where they start.
  size_t TakeText(uint64_t size);

  void CheckProtocol(uint64_t protocol);
  void Stop();
  void PushInt(int64_t value) { machine_.Push(Kind::kInt, value); }
  void PushLong(uint64_t size);
  void PushFloat(uint64_t big_endian_bits);
  void PushText(Kind kind, uint64_t size) {
    machine_.PushText(kind, TakeText(size));
  }
  void PushPython2Text(uint64_t size) {
    machine_.PushPython2Text(TakeText(size));
  }
  void PushGlobal();

  PickleInput input_;
  const ReadContext& context_;
  PickleMachine machine_;
  bool stopped_ = false;
};

Result<Pickle> PickleReader::Read(uint64_t& end) {
  for (uint32_t opcodes = 0; !stopped_; ++opcodes) {
    if (opcodes % kOpcodesPerCheck == 0) {
      CTXFS_TRY(context_.Check());
    }
    machine_.StartOpcode(input_.at());
    const auto opcode = static_cast<uint8_t>(Number(1));
    if (!machine_.failed()) Execute(opcode);
    if (machine_.failed()) return machine_.TakeError();
  }
  end = input_.at();
  return machine_.TakePickle();
}

void PickleReader::Execute(uint8_t code) {
  const Run run = kRuns[code];
  if (run == nullptr) {
    char hex[8];
    std::snprintf(hex, sizeof(hex), "0x%02x", code);
    return machine_.Fail(std::string("opcode ") + hex + " is not supported");
  }
  const size_t width = kOpcodes[code].width;
  const uint64_t number = width > 0 ? Number(width) : 0;
  if (!machine_.failed()) run(*this, number);
}

Bytes PickleReader::Take(uint64_t size) {
  if (machine_.failed()) return {};
  if (size > input_.remaining()) {
    if (input_.ends_at_limit()) {
      machine_.Fail(fmt::format("the pickle is over the limit of {} bytes",
                                kMaxPickleBytes),
                    Code::kLimit);
    } else {
      machine_.Fail("the pickle is cut off");
    }
    return {};
  }
  Result<Bytes> taken = input_.Take(size);
  if (taken) return *taken;
  machine_.FailWith(std::move(taken).error());
  return {};
}

std::string PickleReader::Line() {
  std::string line;
  while (line.size() <= kMaxNameBytes) {
    if (input_.remaining() == 0) (void)Take(1);  // fails
    if (machine_.failed()) return {};
    const Result<Bytes> next = input_.Peek();
    if (!next) {
      machine_.FailWith(next.error());
      return {};
    }
    const std::string_view text = AsText(*next);
    const size_t length = std::min(text.find('\n'), text.size());
    line += text.substr(0, length);
    const bool ends = length < text.size();
    input_.Skip(length + (ends ? 1 : 0));
    if (ends && line.size() <= kMaxNameBytes) return line;
  }
  machine_.Fail("a name is too long");
  return {};
}

size_t PickleReader::TakeText(uint64_t size) {
  const size_t start = machine_.text_size();
  // A size beyond the end is refused before memory is allocated for it.
  if (size > input_.remaining()) (void)Take(size);
  while (size > 0 && !machine_.failed()) {
    const uint64_t piece = std::min(size, PickleInput::kPiece);
    machine_.AddText(AsText(Take(piece)));
    size -= piece;
  }
  return start;
}

void PickleReader::CheckProtocol(uint64_t protocol) {
  if (protocol >= 2 && protocol <= 5) return;
  machine_.Fail(fmt::format("protocol {} is not 2 to 5", protocol));
}

void PickleReader::Stop() {
  stopped_ = true;
  machine_.Stop();
}

void PickleReader::PushLong(uint64_t size) {
  if (size > kMaxIntegerBytes) {
    return machine_.Fail(
        fmt::format("an integer of {} bytes is over the limit", size));
  }
  machine_.PushInteger(TakeText(size));
}

void PickleReader::PushFloat(uint64_t big_endian_bits) {
  const uint64_t bits = __builtin_bswap64(big_endian_bits);
  machine_.Push(Kind::kFloat, static_cast<int64_t>(bits));
}

void PickleReader::PushGlobal() {
  const std::string module = Line();
  const std::string name = Line();
  machine_.PushGlobal(module, name);
}

constexpr std::array<PickleReader::Run, 256> ByCode(
    std::initializer_list<PickleReader::Operation> operations) {
  std::array<PickleReader::Run, 256> all{};
  for (const auto& [codes, run] : operations) {
    for (const char code : codes) all[static_cast<unsigned char>(code)] = run;
  }
  return all;
}

// The opcodes that are read, with their names in Python's pickletools.
constexpr std::array<PickleReader::Run, 256> PickleReader::kRuns = ByCode({
    // PROTO; FRAME, whose size readers of a whole file do not need; STOP
    {"\x80", [](R& r, uint64_t n) { r.CheckProtocol(n); }},
    {"\x95", [](R&, uint64_t) {}},
    {".", [](R& r, uint64_t) { r.Stop(); }},
    // NONE, NEWTRUE, NEWFALSE, BININT; BININT1, BININT2
    {"N", [](R& r, uint64_t) { r.machine_.Push(Kind::kNone); }},
    {"\x88", [](R& r, uint64_t) { r.machine_.Push(Kind::kBool, 1); }},
    {"\x89", [](R& r, uint64_t) { r.machine_.Push(Kind::kBool, 0); }},
    {"J", [](R& r, uint64_t n) { r.PushInt(static_cast<int32_t>(n)); }},
    {"KM", [](R& r, uint64_t n) { r.PushInt(static_cast<int64_t>(n)); }},
    // LONG1, LONG4; BINFLOAT, the only number that is big-endian
    {"\x8A\x8B", [](R& r, uint64_t n) { r.PushLong(n); }},
    {"G", [](R& r, uint64_t n) { r.PushFloat(n); }},
    // SHORT_BINUNICODE, BINUNICODE, BINUNICODE8
    {"\x8CX\x8D", [](R& r, uint64_t n) { r.PushText(Kind::kText, n); }},
    // SHORT_BINSTRING, BINSTRING, of Python 2
    {"UT", [](R& r, uint64_t n) { r.PushPython2Text(n); }},
    // SHORT_BINBYTES, BINBYTES, BINBYTES8, BYTEARRAY8
    {"CB\x8E\x96", [](R& r, uint64_t n) { r.PushText(Kind::kBytes, n); }},
    // MARK, POP, POP_MARK, DUP
    {"(", [](R& r, uint64_t) { r.machine_.PushMark(); }},
    {"0", [](R& r, uint64_t) { r.machine_.Drop(); }},
    {"1", [](R& r, uint64_t) { r.machine_.DropToMark(); }},
    {"2", [](R& r, uint64_t) { r.machine_.PushAgain(); }},
    // BINPUT, LONG_BINPUT; MEMOIZE; BINGET, LONG_BINGET
    {"qr", [](R& r, uint64_t n) { r.machine_.Memorize(n); }},
    {"\x94", [](R& r, uint64_t) { r.machine_.MemorizeNext(); }},
    {"hj", [](R& r, uint64_t n) { r.machine_.Recall(n); }},
    // EMPTY_LIST, EMPTY_DICT, EMPTY_TUPLE, EMPTY_SET
    {"]", [](R& r, uint64_t) { r.machine_.Push(Kind::kList); }},
    {"}", [](R& r, uint64_t) { r.machine_.Push(Kind::kDict); }},
    {")", [](R& r, uint64_t) { r.machine_.Push(Kind::kTuple); }},
    {"\x8F", [](R& r, uint64_t) { r.machine_.Push(Kind::kSet); }},
    // TUPLE1, TUPLE2, TUPLE3, TUPLE, FROZENSET
    {"\x85", [](R& r, uint64_t) { r.machine_.MakeTuple(1); }},
    {"\x86", [](R& r, uint64_t) { r.machine_.MakeTuple(2); }},
    {"\x87", [](R& r, uint64_t) { r.machine_.MakeTuple(3); }},
    {"t", [](R& r, uint64_t) { r.machine_.MakeFromMark(Kind::kTuple); }},
    {"\x91", [](R& r, uint64_t) { r.machine_.MakeFromMark(Kind::kSet); }},
    // APPEND, APPENDS, SETITEM, SETITEMS, ADDITEMS
    {"a", [](R& r, uint64_t) { r.machine_.Append(1, Kind::kList); }},
    {"e", [](R& r, uint64_t) { r.machine_.AppendFromMark(Kind::kList); }},
    {"s", [](R& r, uint64_t) { r.machine_.Append(2, Kind::kDict); }},
    {"u", [](R& r, uint64_t) { r.machine_.AppendFromMark(Kind::kDict); }},
    {"\x90", [](R& r, uint64_t) { r.machine_.AppendFromMark(Kind::kSet); }},
    // GLOBAL, STACK_GLOBAL; REDUCE, NEWOBJ; NEWOBJ_EX; BUILD; BINPERSID
    {"c", [](R& r, uint64_t) { r.PushGlobal(); }},
    {"\x93", [](R& r, uint64_t) { r.machine_.PushStackGlobal(); }},
    {"R\x81", [](R& r, uint64_t) { r.machine_.Call(/*with_keywords=*/false); }},
    {"\x92", [](R& r, uint64_t) { r.machine_.Call(/*with_keywords=*/true); }},
    {"b", [](R& r, uint64_t) { r.machine_.Build(); }},
    {"Q", [](R& r, uint64_t) { r.machine_.PushPersistent(); }},
});

}  // namespace

Result<Pickle> ReadPickle(const Content& content, uint64_t offset,
                          const ReadContext& context, uint64_t& end) {
  return PickleReader(content, offset, context).Read(end);
}

}  // namespace ctxfs::torch

// SPDX-License-Identifier: Apache-2.0
#include "core/formats/torch/opcodes.h"

#include <array>
#include <string_view>

namespace ctxfs::torch {
namespace {

constexpr std::array<Opcode, 256> MakeOpcodes() {
  using O = Opcode::Operand;
  using E = Opcode::Effect;
  std::array<Opcode, 256> all{};
  const auto set = [&all](std::string_view codes, Opcode opcode) {
    for (const char code : codes)
      all[static_cast<unsigned char>(code)] = opcode;
  };
  set("(", {O::kNone, 0, 0, E::kMark});
  set(".", {O::kNone, 0, 0, E::kStop});
  set("2", {O::kNone, 0, 0, E::kAgain});
  // POP, APPEND, BUILD; SETITEM; POP_MARK, APPENDS, SETITEMS, ADDITEMS.
  set("0ab", {O::kNone, 0, 1, E::kNothing});
  set("s", {O::kNone, 0, 2, E::kNothing});
  set("1eu\x90", {O::kNone, 0, Opcode::kToMark, E::kNothing});
  // PROTO, FRAME, READONLY_BUFFER.
  set("\x80", {O::kFixed, 1, 0, E::kNothing});
  set("\x95", {O::kFixed, 8, 0, E::kNothing});
  set("\x98", {O::kNone, 0, 0, E::kNothing});
  // Plain values and empty containers; NEXT_BUFFER.
  set("N])}\x88\x89\x8F\x97", {O::kNone, 0, 0, E::kPush});
  set("FILP", {O::kLine, 0, 0, E::kPush});
  set("K", {O::kFixed, 1, 0, E::kPush});
  set("M", {O::kFixed, 2, 0, E::kPush});
  set("J", {O::kFixed, 4, 0, E::kPush});
  set("G", {O::kFixed, 8, 0, E::kPush});
  // LONG1, LONG4 and bytes.
  set("C\x8A", {O::kCounted, 1, 0, E::kPush});
  set("B\x8B", {O::kCounted, 4, 0, E::kPush});
  set("\x8E\x96", {O::kCounted, 8, 0, E::kPush});
  set("U\x8C", {O::kCounted, 1, 0, E::kPushText});
  set("TX", {O::kCounted, 4, 0, E::kPushText});
  set("\x8D", {O::kCounted, 8, 0, E::kPushText});
  set("S", {O::kLine, 0, 0, E::kPushQuoted});
  set("V", {O::kLine, 0, 0, E::kPushEscaped});
  // Containers and objects. TUPLE, LIST, DICT, FROZENSET and OBJ pop all values
  // above a mark; TUPLE1 and BINPERSID pop one value; TUPLE2, REDUCE and NEWOBJ
  // two; TUPLE3 and NEWOBJ_EX three.
  set("tldo\x91", {O::kNone, 0, Opcode::kToMark, E::kPush});
  set("\x85Q", {O::kNone, 0, 1, E::kPush});
  set("\x86R\x81", {O::kNone, 0, 2, E::kPush});
  set("\x87\x92", {O::kNone, 0, 3, E::kPush});
  set("q", {O::kFixed, 1, 0, E::kPut});
  set("r", {O::kFixed, 4, 0, E::kPut});
  set("p", {O::kLine, 0, 0, E::kPutLine});
  set("\x94", {O::kNone, 0, 0, E::kPutNext});
  set("h", {O::kFixed, 1, 0, E::kGet});
  set("j", {O::kFixed, 4, 0, E::kGet});
  set("g", {O::kLine, 0, 0, E::kGetLine});
  set("c", {O::kTwoLines, 0, 0, E::kGlobal});
  set("i", {O::kTwoLines, 0, Opcode::kToMark, E::kGlobal});
  set("\x93", {O::kNone, 0, 0, E::kStackGlobal});
  set("\x82", {O::kFixed, 1, 0, E::kExtension});
  set("\x83", {O::kFixed, 2, 0, E::kExtension});
  set("\x84", {O::kFixed, 4, 0, E::kExtension});
  return all;
}

}  // namespace

constinit const std::array<Opcode, 256> kOpcodes = MakeOpcodes();

}  // namespace ctxfs::torch

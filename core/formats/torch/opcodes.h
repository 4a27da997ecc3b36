// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace ctxfs::torch {

/// An opcode of pickle protocols 0 to 5: what follows it, and how it changes
/// the stack and the memo, as far as names depend on it (ScanGlobals).
/// ReadPickle takes the widths from here; the rest of what an opcode does is an
/// operation of PickleMachine.
struct Opcode {
  /// The argument of an opcode.
  enum class Operand : uint8_t {
    kUnknown,  // it is no opcode
    kNone,
    kFixed,    // a number of `width` bytes
    kCounted,  // a size of `width` bytes, and as many bytes
    kLine,
    kTwoLines,
  };

  /// The effect of an opcode, after it has popped its values.
  enum class Effect : uint8_t {
    kNothing,
    kPush,  // a value that is not text
    kPushText,
    kPushQuoted,   // a text with quotes and escapes, of protocol 0
    kPushEscaped,  // a text with \u escapes, of protocol 0
    kMark,
    kAgain,    // pushes the top value once more
    kPut,      // to the memo, at the operand's number
    kPutLine,  // at the number that is the operand's text
    kPutNext,
    kGet,
    kGetLine,
    kGlobal,
    kStackGlobal,
    kExtension,
    kStop,
  };

  static constexpr uint8_t kToMark = 0xFF;

  Operand operand = Operand::kUnknown;
  uint8_t width = 0;
  uint8_t pops = 0;  // values, or kToMark: the last mark and all above it
  Effect effect = Effect::kNothing;
};

extern const std::array<Opcode, 256> kOpcodes;  // by code

}  // namespace ctxfs::torch

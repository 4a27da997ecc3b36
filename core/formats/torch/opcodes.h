// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace ctxfs::torch {

/// An opcode of pickle protocols 0 to 5: the form of its operand, for
/// OpcodeReader, and its effect on stack and memo, as far as ScanGlobals needs
/// it. PickleMachine implements the full effect.
struct Opcode {
  enum class Operand : uint8_t {
    kUnknown,  // not an opcode
    kNone,
    kFixed,    // a number of `width` bytes
    kCounted,  // a size of `width` bytes, then as many bytes
    kLine,
    kTwoLines,
  };

  /// The effect of an opcode, after it has popped its values.
  enum class Effect : uint8_t {
    kNothing,
    kPush,  // pushes a value that is not text
    kPushText,
    kPushQuoted,   // a protocol 0 text with quotes and escapes
    kPushEscaped,  // a protocol 0 text with \u escapes
    kMark,
    kAgain,    // pushes the top value again
    kPut,      // to the memo; the operand is the key
    kPutLine,  // like kPut; the operand is text
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
  uint8_t pops = 0;  // values; kToMark: all down to the last mark, inclusive
  Effect effect = Effect::kNothing;
};

extern const std::array<Opcode, 256> kOpcodes;  // by code

}  // namespace ctxfs::torch

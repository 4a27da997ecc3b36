// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/formats/torch/memo.h"
#include "core/formats/torch/opcode_reader.h"
#include "core/formats/torch/pickle.h"

namespace ctxfs::torch {

/// The stack, the memo and the values of a pickle while it is read. Each
/// operation is that of an opcode of Python's pickle, except that a call is
/// not made but noted as an Object. After a failure operations change nothing
/// that is used.
class PickleMachine final : public OpcodeReader {
 public:
  /// What an opcode does with the operand that follows it.
  using Run = void (*)(PickleMachine& machine, const Operand& operand);
  struct Operation {
    std::string_view codes;
    Run run;
  };

  using OpcodeReader::OpcodeReader;

  /// Reads the pickle, and sets `end` to the byte after it.
  Result<Pickle> ReadPickle(uint64_t& end) {
    CTXFS_TRY(Read(end));
    return std::move(pickle_);
  }

 private:
  using Kind = Node::Kind;
  using M = PickleMachine;
  static const std::array<Run, 256> kRuns;  // by code

  void Begin(uint8_t code) override;
  bool Keeps(uint64_t size) override;
  void AddText(std::string_view piece) override {
    if (MayGrow(pickle_.texts_, piece.size())) pickle_.texts_ += piece;
  }
  void Apply(const Operand& operand) override { kRuns[code_](*this, operand); }
  void CutOff(bool at_limit) override;

  /// Fails at the opcode at hand.
  void Fail(std::string what, Code code = Code::kCorrupt) {
    FailWith({code, std::move(what), opcode_at()});
  }

  void CheckProtocol(uint64_t protocol);
  /// Takes the result from the stack.
  void End();

  // The stack.
  void Push(Kind kind, int64_t number = 0) {
    PushNode(Add({.kind = kind, .number = number}));
  }
  void PushMark() { PushNode(kMark); }
  void PushAgain() { PushNode(Top()); }  // DUP
  void Drop();                           // POP: of a mark, too
  void DropToMark();                     // POP_MARK

  // Numbers and texts: of the operand's bytes, which stand at text_at_.
  void PushInt(int64_t value) { Push(Kind::kInt, value); }
  void PushFloat(uint64_t big_endian_bits);
  void PushText(Kind kind);
  /// Pushes an integer of those bytes in two's complement.
  void PushLong();
  /// Pushes a str of Python 2: text if it is UTF-8, else bytes.
  void PushPython2Text();

  // The memo.
  void Memorize(uint64_t key);
  void MemorizeNext() { Memorize(memo_.size()); }
  void Recall(uint64_t key);

  // Containers.
  /// Replaces `count` values by a tuple of them.
  void MakeTuple(size_t count);
  /// Replaces the last mark and the values after it by a tuple or a set.
  void MakeFromMark(Kind kind);
  /// Adds the top `count` values to the value below them, which must be of
  /// `kind` or an Object: entries to one for a dict, else items.
  void Append(size_t count, Kind kind);
  /// Like Append, with the values after the last mark.
  void AppendFromMark(Kind kind);

  // Names and calls.
  void PushGlobal(std::string_view module, std::string_view name);
  void PushStackGlobal();
  void PushPersistent();
  void Call(bool with_keywords);
  void Build();

  static constexpr NodeId kMark = kNoNode;  // on the stack

  NodeId Add(Node node);
  void PushNode(NodeId node);
  /// The top value; fails if there is none or a mark.
  NodeId Top();
  NodeId Pop();
  /// The index of the first value after the last mark.
  size_t AfterMark();
  bool HasMarkFrom(size_t start) const;

  void Link(NodeId node, uint32_t& first, uint32_t& last);
  /// Adds the values of the stack from `start` on to the children of `to`, or
  /// to those that an Object has as a `kind`.
  void LinkFrom(size_t start, NodeId to, Kind kind);
  /// Replaces what is on the stack from `to` on by a value of `kind` with the
  /// values from `start` on.
  void MakeFrom(size_t start, size_t to, Kind kind);
  /// Adds the values from `start` on to value `to` of the stack, and drops what
  /// is above that.
  void AppendFrom(size_t start, size_t to, Kind kind);

  Pickle pickle_;
  std::vector<NodeId> stack_;
  Memo memo_;
  uint64_t name_bytes_ = 0;
  uint8_t code_ = 0;    // of the opcode at hand
  size_t text_at_ = 0;  // where the bytes of its operand start
};

}  // namespace ctxfs::torch

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

/// The stack, the memo and the values of a pickle while it is read. An
/// operation has the effect of the opcode in Python, but a call is recorded as
/// an Object and not executed. After a failure the pickle is discarded, so a
/// failing operation may leave it invalid.
class PickleMachine final : public OpcodeReader {
 public:
  /// Applies an opcode with its operand to a machine.
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

  /// Fails with the offset of the current opcode.
  void Fail(std::string what, Code code = Code::kCorrupt) {
    FailWith({code, std::move(what), opcode_at()});
  }

  void CheckProtocol(uint64_t protocol);
  /// Pops the result, and stops.
  void End();

  // Operations on the stack.
  void Push(Kind kind, int64_t number = 0) {
    PushNode(Add({.kind = kind, .number = number}));
  }
  void PushMark() { PushNode(kMark); }
  void PushAgain() { PushNode(Top()); }  // DUP
  void Drop();                           // POP: drops a value or a mark
  void DropToMark();                     // POP_MARK

  // Numbers and texts. The bytes of a counted operand are in the texts of
  // pickle_, from text_at_ to the end.
  void PushInt(int64_t value) { Push(Kind::kInt, value); }
  void PushFloat(uint64_t big_endian_bits);
  void PushText(Kind kind);
  /// Pushes the operand's bytes as a two's complement integer.
  void PushLong();
  /// Pushes a str of Python 2: as text if it is UTF-8, else as bytes.
  void PushPython2Text();

  // Operations on the memo.
  void Memorize(uint64_t key);
  void MemorizeNext() { Memorize(memo_.size()); }
  void Recall(uint64_t key);

  // Operations on containers.
  /// Replaces the top `count` values by a tuple of them.
  void MakeTuple(size_t count);
  /// Replaces the last mark and the values above it by a tuple or a set.
  void MakeFromMark(Kind kind);
  /// Moves the top `count` values into the value below them, which must be of
  /// `kind` or an Object. An Object receives entries if `kind` is kDict, else
  /// items.
  void Append(size_t count, Kind kind);
  /// Like Append, with the values above the last mark.
  void AppendFromMark(Kind kind);

  // Operations on names and calls.
  void PushGlobal(std::string_view module, std::string_view name);
  void PushStackGlobal();
  void PushPersistent();
  void Call(bool with_keywords);
  void Build();

  static constexpr NodeId kMark = kNoNode;  // on the stack

  NodeId Add(Node node);
  void PushNode(NodeId node);
  /// Returns the top value; fails if the stack is empty or its top is a mark.
  NodeId Top();
  NodeId Pop();
  /// Returns the stack index of the first value above the last mark.
  size_t AfterMark();
  bool HasMarkFrom(size_t start) const;

  void Link(NodeId node, uint32_t& first, uint32_t& last);
  /// Appends to the children of `to` all stack values from index `start` on.
  /// For an Object, appends to its entries if `kind` is kDict, else to its
  /// items.
  void LinkFrom(size_t start, NodeId to, Kind kind);
  /// Creates a value of `kind` with all stack values from index `start` on.
  /// Drops all values from index `to` on, and pushes the new value.
  void MakeFrom(size_t start, size_t to, Kind kind);
  /// Appends to the value at index `to` all stack values from index `start` on,
  /// and drops all values above `to`.
  void AppendFrom(size_t start, size_t to, Kind kind);

  Pickle pickle_;
  std::vector<NodeId> stack_;
  Memo memo_;
  uint64_t name_bytes_ = 0;
  uint8_t code_ = 0;    // the current opcode
  size_t text_at_ = 0;  // offset of its operand's bytes in pickle_.texts_
};

}  // namespace ctxfs::torch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/heap/heap_allowance.h"
#include "core/base/result.h"
#include "core/formats/torch/memo.h"
#include "core/formats/torch/pickle.h"

namespace ctxfs::torch {

/// The stack, the memo and the values of a pickle while it is read. Each
/// operation is that of an opcode of Python's pickle, except that a call is
/// not made but noted as an Object. The first fault stays: later operations
/// change nothing that is used.
class PickleMachine {
 public:
  using Kind = Node::Kind;

  /// Sets the offset that faults are reported at.
  void StartOpcode(uint64_t offset) { opcode_at_ = offset; }

  bool failed() const { return error_.has_value(); }
  void Fail(std::string what, Code code = Code::kCorrupt);
  /// Fails with an error of the input, which has an offset of its own.
  void FailWith(Error error);
  Error TakeError() { return *std::move(error_); }

  /// Takes the result from the stack; TakePickle returns it.
  void Stop() { pickle_.root_ = Pop(); }
  Pickle TakePickle() { return std::move(pickle_); }

  // The stack.
  void Push(Kind kind, int64_t number = 0) {
    PushNode(Add({.kind = kind, .number = number}));
  }
  void PushMark() { PushNode(kMark); }
  void PushAgain() { PushNode(Top()); }  // DUP
  void Drop();                           // POP: of a mark, too
  void DropToMark();                     // POP_MARK

  // Texts. Their bytes are added first, in pieces, and then pushed.
  size_t text_size() const { return pickle_.texts_.size(); }
  void AddText(std::string_view bytes) {
    if (MayGrow(pickle_.texts_, bytes.size())) pickle_.texts_ += bytes;
  }
  /// Pushes the bytes that were added from `start` on.
  void PushText(Kind kind, size_t start);
  /// Pushes an integer of those bytes in two's complement.
  void PushInteger(size_t start);
  /// Pushes a str of Python 2: text if it is UTF-8, else bytes.
  void PushPython2Text(size_t start);

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

 private:
  static constexpr NodeId kMark = kNoNode;  // on the stack

  /// Fails if there is no memory for `more` elements of `vector`.
  template <typename Vector>
  bool MayGrow(const Vector& vector, size_t more = 1) {
    Status may = AdmitGrowth(vector, more);
    if (!may) FailWith(std::move(may).error());
    return may.has_value();
  }
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
  uint64_t opcode_at_ = 0;
  std::optional<Error> error_;
};

}  // namespace ctxfs::torch

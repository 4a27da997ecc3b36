// SPDX-License-Identifier: Apache-2.0
//
// The opcodes of a pickle (docs/torch.md, section 4), each of which is an
// operation of PickleMachine.
#include "core/formats/torch/pickle.h"

#include <algorithm>
#include <utility>

#include "core/formats/torch/limits.h"
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

/// The opcodes that are read, with their names in Python's pickletools.
enum Opcode : uint8_t {
  kProto = 0x80,
  kFrame = 0x95,
  kStop = '.',

  kNone = 'N',
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kLong1 = 0x8A,
  kLong4 = 0x8B,
  kBinFloat = 'G',

  kShortBinUnicode = 0x8C,
  kBinUnicode = 'X',
  kBinUnicode8 = 0x8D,
  kShortBinString = 'U',  // of Python 2
  kBinString = 'T',
  kShortBinBytes = 'C',
  kBinBytes = 'B',
  kBinBytes8 = 0x8E,
  kByteArray8 = 0x96,

  kMark = '(',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kMemoize = 0x94,
  kBinGet = 'h',
  kLongBinGet = 'j',

  kEmptyList = ']',
  kEmptyDict = '}',
  kEmptyTuple = ')',
  kEmptySet = 0x8F,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kTuple = 't',
  kFrozenSet = 0x91,
  kAppend = 'a',
  kAppends = 'e',
  kSetItem = 's',
  kSetItems = 'u',
  kAddItems = 0x90,

  kGlobal = 'c',
  kStackGlobal = 0x93,
  kReduce = 'R',
  kNewObj = 0x81,
  kNewObjEx = 0x92,
  kBuild = 'b',
  kBinPersId = 'Q',
};

class PickleReader {
 public:
  PickleReader(const Content& content, uint64_t offset,
               const ReadContext& context)
      : input_(content, offset, context), context_(context) {}

  Result<Pickle> Read(uint64_t& end);

 private:
  /// The next `size` bytes, at most PickleInput::kPiece; none after a fault.
  Bytes Take(uint64_t size);
  /// An unsigned little-endian number of 1 to 8 bytes; 0 after a fault.
  uint64_t Number(size_t size);
  /// The text up to the next line feed.
  std::string Line();
  /// Adds `size` bytes to the machine's texts; returns where they start.
  size_t TakeText(uint64_t size);

  // Each passes an opcode that is not in its group to the next.
  void Execute(uint8_t opcode);
  void ExecuteText(uint8_t opcode);
  void ExecuteStack(uint8_t opcode);
  void ExecuteContainer(uint8_t opcode);
  void ExecuteObject(uint8_t opcode);

  void CheckProtocol();
  void PushInteger(uint64_t size);
  void PushFloat();
  void PushText(Kind kind, uint64_t size);
  void PushPython2Text(uint64_t size);
  void PushGlobal();

  PickleInput input_;
  const ReadContext& context_;
  PickleMachine machine_;
  bool stopped_ = false;
};

Result<Pickle> PickleReader::Read(uint64_t& end) {
  for (uint32_t opcodes = 0; !stopped_; ++opcodes) {
    if (opcodes % kOpcodesPerCheck == 0) {
      if (Status wanted = context_.Check(); !wanted) {
        return std::move(wanted).error();
      }
    }
    machine_.StartOpcode(input_.at());
    const auto opcode = static_cast<uint8_t>(Number(1));
    if (!machine_.failed()) Execute(opcode);
    if (machine_.failed()) return machine_.TakeError();
  }
  end = input_.at();
  return machine_.TakePickle();
}

Bytes PickleReader::Take(uint64_t size) {
  if (machine_.failed()) return {};
  if (size > input_.remaining()) {
    if (input_.ends_at_limit()) {
      machine_.Fail("the pickle is over the limit of " +
                        std::to_string(kMostPickleBytes) + " bytes",
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

uint64_t PickleReader::Number(size_t size) {
  uint64_t value = 0;
  const Bytes bytes = Take(size);
  for (size_t i = 0; i < bytes.size(); ++i) {
    value |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
  }
  return value;
}

std::string PickleReader::Line() {
  std::string line;
  while (!machine_.failed() && line.size() <= kMostNameBytes) {
    const char c = static_cast<char>(Number(1));
    if (c == '\n') return line;
    line += c;
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

void PickleReader::Execute(uint8_t opcode) {
  switch (opcode) {
    case kProto:
      return CheckProtocol();
    case kFrame:
      (void)Take(8);  // its size, which readers of a whole file do not need
      return;
    case kStop:
      stopped_ = true;
      return machine_.Stop();
    case kNone:
      return machine_.Push(Kind::kNone);
    case kNewTrue:
      return machine_.Push(Kind::kBool, 1);
    case kNewFalse:
      return machine_.Push(Kind::kBool, 0);
    case kBinInt:
      return machine_.Push(Kind::kInt, static_cast<int32_t>(Number(4)));
    case kBinInt1:
      return machine_.Push(Kind::kInt, static_cast<int64_t>(Number(1)));
    case kBinInt2:
      return machine_.Push(Kind::kInt, static_cast<int64_t>(Number(2)));
    case kLong1:
      return PushInteger(Number(1));
    case kLong4:
      return PushInteger(Number(4));
    case kBinFloat:
      return PushFloat();
    default:
      return ExecuteText(opcode);
  }
}

void PickleReader::CheckProtocol() {
  const uint64_t protocol = Number(1);
  if (protocol >= 2 && protocol <= 5) return;
  machine_.Fail("protocol " + std::to_string(protocol) + " is not 2 to 5");
}

void PickleReader::PushInteger(uint64_t size) {
  if (size > kMostIntegerBytes) {
    return machine_.Fail("an integer of " + std::to_string(size) +
                         " bytes is over the limit");
  }
  const size_t start = TakeText(size);
  machine_.PushInteger(start);
}

// Of all numbers of a pickle, floats alone are big-endian.
void PickleReader::PushFloat() {
  const uint64_t bits = __builtin_bswap64(Number(8));
  machine_.Push(Kind::kFloat, static_cast<int64_t>(bits));
}

void PickleReader::ExecuteText(uint8_t opcode) {
  switch (opcode) {
    case kShortBinUnicode:
      return PushText(Kind::kText, Number(1));
    case kBinUnicode:
      return PushText(Kind::kText, Number(4));
    case kBinUnicode8:
      return PushText(Kind::kText, Number(8));
    case kShortBinString:
      return PushPython2Text(Number(1));
    case kBinString:
      return PushPython2Text(Number(4));
    case kShortBinBytes:
      return PushText(Kind::kBytes, Number(1));
    case kBinBytes:
      return PushText(Kind::kBytes, Number(4));
    case kBinBytes8:
    case kByteArray8:
      return PushText(Kind::kBytes, Number(8));
    default:
      return ExecuteStack(opcode);
  }
}

void PickleReader::PushText(Kind kind, uint64_t size) {
  const size_t start = TakeText(size);
  machine_.PushText(kind, start);
}

void PickleReader::PushPython2Text(uint64_t size) {
  const size_t start = TakeText(size);
  machine_.PushPython2Text(start);
}

void PickleReader::ExecuteStack(uint8_t opcode) {
  switch (opcode) {
    case kMark:
      return machine_.PushMark();
    case kPop:
      return machine_.Drop();
    case kPopMark:
      return machine_.DropToMark();
    case kDup:
      return machine_.PushAgain();
    case kBinPut:
      return machine_.Memorize(Number(1));
    case kLongBinPut:
      return machine_.Memorize(Number(4));
    case kMemoize:
      return machine_.MemorizeNext();
    case kBinGet:
      return machine_.Recall(Number(1));
    case kLongBinGet:
      return machine_.Recall(Number(4));
    default:
      return ExecuteContainer(opcode);
  }
}

void PickleReader::ExecuteContainer(uint8_t opcode) {
  switch (opcode) {
    case kEmptyList:
      return machine_.Push(Kind::kList);
    case kEmptyDict:
      return machine_.Push(Kind::kDict);
    case kEmptyTuple:
      return machine_.Push(Kind::kTuple);
    case kEmptySet:
      return machine_.Push(Kind::kSet);
    case kTuple1:
      return machine_.MakeTuple(1);
    case kTuple2:
      return machine_.MakeTuple(2);
    case kTuple3:
      return machine_.MakeTuple(3);
    case kTuple:
      return machine_.MakeFromMark(Kind::kTuple);
    case kFrozenSet:
      return machine_.MakeFromMark(Kind::kSet);
    case kAppend:
      return machine_.Append(1, Kind::kList, &Object::items);
    case kAppends:
      return machine_.AppendFromMark(Kind::kList, &Object::items);
    case kSetItem:
      return machine_.Append(2, Kind::kDict, &Object::entries);
    case kSetItems:
      return machine_.AppendFromMark(Kind::kDict, &Object::entries);
    case kAddItems:
      return machine_.AppendFromMark(Kind::kSet, &Object::items);
    default:
      return ExecuteObject(opcode);
  }
}

void PickleReader::ExecuteObject(uint8_t opcode) {
  switch (opcode) {
    case kGlobal:
      return PushGlobal();
    case kStackGlobal:
      return machine_.PushStackGlobal();
    case kReduce:
    case kNewObj:
      return machine_.Call(/*with_keywords=*/false);
    case kNewObjEx:
      return machine_.Call(/*with_keywords=*/true);
    case kBuild:
      return machine_.Build();
    case kBinPersId:
      return machine_.PushPersistent();
    default:
      char hex[8];
      std::snprintf(hex, sizeof(hex), "0x%02x", opcode);
      machine_.Fail(std::string("opcode ") + hex + " is not supported");
  }
}

void PickleReader::PushGlobal() {
  const std::string module = Line();
  const std::string name = Line();
  machine_.PushGlobal(module, name);
}

}  // namespace

Result<Pickle> ReadPickle(const Content& content, uint64_t offset,
                          const ReadContext& context, uint64_t& end) {
  return PickleReader(content, offset, context).Read(end);
}

}  // namespace ctxfs::torch

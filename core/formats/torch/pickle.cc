// SPDX-License-Identifier: Apache-2.0
//
// A stack machine that reads pickles as data (docs/torch.md, section 4).
// Opcodes that would call something make an Object, which says what would be
// called.
#include "core/formats/torch/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/base/text.h"
#include "core/formats/torch/limits.h"

namespace ctxfs::torch {

using Kind = Node::Kind;

NodeId Pickle::Child(NodeId node, uint32_t index) const {
  uint32_t link = nodes_[node].first;
  while (link != kNoNode && index-- > 0) link = links_[link].next;
  return link == kNoNode ? kNoNode : links_[link].node;
}

namespace {

constexpr uint64_t kPiece = 256 * limits::kKiB;
constexpr uint32_t kOpsPerCheck = 16'384;
constexpr NodeId kMark = kNoNode;  // on the stack

/// Bytes of a content in order, read in pieces.
class Input {
 public:
  Input(const Content& content, uint64_t at, const ReadContext& context)
      : content_(content), at_(at), context_(context) {
    end_ = std::min(content.size(),
                    CheckedAdd(at, kMostPickleBytes).value_or(UINT64_MAX));
  }

  uint64_t at() const { return at_; }
  uint64_t remaining() const { return end_ - at_; }
  bool ends_at_limit() const { return end_ < content_.size(); }

  /// The next `size` bytes, at most kPiece, which must remain; valid until the
  /// next call.
  Result<Bytes> Take(uint64_t size) {
    if (at_ < start_ || !InBounds(at_ - start_, size, filled_)) {
      if (buffer_.size() == 0) buffer_ = Buffer(kPiece);
      start_ = at_;
      filled_ = std::min(kPiece, remaining());
      Status read = ReadInto(content_, at_,
                             buffer_.span().first(static_cast<size_t>(filled_)),
                             context_);
      if (!read) {
        filled_ = 0;
        return std::move(read).error();
      }
    }
    const Bytes taken = Bytes(buffer_.span())
                            .subspan(static_cast<size_t>(at_ - start_),
                                     static_cast<size_t>(size));
    at_ += size;
    return taken;
  }

 private:
  const Content& content_;
  uint64_t at_;
  uint64_t end_ = 0;
  const ReadContext& context_;
  Buffer buffer_;
  uint64_t start_ = 0;
  uint64_t filled_ = 0;
};

}  // namespace

/// The machine. Its first fault stops it for good.
class PickleReader {
 public:
  PickleReader(const Content& content, uint64_t offset,
               const ReadContext& context)
      : input_(content, offset, context), context_(context) {}

  Result<Pickle> Read(uint64_t& end) {
    for (uint32_t ops = 0; !stopped_; ++ops) {
      if (ops % kOpsPerCheck == 0) {
        if (Status wanted = context_.Check(); !wanted) {
          return std::move(wanted).error();
        }
      }
      op_at_ = input_.at();
      const uint8_t op = static_cast<uint8_t>(Number(1));
      if (!error_) Execute(op);
      if (error_) return *std::move(error_);
    }
    end = input_.at();
    return std::move(pickle_);
  }

 private:
  void Fail(std::string what, Code code = Code::kCorrupt) {
    if (!error_) error_ = Error{code, std::move(what), op_at_};
  }

  /// The next `size` bytes, at most kPiece; none after a fault.
  Bytes Take(uint64_t size) {
    if (error_) return {};
    if (size > input_.remaining()) {
      if (input_.ends_at_limit()) {
        Fail("the pickle is over the limit of " +
                 std::to_string(kMostPickleBytes) + " bytes",
             Code::kLimit);
      } else {
        Fail("the pickle is cut off");
      }
      return {};
    }
    Result<Bytes> taken = input_.Take(size);
    if (taken) return *taken;
    error_ = std::move(taken).error();
    return {};
  }

  /// An unsigned little-endian number of 1 to 8 bytes.
  uint64_t Number(size_t size) {
    uint64_t value = 0;
    const Bytes bytes = Take(size);
    for (size_t i = 0; i < bytes.size(); ++i) {
      value |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
    }
    return value;
  }

  /// Adds `size` bytes of input to the texts, and sets where they are.
  void TakeText(uint64_t size, Node& node) {
    if (error_) return;
    // Before anything is made for them.
    if (size > input_.remaining()) {
      (void)Take(size);
      return;
    }
    node.first = static_cast<uint32_t>(pickle_.texts_.size());
    node.last = static_cast<uint32_t>(size);
    while (size > 0 && !error_) {
      const uint64_t piece = std::min(size, kPiece);
      pickle_.texts_ += AsText(Take(piece));
      size -= piece;
    }
  }

  NodeId Add(Node node) {
    if (pickle_.nodes_.size() >= kMostNodes) {
      Fail("more than " + std::to_string(kMostNodes) + " values", Code::kLimit);
      return 0;
    }
    pickle_.nodes_.push_back(node);
    return static_cast<NodeId>(pickle_.nodes_.size() - 1);
  }
  NodeId Add(Kind kind, int64_t number = 0) {
    Node node;
    node.kind = kind;
    node.number = number;
    return Add(node);
  }

  void Push(NodeId node) {
    if (stack_.size() >= kMostNodes) {
      return Fail("the stack is over the limit", Code::kLimit);
    }
    stack_.push_back(node);
  }
  void PushNew(Kind kind, int64_t number = 0) { Push(Add(kind, number)); }

  NodeId Top() {
    if (stack_.empty() || stack_.back() == kMark) {
      Fail("an opcode needs a value, and the stack has none");
      return kNoNode;
    }
    return stack_.back();
  }
  NodeId Pop() {
    const NodeId top = Top();
    if (!error_) stack_.pop_back();
    return top;
  }
  /// Where the values after the last mark start.
  size_t AfterMark() {
    const auto mark = std::find(stack_.rbegin(), stack_.rend(), kMark);
    if (mark == stack_.rend()) {
      Fail("an opcode needs a mark, and the stack has none");
      return stack_.size();
    }
    return static_cast<size_t>(stack_.rend() - mark);
  }
  /// Drops the values from `start` on and the mark before them.
  void DropFrom(size_t start) {
    if (!error_) stack_.resize(start - 1);
  }

  bool Is(NodeId node, Kind kind) const {
    return node != kNoNode && pickle_.nodes_[node].kind == kind;
  }

  void Link(NodeId node, uint32_t& first, uint32_t& last) {
    if (error_) return;
    if (pickle_.links_.size() >= kMostNodes) {
      return Fail("more than " + std::to_string(kMostNodes) + " elements",
                  Code::kLimit);
    }
    const auto link = static_cast<uint32_t>(pickle_.links_.size());
    pickle_.links_.push_back({node, kNoNode});
    if (last == kNoNode) {
      first = link;
    } else {
      pickle_.links_[last].next = link;
    }
    last = link;
  }
  /// Adds the values of the stack from `start` on to a list of `to`: to its
  /// children, or to the items or entries of an object.
  void LinkFrom(size_t start, NodeId to,
                std::pair<uint32_t, uint32_t> Object::*list) {
    for (size_t i = start; i < stack_.size() && !error_; ++i) {
      Node& node = pickle_.nodes_[to];
      if (node.kind == Kind::kObject) {
        auto& links = pickle_.objects_[static_cast<size_t>(node.number)].*list;
        Link(stack_[i], links.first, links.second);
      } else {
        Link(stack_[i], node.first, node.last);
      }
    }
  }
  /// A new tuple of the values from `start` on.
  NodeId MakeSequence(Kind kind, size_t start) {
    const NodeId made = Add(kind);
    if (!error_) LinkFrom(start, made, &Object::items);
    return made;
  }

  void Execute(uint8_t op);
  bool ExecuteValue(uint8_t op);
  bool ExecuteText(uint8_t op);
  bool ExecuteMemo(uint8_t op);
  bool ExecuteContainer(uint8_t op);
  bool ExecuteObject(uint8_t op);

  void PushInteger(uint64_t size);
  void PushText(Kind kind, uint64_t size, bool python2 = false);
  void Tuple(size_t count);
  void Append(size_t start, Kind kind,
              std::pair<uint32_t, uint32_t> Object::*list, bool marked);
  void Global(std::string module, std::string_view name);
  std::string Line();
  void Call(bool keywords);
  void Build();
  void Memorize(uint64_t key);
  void Recall(uint64_t key);

  Input input_;
  const ReadContext& context_;
  Pickle pickle_;
  std::vector<NodeId> stack_;
  // Keys mostly count up: those that do are indices.
  std::vector<NodeId> memo_;
  std::unordered_map<uint32_t, NodeId> far_memo_;
  uint64_t name_bytes_ = 0;
  uint64_t op_at_ = 0;
  bool stopped_ = false;
  std::optional<Error> error_;
};

void PickleReader::Execute(uint8_t op) {
  if (ExecuteValue(op) || ExecuteText(op) || ExecuteMemo(op) ||
      ExecuteContainer(op) || ExecuteObject(op)) {
    return;
  }
  char hex[8];
  std::snprintf(hex, sizeof(hex), "0x%02x", op);
  Fail(std::string("opcode ") + hex + " is not read");
}

bool PickleReader::ExecuteValue(uint8_t op) {
  switch (op) {
    case 0x80:  // PROTO
      if (const uint64_t protocol = Number(1); protocol < 2 || protocol > 5) {
        Fail("protocol " + std::to_string(protocol) + " is not 2 to 5");
      }
      return true;
    case 0x95:  // FRAME
      (void)Take(8);
      return true;
    case '.':  // STOP
      pickle_.root_ = Pop();
      stopped_ = true;
      return true;
    case 'N':
      PushNew(Kind::kNone);
      return true;
    case 0x88:
    case 0x89:
      PushNew(Kind::kBool, op == 0x88 ? 1 : 0);
      return true;
    case 'J':
      PushNew(Kind::kInt, static_cast<int32_t>(Number(4)));
      return true;
    case 'K':
      PushNew(Kind::kInt, static_cast<int64_t>(Number(1)));
      return true;
    case 'M':
      PushNew(Kind::kInt, static_cast<int64_t>(Number(2)));
      return true;
    case 0x8A:
      PushInteger(Number(1));
      return true;
    case 0x8B:
      PushInteger(Number(4));
      return true;
    case 'G': {
      const uint64_t bits = Number(8);
      PushNew(Kind::kFloat, static_cast<int64_t>(__builtin_bswap64(bits)));
      return true;
    }
    default:
      return false;
  }
}

void PickleReader::PushInteger(uint64_t size) {
  if (size > kMostIntegerBytes) {
    return Fail("an integer of " + std::to_string(size) +
                " bytes is over the limit");
  }
  Node node;
  node.kind = Kind::kBigInt;
  if (size > 8) {
    TakeText(size, node);
    return Push(Add(node));
  }
  uint64_t value = Number(static_cast<size_t>(size));
  const bool negative = size > 0 && (value >> (8 * size - 1) & 1) != 0;
  if (negative && size < 8) value |= UINT64_MAX << (8 * size);
  PushNew(Kind::kInt, static_cast<int64_t>(value));
}

bool PickleReader::ExecuteText(uint8_t op) {
  switch (op) {
    case 'X':
      PushText(Kind::kText, Number(4));
      return true;
    case 0x8C:
      PushText(Kind::kText, Number(1));
      return true;
    case 0x8D:
      PushText(Kind::kText, Number(8));
      return true;
    case 'T':
      PushText(Kind::kText, Number(4), /*python2=*/true);
      return true;
    case 'U':
      PushText(Kind::kText, Number(1), /*python2=*/true);
      return true;
    case 'B':
      PushText(Kind::kBytes, Number(4));
      return true;
    case 'C':
      PushText(Kind::kBytes, Number(1));
      return true;
    case 0x8E:
    case 0x96:
      PushText(Kind::kBytes, Number(8));
      return true;
    default:
      return false;
  }
}

void PickleReader::PushText(Kind kind, uint64_t size, bool python2) {
  Node node;
  node.kind = kind;
  TakeText(size, node);
  if (error_) return;
  const NodeId text = Add(node);
  if (!error_ && python2 && !IsUtf8(pickle_.Text(text))) {
    pickle_.nodes_[text].kind = Kind::kBytes;
  }
  Push(text);
}

bool PickleReader::ExecuteMemo(uint8_t op) {
  switch (op) {
    case 'q':
      Memorize(Number(1));
      return true;
    case 'r':
      Memorize(Number(4));
      return true;
    case 0x94:
      Memorize(memo_.size() + far_memo_.size());
      return true;
    case 'h':
      Recall(Number(1));
      return true;
    case 'j':
      Recall(Number(4));
      return true;
    case '(':
      Push(kMark);
      return true;
    case '0':  // POP: of a mark, too
      if (stack_.empty()) {
        Fail("POP of an empty stack");
      } else {
        stack_.pop_back();
      }
      return true;
    case '1':  // POP_MARK
      DropFrom(AfterMark());
      return true;
    case '2':
      Push(Top());
      return true;
    default:
      return false;
  }
}

void PickleReader::Memorize(uint64_t key) {
  const NodeId top = Top();
  if (error_) return;
  if (key < memo_.size()) {
    memo_[static_cast<size_t>(key)] = top;
  } else if (memo_.size() + far_memo_.size() >= kMostNodes) {
    Fail("the memo is over the limit", Code::kLimit);
  } else if (key == memo_.size() &&
             !far_memo_.contains(static_cast<uint32_t>(key))) {
    memo_.push_back(top);
  } else {
    far_memo_[static_cast<uint32_t>(key)] = top;
  }
}

void PickleReader::Recall(uint64_t key) {
  if (error_) return;
  if (key < memo_.size()) return Push(memo_[static_cast<size_t>(key)]);
  const auto found = far_memo_.find(static_cast<uint32_t>(key));
  if (found == far_memo_.end()) {
    return Fail("memo key " + std::to_string(key) + " is not there");
  }
  Push(found->second);
}

bool PickleReader::ExecuteContainer(uint8_t op) {
  switch (op) {
    case ']':
      PushNew(Kind::kList);
      return true;
    case '}':
      PushNew(Kind::kDict);
      return true;
    case ')':
      PushNew(Kind::kTuple);
      return true;
    case 0x8F:
      PushNew(Kind::kSet);
      return true;
    case 0x85:
    case 0x86:
    case 0x87:
      Tuple(op - 0x84U);
      return true;
    case 't':
    case 0x91: {  // TUPLE, FROZENSET
      const size_t start = AfterMark();
      if (error_) return true;
      const NodeId made =
          MakeSequence(op == 't' ? Kind::kTuple : Kind::kSet, start);
      DropFrom(start);
      Push(made);
      return true;
    }
    case 'a':
      Append(1, Kind::kList, &Object::items, /*marked=*/false);
      return true;
    case 'e':
      Append(0, Kind::kList, &Object::items, /*marked=*/true);
      return true;
    case 's':
      Append(2, Kind::kDict, &Object::entries, /*marked=*/false);
      return true;
    case 'u':
      Append(0, Kind::kDict, &Object::entries, /*marked=*/true);
      return true;
    case 0x90:
      Append(0, Kind::kSet, &Object::items, /*marked=*/true);
      return true;
    default:
      return false;
  }
}

void PickleReader::Tuple(size_t count) {
  const size_t size = stack_.size();
  const bool there =
      count <= size &&
      std::find(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end(),
                kMark) == stack_.end();
  if (!there) return Fail("a tuple of values that are not on the stack");
  const NodeId made = MakeSequence(Kind::kTuple, size - count);
  stack_.resize(size - count);
  Push(made);
}

/// Adds `count` values, or those after the mark, to the one below them.
void PickleReader::Append(size_t count, Kind kind,
                          std::pair<uint32_t, uint32_t> Object::*list,
                          bool marked) {
  size_t start = marked ? AfterMark() : stack_.size();
  if (error_) return;
  if (!marked) {
    if (start < count) return Fail("too few values on the stack");
    start -= count;
  }
  const size_t below = marked ? start - 1 : start;
  const bool marks =
      std::find(stack_.begin() + static_cast<std::ptrdiff_t>(start),
                stack_.end(), kMark) != stack_.end();
  if (below == 0 || marks || stack_[below - 1] == kMark) {
    return Fail("too few values on the stack");
  }
  const NodeId to = stack_[below - 1];
  if (!Is(to, kind) && !Is(to, Kind::kObject)) {
    return Fail("elements are added to a value that has none");
  }
  if (kind == Kind::kDict && (stack_.size() - start) % 2 != 0) {
    return Fail("a key has no value");
  }
  LinkFrom(start, to, list);
  stack_.resize(below);
}

bool PickleReader::ExecuteObject(uint8_t op) {
  switch (op) {
    case 'c': {
      std::string module = Line();
      const std::string name = Line();
      Global(std::move(module), name);
      return true;
    }
    case 0x93: {  // STACK_GLOBAL
      const NodeId name = Pop();
      const NodeId module = Pop();
      if (error_) return true;
      if (!Is(name, Kind::kText) || !Is(module, Kind::kText)) {
        Fail("a name that is no text");
      } else if (pickle_.Text(name).size() > kMostNameBytes ||
                 pickle_.Text(module).size() > kMostNameBytes) {
        Fail("a name is too long");
      } else {
        const std::string text(pickle_.Text(name));
        Global(std::string(pickle_.Text(module)), text);
      }
      return true;
    }
    case 'R':
    case 0x81:
      Call(/*keywords=*/false);
      return true;
    case 0x92:
      Call(/*keywords=*/true);
      return true;
    case 'b':
      Build();
      return true;
    case 'Q': {
      const NodeId id = Pop();
      Node node;
      node.kind = Kind::kPersistent;
      node.first = id;
      if (!error_) Push(Add(node));
      return true;
    }
    default:
      return false;
  }
}

std::string PickleReader::Line() {
  std::string line;
  while (!error_ && line.size() <= kMostNameBytes) {
    const char c = static_cast<char>(Number(1));
    if (c == '\n') return line;
    line += c;
  }
  Fail("a name is too long");
  return {};
}

void PickleReader::Global(std::string module, std::string_view name) {
  if (error_) return;
  if (module == "__builtin__") module = "builtins";
  if (module == "torch.tensor") module = "torch._tensor";
  std::string text = std::move(module) + "." + std::string(name);
  // A few bytes of STACK_GLOBAL can repeat long texts.
  name_bytes_ += text.size();
  if (name_bytes_ > kMostNamesBytes) {
    return Fail("the names are over the limit", Code::kLimit);
  }
  Node node;
  node.kind = Kind::kGlobal;
  node.first = static_cast<uint32_t>(pickle_.texts_.size());
  node.last = static_cast<uint32_t>(text.size());
  pickle_.texts_ += text;
  if (pickle_.globals_.size() < kMostGlobals) {
    pickle_.globals_.insert(text.substr(0, kMostListedName));
  }
  Push(Add(node));
}

void PickleReader::Call(bool keywords) {
  Object object;
  if (keywords) object.kwargs = Pop();
  object.args = Pop();
  object.callable = Pop();
  if (error_) return;
  if (!Is(object.args, Kind::kTuple) ||
      (keywords && !Is(object.kwargs, Kind::kDict))) {
    return Fail("arguments that are no tuple");
  }
  pickle_.objects_.push_back(object);
  PushNew(Kind::kObject, static_cast<int64_t>(pickle_.objects_.size() - 1));
}

void PickleReader::Build() {
  const NodeId state = Pop();
  const NodeId to = Top();
  if (error_) return;
  if (!Is(to, Kind::kObject)) {
    return Fail("BUILD of a value that has no state");
  }
  const auto number = static_cast<size_t>(pickle_.nodes_[to].number);
  pickle_.objects_[number].state = state;
}

Result<Pickle> ReadPickle(const Content& content, uint64_t offset,
                          const ReadContext& context, uint64_t& end) {
  return PickleReader(content, offset, context).Read(end);
}

}  // namespace ctxfs::torch

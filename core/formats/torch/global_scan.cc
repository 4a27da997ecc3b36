// SPDX-License-Identifier: Apache-2.0
//
// Names in a pickle, without its values. Of the stack and the memo only texts
// are known, because STACK_GLOBAL takes its names from there.
#include "core/formats/torch/global_scan.h"

#include <fmt/core.h>

#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/heap/heap_allowance.h"
#include "core/formats/torch/limits.h"
#include "core/formats/torch/memo.h"
#include "core/formats/torch/names.h"
#include "core/formats/torch/opcodes.h"
#include "core/formats/torch/pickle_input.h"
#include "core/formats/torch/text_opcodes.h"

namespace ctxfs::torch {
namespace {

/// A value on the stack: where its text is in `texts_`, or one of these.
using Value = uint32_t;
constexpr Value kMarkValue = UINT32_MAX;
constexpr Value kUnknown = UINT32_MAX - 1;  // no text, or one that is not kept

// Keys of the memo that are kept besides those without gaps. With more of them
// none can be relied on.
constexpr size_t kMaxFar = 1'000'000;

class GlobalScan {
 public:
  GlobalScan(const Content& content, uint64_t offset,
             const ReadContext& context, GlobalNames& names)
      : input_(content, offset, context), context_(context), names_(names) {}

  Result<bool> Run(uint64_t& end);

 private:
  using Operand = Opcode::Operand;
  using Effect = Opcode::Effect;

  bool going() const { return !stopped_ && !error_; }
  void Fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  /// Ends the scan before the pickle's end.
  void GiveUp(const std::string& why);

  // Operands. They are empty or 0 once the scan does not go on.
  bool HasLeft(uint64_t size);
  Bytes Take(uint64_t size);
  uint64_t Number(size_t width) { return LittleEndianNumber(Take(width)); }
  /// The next `size` bytes; nullopt if they are too long for a name.
  std::optional<std::string> Counted(uint64_t size, bool wanted);
  /// The bytes up to the next line feed.
  std::optional<std::string> Line();

  void ReadOperand(const Opcode& opcode);
  void Apply(const Opcode& opcode);
  void ApplyText(Effect effect);
  void ApplyMemo(Effect effect);
  /// Puts the top value into the memo.
  void Put(uint64_t key);

  void Push(Value value);
  void PushText(const std::optional<std::string>& text);
  Value Pop();
  void PopValues(uint8_t count);
  Value Top() const { return stack_.empty() ? kUnknown : stack_.back(); }
  std::optional<std::string_view> TextOf(Value value) const;
  void AddStackGlobal();
  void AddName(std::string_view module, std::string_view name);

  PickleInput input_;
  const ReadContext& context_;
  GlobalNames& names_;
  // The operand of the opcode at hand.
  uint64_t number_ = 0;
  std::optional<std::string> text_;
  std::optional<std::string> second_text_;

  std::vector<Value> stack_;
  Memo memo_;
  bool memo_lost_ = false;  // no value of it is known
  std::string texts_;       // each behind its length, 4 bytes
  uint64_t name_bytes_ = 0;
  bool stopped_ = false;   // nothing more is read
  bool finished_ = false;  // at the pickle's end
  std::optional<Error> error_;
};

Result<bool> GlobalScan::Run(uint64_t& end) {
  for (uint32_t opcodes = 0; going(); ++opcodes) {
    if (opcodes % kOpcodesPerCheck == 0) {
      CTXFS_TRY(context_.Check());
    }
    const auto code = static_cast<uint8_t>(Number(1));
    if (!going()) break;
    const Opcode& opcode = kOpcodes[code];
    if (opcode.operand == Operand::kUnknown) {
      std::array<char, 40> text{};
      std::snprintf(text.data(), text.size(), "opcode 0x%02x is not known",
                    code);
      GiveUp(text.data());
      break;
    }
    ReadOperand(opcode);
    if (going()) Apply(opcode);
  }
  end = input_.at();
  if (error_) return *std::move(error_);
  return finished_;
}

void GlobalScan::GiveUp(const std::string& why) {
  names_.SetIncomplete(fmt::format("{} at byte {}", why, input_.at()));
  stopped_ = true;
}

bool GlobalScan::HasLeft(uint64_t size) {
  if (!going()) return false;
  if (size <= input_.remaining()) return true;
  GiveUp(input_.ends_at_limit() ? "the pickle is over the limit of its size"
                                : "the pickle is cut off");
  return false;
}

Bytes GlobalScan::Take(uint64_t size) {
  if (!HasLeft(size)) return {};
  Result<Bytes> bytes = input_.Take(size);
  if (bytes) return *bytes;
  Fail(std::move(bytes).error());
  return {};
}

std::optional<std::string> GlobalScan::Counted(uint64_t size, bool wanted) {
  if (!wanted || size > kMaxNameBytes) {
    if (HasLeft(size)) input_.Skip(size);
    return std::nullopt;
  }
  const Bytes bytes = Take(size);
  if (!going()) return std::nullopt;
  return std::string(AsText(bytes));
}

std::optional<std::string> GlobalScan::Line() {
  std::string line;
  bool too_long = false;
  while (HasLeft(1)) {
    if (Status wanted = context_.Check(); !wanted) {
      Fail(std::move(wanted).error());
      break;
    }
    const Result<Bytes> bytes = input_.Peek();
    if (!bytes) {
      Fail(bytes.error());
      break;
    }
    const std::string_view piece = AsText(*bytes);
    const size_t feed = piece.find('\n');
    const std::string_view part = piece.substr(0, feed);
    too_long = too_long || line.size() + part.size() > kMaxNameBytes;
    if (!too_long) line += part;
    const bool ends = feed != std::string_view::npos;
    input_.Skip(part.size() + (ends ? 1 : 0));
    if (ends) return too_long ? std::nullopt : std::optional(std::move(line));
  }
  return std::nullopt;
}

void GlobalScan::ReadOperand(const Opcode& opcode) {
  switch (opcode.operand) {
    case Operand::kFixed:
      number_ = Number(opcode.width);
      return;
    case Operand::kCounted:
      text_ = Counted(Number(opcode.width), opcode.effect == Effect::kPushText);
      return;
    case Operand::kLine:
      text_ = Line();
      return;
    case Operand::kTwoLines:
      text_ = Line();
      second_text_ = Line();
      return;
    case Operand::kNone:
    case Operand::kUnknown:
      return;
  }
}

void GlobalScan::Apply(const Opcode& opcode) {
  PopValues(opcode.pops);
  switch (opcode.effect) {
    case Effect::kNothing:
      return;
    case Effect::kPush:
      return Push(kUnknown);
    case Effect::kMark:
      return Push(kMarkValue);
    case Effect::kAgain:
      return Push(Top());
    case Effect::kStop:
      stopped_ = finished_ = true;
      return;
    case Effect::kGlobal:
      if (text_ && second_text_) {
        AddName(*text_, *second_text_);
      } else {
        names_.SetIncomplete("a name is too long");
      }
      return Push(kUnknown);
    case Effect::kStackGlobal:
      return AddStackGlobal();
    case Effect::kExtension:
      names_.SetIncomplete("a name is given by its number in copyreg");
      return Push(kUnknown);
    default:
      return ApplyText(opcode.effect);
  }
}

void GlobalScan::ApplyText(Effect effect) {
  switch (effect) {
    case Effect::kPushText:
      return PushText(text_);
    case Effect::kPushQuoted:
      return PushText(text_ ? QuotedText(*text_) : std::nullopt);
    case Effect::kPushEscaped:
      return PushText(text_ ? EscapedText(*text_) : std::nullopt);
    default:
      return ApplyMemo(effect);
  }
}

void GlobalScan::ApplyMemo(Effect effect) {
  if (effect == Effect::kPutNext) return Put(memo_.size());
  if (effect == Effect::kPutLine || effect == Effect::kGetLine) {
    const std::optional<uint64_t> key =
        text_ ? PlainNumber(*text_) : std::nullopt;
    // Python accepts more spellings of a number than are read here.
    if (!key) memo_lost_ = true;
    number_ = key.value_or(0);
  }
  if (effect == Effect::kPut || effect == Effect::kPutLine) {
    Put(number_);
  } else {
    const std::optional<Value> value = memo_.Get(number_);
    Push(memo_lost_ ? kUnknown : value.value_or(kUnknown));
  }
}

void GlobalScan::Put(uint64_t key) {
  if (Status may = memo_.AdmitPut(key); !may) return Fail(may.error());
  if (!memo_.Put(key, Top(), kMaxFar)) memo_lost_ = true;
}

void GlobalScan::Push(Value value) {
  if (stack_.size() >= kMaxNodes) return GiveUp("the stack is over the limit");
  if (Status may = AdmitGrowth(stack_); !may) return Fail(may.error());
  stack_.push_back(value);
}

void GlobalScan::PushText(const std::optional<std::string>& text) {
  if (!text || texts_.size() + text->size() > kMaxPickleBytes) {
    return Push(kUnknown);
  }
  const size_t bytes = sizeof(uint32_t) + text->size();
  if (Status may = AdmitGrowth(texts_, bytes); !may) return Fail(may.error());
  const auto at = static_cast<Value>(texts_.size());
  for (unsigned shift = 0; shift < 32; shift += 8) {
    texts_ += static_cast<char>(text->size() >> shift & 0xFF);
  }
  texts_ += *text;
  Push(at);
}

std::optional<std::string_view> GlobalScan::TextOf(Value value) const {
  if (value >= texts_.size()) return std::nullopt;
  const auto size = LoadLe<uint32_t>(
      reinterpret_cast<const std::byte*>(texts_.data()) + value);
  return std::string_view(texts_).substr(value + sizeof(size), size);
}

Value GlobalScan::Pop() {
  const Value top = Top();
  if (!stack_.empty()) stack_.pop_back();
  return top;
}

// Python ends with an error at an opcode that takes more values than the stack
// has. Names after it are listed nevertheless.
void GlobalScan::PopValues(uint8_t count) {
  if (count == Opcode::kToMark) {
    while (!stack_.empty() && Pop() != kMarkValue) continue;
    return;
  }
  for (uint8_t i = 0; i < count; ++i) (void)Pop();
}

void GlobalScan::AddName(std::string_view module, std::string_view name) {
  Status added = names_.Add(NameOfGlobal(module, name));
  if (!added) Fail(std::move(added).error());
}

void GlobalScan::AddStackGlobal() {
  const std::optional<std::string_view> name = TextOf(Pop());
  const std::optional<std::string_view> module = TextOf(Pop());
  if (name && module) {
    // One byte can repeat names of 64 KiB.
    name_bytes_ += name->size() + module->size();
    if (name_bytes_ > kMaxNamesBytes) {
      return GiveUp("the names are over the limit");
    }
    if (Status may = context_.Check(); !may) return Fail(may.error());
    AddName(*module, *name);
  } else {
    names_.SetIncomplete("a name is not given as text, before byte " +
                         std::to_string(input_.at()));
  }
  Push(kUnknown);
}

}  // namespace

Result<bool> ScanGlobals(const Content& content, uint64_t offset,
                         const ReadContext& context, GlobalNames& names,
                         uint64_t& end) {
  return GlobalScan(content, offset, context, names).Run(end);
}

}  // namespace ctxfs::torch

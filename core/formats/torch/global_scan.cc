// SPDX-License-Identifier: Apache-2.0
//
// Collects the names in a pickle without building its values. Of the values on
// the stack and in the memo, only texts are stored, because STACK_GLOBAL takes
// its names from them. A mark is kMarkValue, any other value kUnknown.
#include "core/formats/torch/global_scan.h"

#include <fmt/core.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/formats/torch/limits.h"
#include "core/formats/torch/memo.h"
#include "core/formats/torch/names.h"
#include "core/formats/torch/opcode_reader.h"
#include "core/formats/torch/text_opcodes.h"

namespace ctxfs::torch {
namespace {

/// A value on the stack: the offset of its text in texts_, or one of the
/// constants that follow.
using Value = uint32_t;
constexpr Value kMarkValue = UINT32_MAX;
constexpr Value kUnknown = UINT32_MAX - 1;  // not text, or text not stored

// The maximum number of keys in the memo's hash table. The memo is unreliable
// if a pickle has more.
constexpr size_t kMaxFar = 1'000'000;

class GlobalScan final : public OpcodeReader {
 public:
  GlobalScan(const Content& content, uint64_t offset,
             const ReadContext& context, GlobalNames& names)
      : OpcodeReader(content, offset, context), names_(names) {}

  Result<bool> Scan(uint64_t& end) {
    CTXFS_TRY(Read(end));
    return finished_;
  }

 private:
  using Effect = Opcode::Effect;

  void Begin(uint8_t code) override;
  bool Keeps(uint64_t size) override {
    return opcode_.effect != Effect::kPush && size <= kMaxNameBytes;
  }
  void Apply(const Operand& operand) override;
  void CutOff(bool at_limit) override;
  /// Stops the scan before the end of the pickle; the names are incomplete.
  void GiveUp(const std::string& why);

  void ApplyText(const std::optional<std::string>& text);
  void ApplyMemo(const Operand& operand);
  /// Stores the top value in the memo.
  void Put(uint64_t key);

  void Push(Value value);
  void PushText(const std::optional<std::string>& text);
  Value Pop();
  void PopValues(uint8_t count);
  Value Top() const { return stack_.empty() ? kUnknown : stack_.back(); }
  std::optional<std::string_view> TextOf(Value value) const;
  void AddStackGlobal();
  void AddName(std::string_view module, std::string_view name);

  GlobalNames& names_;
  Opcode opcode_;  // the current opcode
  std::vector<Value> stack_;
  Memo memo_;
  bool memo_lost_ = false;  // the values in the memo are unreliable
  std::string texts_;       // each after its length, 4 bytes
  uint64_t name_bytes_ = 0;
  bool finished_ = false;  // the scan has reached STOP
};

void GlobalScan::Begin(uint8_t code) {
  opcode_ = kOpcodes[code];
  if (opcode_.operand == Opcode::Operand::kUnknown) {
    GiveUp(fmt::format("opcode 0x{:02x} is not known", code));
  }
}

void GlobalScan::CutOff(bool at_limit) {
  GiveUp(at_limit ? "the pickle is over the limit of its size"
                  : "the pickle is cut off");
}

void GlobalScan::GiveUp(const std::string& why) {
  names_.SetIncomplete(fmt::format("{} at byte {}", why, at()));
  Stop();
}

void GlobalScan::Apply(const Operand& operand) {
  PopValues(opcode_.pops);
  switch (opcode_.effect) {
    case Effect::kNothing:
      return;
    case Effect::kPush:
      return Push(kUnknown);
    case Effect::kMark:
      return Push(kMarkValue);
    case Effect::kAgain:
      return Push(Top());
    case Effect::kStop:
      finished_ = true;
      return Stop();
    case Effect::kGlobal:
      if (operand.text && operand.second_text) {
        AddName(*operand.text, *operand.second_text);
      } else {
        names_.SetIncomplete("a name is too long");
      }
      return Push(kUnknown);
    case Effect::kStackGlobal:
      return AddStackGlobal();
    case Effect::kExtension:
      names_.SetIncomplete("a name is given by its number in copyreg");
      return Push(kUnknown);
    case Effect::kPushText:
    case Effect::kPushQuoted:
    case Effect::kPushEscaped:
      return ApplyText(operand.text);
    default:
      return ApplyMemo(operand);
  }
}

void GlobalScan::ApplyText(const std::optional<std::string>& text) {
  if (!text || opcode_.effect == Effect::kPushText) return PushText(text);
  const bool quoted = opcode_.effect == Effect::kPushQuoted;
  PushText(quoted ? QuotedText(*text) : EscapedText(*text));
}

void GlobalScan::ApplyMemo(const Operand& operand) {
  const Effect effect = opcode_.effect;
  if (effect == Effect::kPutNext) return Put(memo_.size());
  uint64_t number = operand.number;
  if (effect == Effect::kPutLine || effect == Effect::kGetLine) {
    const std::optional<uint64_t> key =
        operand.text ? PlainNumber(*operand.text) : std::nullopt;
    // Python accepts spellings of a number that PlainNumber rejects.
    if (!key) memo_lost_ = true;
    number = key.value_or(0);
  }
  if (effect == Effect::kPut || effect == Effect::kPutLine) {
    Put(number);
  } else {
    const std::optional<Value> value = memo_.Get(number);
    Push(memo_lost_ ? kUnknown : value.value_or(kUnknown));
  }
}

void GlobalScan::Put(uint64_t key) {
  if (Status may = memo_.AdmitPut(key); !may) return FailWith(may.error());
  if (!memo_.Put(key, Top(), kMaxFar)) memo_lost_ = true;
}

void GlobalScan::Push(Value value) {
  if (stack_.size() >= kMaxNodes) return GiveUp("the stack is over the limit");
  if (MayGrow(stack_)) stack_.push_back(value);
}

void GlobalScan::PushText(const std::optional<std::string>& text) {
  if (!text || texts_.size() + text->size() > kMaxPickleBytes) {
    return Push(kUnknown);
  }
  const size_t bytes = sizeof(uint32_t) + text->size();
  if (!MayGrow(texts_, bytes)) return;
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

// Python fails at an opcode that pops more values than the stack has. The scan
// continues, and lists later names, too.
void GlobalScan::PopValues(uint8_t count) {
  if (count == Opcode::kToMark) {
    while (!stack_.empty() && Pop() != kMarkValue) continue;
    return;
  }
  for (uint8_t i = 0; i < count; ++i) (void)Pop();
}

void GlobalScan::AddName(std::string_view module, std::string_view name) {
  Status added = names_.Add(NameOfGlobal(module, name));
  if (!added) FailWith(std::move(added).error());
}

void GlobalScan::AddStackGlobal() {
  const std::optional<std::string_view> name = TextOf(Pop());
  const std::optional<std::string_view> module = TextOf(Pop());
  if (name && module) {
    // A STACK_GLOBAL takes 1 byte, and can repeat names of 64 KiB.
    name_bytes_ += name->size() + module->size();
    if (name_bytes_ > kMaxNamesBytes) {
      return GiveUp("the names are over the limit");
    }
    if (Status may = context_.Check(); !may) return FailWith(may.error());
    AddName(*module, *name);
  } else {
    names_.SetIncomplete("a name is not given as text, before byte " +
                         std::to_string(at()));
  }
  Push(kUnknown);
}

}  // namespace

Result<bool> ScanGlobals(const Content& content, uint64_t offset,
                         const ReadContext& context, GlobalNames& names,
                         uint64_t& end) {
  return GlobalScan(content, offset, context, names).Scan(end);
}

}  // namespace ctxfs::torch

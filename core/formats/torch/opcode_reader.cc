// SPDX-License-Identifier: Apache-2.0
#include "core/formats/torch/opcode_reader.h"

#include <algorithm>
#include <utility>

#include "core/formats/torch/limits.h"

namespace ctxfs::torch {

Status OpcodeReader::Read(uint64_t& end) {
  for (uint32_t opcodes = 0; going(); ++opcodes) {
    if (opcodes % kOpcodesPerCheck == 0) {
      CTXFS_TRY(context_.Check());
    }
    opcode_at_ = at();
    const auto code = static_cast<uint8_t>(Number(1));
    if (going()) Begin(code);
    if (going()) ReadOperand(kOpcodes[code]);
    if (going()) Apply(operand_);
  }
  end = at();
  if (error_) return *std::move(error_);
  return {};
}

void OpcodeReader::ReadOperand(const Opcode& opcode) {
  using Kind = Opcode::Operand;
  operand_.number = Number(opcode.width);
  switch (opcode.operand) {
    case Kind::kCounted:
      return ReadCounted(operand_.number);
    case Kind::kTwoLines:
      operand_.text = Line();
      operand_.second_text = Line();
      return;
    case Kind::kLine:
      operand_.text = Line();
      return;
    case Kind::kFixed:
    case Kind::kNone:
    case Kind::kUnknown:
      return;
  }
}

bool OpcodeReader::HasLeft(uint64_t size) {
  if (!going()) return false;
  if (size <= input_.remaining()) return true;
  CutOff(input_.ends_at_limit());
  return false;
}

Bytes OpcodeReader::Take(uint64_t size) {
  if (!HasLeft(size)) return {};
  Result<Bytes> bytes = input_.Take(size);
  if (bytes) return *bytes;
  FailWith(std::move(bytes).error());
  return {};
}

uint64_t OpcodeReader::Number(size_t width) {
  if (width == 0) return 0;
  const Bytes bytes = Take(width);
  uint64_t number = 0;
  for (size_t i = bytes.size(); i-- > 0;) {
    number = number << 8 | std::to_integer<uint64_t>(bytes[i]);
  }
  return number;
}

void OpcodeReader::ReadCounted(uint64_t size) {
  operand_.text.reset();
  const bool kept = Keeps(size);
  // Rejects a size beyond the end before allocating memory for it.
  if (!HasLeft(size)) return;
  if (!kept) return input_.Skip(size);
  operand_.text.emplace();
  while (size > 0 && going()) {
    const uint64_t piece = std::min(size, PickleInput::kPiece);
    AddText(AsText(Take(piece)));
    size -= piece;
  }
}

std::optional<std::string> OpcodeReader::Line() {
  std::string line;
  bool kept = true;
  while (HasLeft(1)) {
    Status wanted = context_.Check();
    const Result<Bytes> bytes = wanted ? input_.Peek() : wanted.error();
    if (!bytes) {
      FailWith(bytes.error());
      break;
    }
    const std::string_view piece = AsText(*bytes);
    const std::string_view part = piece.substr(0, piece.find('\n'));
    const bool ends = part.size() < piece.size();
    kept = kept && Keeps(line.size() + part.size());
    if (kept) line += part;
    input_.Skip(part.size() + (ends ? 1 : 0));
    if (ends) return kept ? std::optional(std::move(line)) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace ctxfs::torch

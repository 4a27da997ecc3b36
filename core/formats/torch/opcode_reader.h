// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/result.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/formats/torch/opcodes.h"
#include "core/formats/torch/pickle_input.h"

namespace ctxfs::torch {

/// Reads the opcodes of a pickle in order, each with its operand. A derived
/// class implements their effect: PickleMachine builds values, GlobalScan
/// collects names.
class OpcodeReader {
 public:
  OpcodeReader(const Content& content, uint64_t offset,
               const ReadContext& context)
      : context_(context), input_(content, offset, context) {}

  /// The operand of an opcode.
  struct Operand {
    uint64_t number = 0;  // for counted text, its size in bytes
    // text: the counted bytes, or the first line. second_text: the second line.
    // nullopt if skipped; valid only for opcodes with such an operand.
    std::optional<std::string> text;
    std::optional<std::string> second_text;
  };

 protected:
  ~OpcodeReader() = default;

  /// Reads opcodes until Stop or the first failure, which it returns. Sets
  /// `end` to the offset of the next byte.
  Status Read(uint64_t& end);

  /// Called at the start of an opcode, before its operand is read. The operand
  /// is not read after a failure or Stop.
  virtual void Begin(uint8_t code) = 0;
  /// Returns whether to keep an operand of `size` bytes, or a line of which
  /// `size` bytes have been read. Otherwise the operand is skipped.
  virtual bool Keeps(uint64_t size) = 0;
  /// Appends a piece of counted bytes to Operand::text; PickleMachine overrides
  /// this, to append the piece to the texts of the pickle.
  virtual void AddText(std::string_view piece) { *operand_.text += piece; }
  /// Applies the effect of the opcode.
  virtual void Apply(const Operand& operand) = 0;
  /// Called if the input ends within the pickle: at kMaxPickleBytes if
  /// `at_limit`, else at the end of the content. Must call FailWith or Stop.
  virtual void CutOff(bool at_limit) = 0;

  /// Only the first failure counts.
  void FailWith(Error error) {
    if (!error_) error_ = std::move(error);
  }
  bool failed() const { return error_.has_value(); }
  void Stop() { stopped_ = true; }
  /// Fails, and returns false, if there is no memory for `more` elements of
  /// `vector`.
  template <typename Vector>
  bool MayGrow(const Vector& vector, size_t more = 1) {
    Status may = AdmitGrowth(vector, more);
    if (!may) FailWith(std::move(may).error());
    return may.has_value();
  }

  /// The offset of the current opcode, and the offset of the next byte.
  uint64_t opcode_at() const { return opcode_at_; }
  uint64_t at() const { return input_.at(); }

  const ReadContext& context_;

 private:
  bool going() const { return !stopped_ && !error_; }
  void ReadOperand(const Opcode& opcode);
  // The functions below return false, 0 or nothing after a failure or Stop.
  bool HasLeft(uint64_t size);
  /// Takes the next `size` bytes, at most PickleInput::kPiece.
  Bytes Take(uint64_t size);
  /// Takes an unsigned little-endian number of `width` bytes, at most 8.
  uint64_t Number(size_t width);
  void ReadCounted(uint64_t size);
  /// Takes the bytes up to the next line feed; nullopt if skipped.
  std::optional<std::string> Line();

  PickleInput input_;
  uint64_t opcode_at_ = 0;
  Operand operand_;
  bool stopped_ = false;
  std::optional<Error> error_;
};

}  // namespace ctxfs::torch

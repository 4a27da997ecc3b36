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
/// class says what they do: PickleMachine makes values of them, GlobalScan
/// looks for names.
class OpcodeReader {
 public:
  OpcodeReader(const Content& content, uint64_t offset,
               const ReadContext& context)
      : context_(context), input_(content, offset, context) {}

  /// What follows an opcode.
  struct Operand {
    uint64_t number = 0;  // or the size of the text
    // Counted bytes or a line, and the second line; nullopt if not kept.
    std::optional<std::string> text;
    std::optional<std::string> second_text;
  };

 protected:
  ~OpcodeReader() = default;

  /// Reads until Stop or the first failure, which it returns. Sets `end` to the
  /// byte after what was read.
  Status Read(uint64_t& end);

  /// An opcode begins. If it fails or stops, the operand is not read.
  virtual void Begin(uint8_t code) = 0;
  /// Returns whether to keep an operand of `size` bytes, or a line that has so
  /// many up to now; it is passed over if not.
  virtual bool Keeps(uint64_t size) = 0;
  /// Adds a piece to the counted operand that is kept.
  virtual void AddText(std::string_view piece) { *operand_.text += piece; }
  /// Does what the opcode does.
  virtual void Apply(const Operand& operand) = 0;
  /// The input ends too early, with the content or at the limit; fails or
  /// stops.
  virtual void CutOff(bool at_limit) = 0;

  /// Only the first failure counts.
  void FailWith(Error error) {
    if (!error_) error_ = std::move(error);
  }
  bool failed() const { return error_.has_value(); }
  void Stop() { stopped_ = true; }
  /// Fails if there is no memory for `more` elements of `vector`.
  template <typename Vector>
  bool MayGrow(const Vector& vector, size_t more = 1) {
    Status may = AdmitGrowth(vector, more);
    if (!may) FailWith(std::move(may).error());
    return may.has_value();
  }

  /// The offsets of the opcode at hand, and of the byte to be read next.
  uint64_t opcode_at() const { return opcode_at_; }
  uint64_t at() const { return input_.at(); }

  const ReadContext& context_;

 private:
  bool going() const { return !stopped_ && !error_; }
  void ReadOperand(const Opcode& opcode);
  // These are empty or 0 once reading does not go on.
  bool HasLeft(uint64_t size);
  /// The next `size` bytes, at most PickleInput::kPiece.
  Bytes Take(uint64_t size);
  /// An unsigned little-endian number of at most 8 bytes.
  uint64_t Number(size_t width);
  void ReadCounted(uint64_t size);
  /// The bytes up to the next line feed.
  std::optional<std::string> Line();

  PickleInput input_;
  uint64_t opcode_at_ = 0;
  Operand operand_;
  bool stopped_ = false;
  std::optional<Error> error_;
};

}  // namespace ctxfs::torch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "core/codec/checksum.h"
#include "core/compressed/stored_reader.h"
#include "core/content/block.h"
#include "core/content/verdict.h"
#include "core/io/source.h"

namespace ctxfs::zip {

/// Position and decoded size of a member's compressed data, bytes.
struct MemberData {
  uint64_t offset;
  uint64_t stored_size;
  uint64_t size;
  uint16_t method;
};

/// A member that is decoded as a whole: into a temporary file if it exceeds the
/// cache and is not deflate, else into memory.
class MemberBlock final : public Block {
 public:
  MemberBlock(Key key, std::shared_ptr<const Source> source,
              const MemberData& data, Checksum checksum,
              std::shared_ptr<AtomicVerdict> verdict)
      : Block(key),
        source_(std::move(source)),
        data_(data),
        checksum_(checksum),
        verdict_(std::move(verdict)) {}

  uint64_t cost() const override;
  Result<Buffer> Produce(const ReadContext& context) const override;
  uint64_t streamed_size() const override;
  Status Stream(const Sink& sink, uint64_t memory,
                const ReadContext& context) const override;
  bool verifies() const override { return static_cast<bool>(checksum_); }
  const Source* made_from() const override { return source_.get(); }

 private:
  /// Fails if an earlier read found damage.
  Status CheckVerdict() const;
  /// Records the result of decoding as the verdict, and returns it.
  Status Conclude(Status decoded) const;
  Error Mismatch() const;
  StoredReader Stored() const;
  Status Decode(MutableBytes out, const ReadContext& context) const;
  Status DecodePieces(const Sink& sink, uint64_t memory,
                      const ReadContext& context) const;

  const std::shared_ptr<const Source> source_;
  const MemberData data_;
  const Checksum checksum_;
  const std::shared_ptr<AtomicVerdict> verdict_;
};

}  // namespace ctxfs::zip

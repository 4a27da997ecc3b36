// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "core/base/bytes.h"
#include "core/base/interrupt.h"
#include "core/base/result.h"
#include "core/content/verdict.h"
#include "core/io/source.h"

namespace ctxfs {

class ReadContext;

/// Bytes that exist only after work: produced whole or not at all, and handed
/// out by the BlockCache alone. Immutable. Produce may read other blocks
/// through the cache, as long as none of them needs this one.
class Block {
 public:
  explicit Block(Key key) : key_(key) {}
  virtual ~Block() = default;

  /// Equal keys mean equal bytes.
  Key key() const { return key_; }

  /// Memory that Produce will take at its peak; 0 if it is not known.
  virtual uint64_t cost() const = 0;

  /// Bytes of work that Produce causes.
  uint64_t work() const {
    const uint64_t bytes = cost();
    return bytes == 0 ? Interrupt::kUnknownWork : bytes;
  }

  /// Makes all the bytes and checks them against their checksum. `context` is
  /// that of the request which needs them first. It counts as interrupted only
  /// while every request that waits for the block is; a long Produce asks
  /// context.Check() every few milliseconds.
  virtual Result<Buffer> Produce(const ReadContext& context) const = 0;

  /// Bytes that Stream makes; 0 if all of the block has to be in memory at
  /// once.
  virtual uint64_t streamed_size() const { return 0; }

  /// Takes the next bytes.
  using Sink = std::function<Status(Bytes)>;

  /// Makes the same bytes piece by piece, in at most `memory` bytes; fails with
  /// kNoMemory if they do not suffice. The checksum is compared last, so the
  /// pieces must not be used before Stream has succeeded. Only if
  /// streamed_size() is not 0.
  virtual Status Stream(const Sink& /*sink*/, uint64_t /*memory*/,
                        const ReadContext& /*context*/) const {
    return Error{Code::kLimit, "cannot be decoded in pieces"};
  }

  /// Whether Produce has a checksum to compare with.
  virtual bool verifies() const { return false; }

  /// The source that the bytes are made from; null if they are made from
  /// several, or from none.
  virtual const Source* made_from() const { return nullptr; }

  /// Fails with kStale if that source has changed. Called before kept bytes are
  /// served.
  Status CheckUnchanged() const {
    const Source* source = made_from();
    return source == nullptr ? Status() : source->CheckUnchanged();
  }

 private:
  Key key_;
};

}  // namespace ctxfs

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

/// Bytes that take work to produce, such as decoding. They are produced as a
/// whole or not at all, and only through the BlockCache. Immutable. Produce may
/// read other blocks through the cache, as long as none of them depends on this
/// one.
class Block {
 public:
  explicit Block(Key key) : key_(key) {}
  virtual ~Block() = default;

  /// Blocks with equal keys must have equal bytes.
  Key key() const { return key_; }

  /// Peak memory of Produce in bytes; 0 if unknown.
  virtual uint64_t cost() const = 0;

  uint64_t work() const {
    const uint64_t bytes = cost();
    return bytes == 0 ? Interrupt::kUnknownWork : bytes;
  }

  /// Produces all bytes and compares them with their checksum, if any.
  /// `context` belongs to the first request for the block. Once all requests
  /// for the block are interrupted, it is interrupted for good. A long Produce
  /// must call context.Check() every few milliseconds.
  virtual Result<Buffer> Produce(const ReadContext& context) const = 0;

  /// Bytes that Stream produces; 0 if the whole block must be in memory.
  virtual uint64_t streamed_size() const { return 0; }

  using Sink = std::function<Status(Bytes)>;

  /// Produces the bytes piece by piece, with at most `memory` bytes of memory;
  /// fails with kNoMemory if it needs more. The checksum is compared last, so
  /// the pieces must not be used before Stream has succeeded. Must be called
  /// only if streamed_size() is not 0.
  virtual Status Stream(const Sink& /*sink*/, uint64_t /*memory*/,
                        const ReadContext& /*context*/) const {
    return Error{Code::kLimit, "cannot be decoded in pieces"};
  }

  /// Whether Produce has a checksum to compare with.
  virtual bool verifies() const { return false; }

  /// The source of the bytes; null if there are several or none.
  virtual const Source* made_from() const { return nullptr; }

  /// Fails with kStale if made_from() has changed. Must be called before cached
  /// bytes are served.
  Status CheckUnchanged() const {
    const Source* source = made_from();
    return source == nullptr ? Status() : source->CheckUnchanged();
  }

 private:
  Key key_;
};

}  // namespace ctxfs

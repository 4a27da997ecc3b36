// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lzma.h>

#include <cstdint>
#include <memory>

#include "core/base/request.h"
#include "core/base/result.h"
#include "core/io/source.h"

namespace ctxfs {

/// The index of all streams of an .xz file: the offsets and sizes of blocks.
/// Allocates with operator new, so the heap meter counts its memory.
class XzIndex {
 public:
  struct Free {
    void operator()(lzma_index* index) const;
  };
  using Owned = std::unique_ptr<lzma_index, Free>;

  explicit XzIndex(Owned index) : index_(std::move(index)) {}

  /// Returns the block with decoded byte `decoded`; sets `found` to whether
  /// there is one.
  lzma_index_iter From(uint64_t decoded, bool& found) const;

 private:
  const Owned index_;
};

/// Reads the indexes at the ends of the streams of an .xz file. Fails with
/// kLimit for more than 100,000 streams, or more than 64 MiB of indexes.
Result<std::shared_ptr<const XzIndex>> ReadXzIndex(const Source& source,
                                                   const Request& request);

/// Returns the error for a liblzma result about the data at byte `at`.
Error XzFailure(lzma_ret code, uint64_t at);

/// A liblzma stream that frees itself at the end of the scope.
class LzmaStream {
 public:
  explicit LzmaStream(const lzma_allocator* allocator = nullptr) {
    stream_.allocator = allocator;
  }
  ~LzmaStream() { lzma_end(&stream_); }
  LzmaStream(const LzmaStream&) = delete;
  LzmaStream& operator=(const LzmaStream&) = delete;
  lzma_stream* operator->() { return &stream_; }
  lzma_stream* get() { return &stream_; }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

}  // namespace ctxfs

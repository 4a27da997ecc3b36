// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/io/source.h"
#include "core/remote/client/ahead_budget.h"
#include "core/remote/client/fetch_client.h"

namespace ctxfs::remote {

/// An object on a server, as it was at open: once a read detects a change, all
/// later reads fail with kStale. A read waits for the server until its request
/// is interrupted or its ServerWait is over.
class RemoteSource final : public Source {
 public:
  /// `with_tail` as for FetchClient::Open.
  static Result<SourcePtr> Open(std::shared_ptr<FetchClient> client,
                                const std::string& url, const Request& request,
                                bool with_tail = false);

  /// The object's identity in a listing, and a function to call when a read
  /// finds that the object has changed.
  struct Listed {
    FileIdentity identity;
    std::function<void()> changed;
  };

  RemoteSource(std::shared_ptr<FetchClient> client, RemoteObject object,
               Listed listed = {})
      : client_(std::move(client)),
        object_(std::move(object)),
        listed_(std::move(listed)) {}

  uint64_t size() const override { return object_.identity.size; }
  FileTime mtime() const override;
  std::string name() const override;
  bool is_remote() const override { return true; }
  /// Zeros unless a listing had the object.
  FileIdentity identity() const override { return listed_.identity; }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& request) const override;
  void Prefetch(std::span<const SourceRange> ranges) const override;
  Status CheckUnchanged() const override;
  /// The object at `path`, relative to the last '/' of this one's URL.
  Result<SourcePtr> OpenBeside(const std::string& path,
                               const Request& request) const override;

 private:
  /// A sequence of reads, each near the end of an earlier one.
  struct Stream {
    uint64_t start = 0;         // offset of the first read
    uint64_t next = INT64_MAX;  // end of the reads so far
    uint64_t fetched = 0;       // end of the range fetched for them
    unsigned reads = 0;
    uint64_t ahead = 0;    // bytes to prefetch after a read
    uint64_t last = 0;     // end of the entry of the last read
    unsigned entries = 0;  // consecutive entries that were read
    uint64_t used = 0;     // number of the last read, of all of the source
    uint64_t reader = 0;   // its number in the budget; 0: none yet
    AheadBudget::Window window = {};  // zeros: none yet
  };

  /// Adds a read to a stream that is near it, or else to a new stream, which
  /// takes the place of the least recently used if there are many; returns the
  /// stream.
  Stream& StreamOf(uint64_t offset, uint64_t length) const
      CTXFS_REQUIRES(mutex_);

  /// How much may be prefetched for the stream.
  const AheadBudget::Window& WindowOf(Stream& stream) const
      CTXFS_REQUIRES(mutex_);
  /// Prefetches more for a stream after another read in a row.
  void Grow(Stream& stream) const CTXFS_REQUIRES(mutex_);
  /// The end of prefetching for a stream after a read with `known`: the end of
  /// the entry, or more if entries were read in sequence.
  uint64_t EndOf(Stream& stream, uint64_t end, const Ahead& known) const
      CTXFS_REQUIRES(mutex_);
  /// Starts to fetch the bytes that Ahead predicts after a read; if the
  /// prediction is certain (Ahead::Likelihood::kCertain), the bytes of the read
  /// as well.
  void FetchKnown(Stream& stream, uint64_t offset, uint64_t length,
                  const Ahead& known) const CTXFS_REQUIRES(mutex_);
  /// If the stream has read enough (kLeastIndex), starts to fetch the bytes of
  /// a read that would wait, and the bytes after them. An index is read
  /// sequentially, unlike the data to which it refers.
  void FetchIndex(const Stream& stream, uint64_t offset, uint64_t length) const
      CTXFS_REQUIRES(mutex_);
  void FetchAhead(uint64_t offset, uint64_t length, const Ahead& known) const;

  const std::shared_ptr<FetchClient> client_;
  const RemoteObject object_;
  const Listed listed_;
  mutable std::atomic<bool> stale_ = false;
  mutable Mutex mutex_;
  mutable std::vector<Stream> streams_ CTXFS_GUARDED_BY(mutex_);
  mutable uint64_t reads_ CTXFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace ctxfs::remote

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/base/mutex.h"
#include "core/io/source.h"
#include "core/remote/client/fetch_client.h"

namespace ctxfs::remote {

/// An object on a server, as it was when it was opened: once a read finds that
/// it has changed, all later reads fail with kStale. Reads wait for the server
/// until their request is interrupted.
class RemoteSource final : public Source {
 public:
  /// `with_tail` as for FetchClient::Open.
  static Result<SourcePtr> Open(std::shared_ptr<FetchClient> client,
                                const std::string& url, const Request& request,
                                bool with_tail = false);

  /// What a listing told of the object, and who is told when it is another one.
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
  /// Zeros, unless a listing told of it.
  FileIdentity identity() const override { return listed_.identity; }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& request) const override;
  void Prefetch(std::span<const SourceRange> ranges) const override;
  Status CheckUnchanged() const override;
  /// The object at `path`, relative to the last '/' of this one's URL.
  Result<SourcePtr> OpenBeside(const std::string& path,
                               const Request& request) const override;

 private:
  /// Reads that each begin near the end of an earlier one.
  struct Stream {
    uint64_t start = 0;         // of the first read
    uint64_t next = INT64_MAX;  // end of the reads so far
    uint64_t fetched = 0;       // end of what was fetched for them
    unsigned reads = 0;
    uint64_t ahead = 0;    // bytes to fetch beyond a read
    uint64_t last = 0;     // end of the entry that the last read was of
    unsigned entries = 0;  // that the reads were of, one after another
  };

  /// Returns the stream that a read belongs to, with the read added: a new one
  /// if it is not near another.
  Stream& StreamOf(uint64_t offset, uint64_t length) const
      CTXFS_REQUIRES(mutex_);

  /// The end of what may be fetched for a stream after a read that `known` says
  /// of what follows: that of the entry, or more if entries were read one after
  /// another.
  uint64_t EndOf(Stream& stream, uint64_t end, const Ahead& known) const
      CTXFS_REQUIRES(mutex_);
  /// Starts to fetch what Ahead says will follow a read, and for a certain
  /// one the read as well.
  void FetchKnown(Stream& stream, uint64_t offset, uint64_t length,
                  const Ahead& known) const CTXFS_REQUIRES(mutex_);
  /// Starts to fetch a read that would wait, and what may follow: an index is
  /// read from its beginning on, and what it refers to is not.
  void FetchIndex(const Stream& stream, uint64_t offset, uint64_t length) const
      CTXFS_REQUIRES(mutex_);
  void FetchAhead(uint64_t offset, uint64_t length, const Ahead& known) const;

  const std::shared_ptr<FetchClient> client_;
  const RemoteObject object_;
  const Listed listed_;
  mutable std::atomic<bool> stale_ = false;
  mutable Mutex mutex_;
  mutable std::array<Stream, 16> streams_ CTXFS_GUARDED_BY(mutex_);
  mutable size_t oldest_ CTXFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace ctxfs::remote

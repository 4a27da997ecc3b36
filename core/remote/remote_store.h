// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "core/base/interrupt.h"
#include "core/base/mutex.h"
#include "core/io/url_store.h"
#include "core/remote/fetch_client.h"

namespace ctxfs::remote {

/// Objects and directories of servers, by a FetchClient. One thread lists a
/// directory for all that wait for it. Listings are kept for a while, 512 MiB
/// of them at most.
class RemoteStore final : public UrlStore {
 public:
  /// `lasting`: how long a listing is believed.
  RemoteStore(std::shared_ptr<FetchClient> client,
              std::chrono::seconds lasting);

  Result<SourcePtr> Open(const std::string& url) override;
  Result<StoreListingPtr> List(const std::string& directory) override;
  Result<SourcePtr> OpenListed(const std::string& directory,
                               const StoreName& name) override;
  std::string UrlOf(const std::string& directory,
                    const StoreName& name) const override;

 private:
  using Clock = std::chrono::steady_clock;

  /// The latest listing of a directory.
  struct Kept {
    StoreListingPtr listing;  // null: none yet
    uint64_t bytes = 0;
    Clock::time_point taken;
    bool changed = false;  // an object is not what the listing says
    bool taking = false;   // a thread lists the directory now
  };

  /// What was opened a moment ago: a command looks what a URL is before it
  /// opens it.
  struct Opened {
    std::string url;
    SourcePtr source;
    Clock::time_point at;
  };

  bool IsFresh(const Kept& kept) const;
  Result<Kept> Take(const std::string& directory, const Interrupt& interrupt);
  /// Drops the listings that were taken first, until the rest is within the
  /// bound.
  void DropOldest() CTXFS_REQUIRES(mutex_);
  void NoteChange(const std::string& directory);
  Result<SourcePtr> OpenDirectory(const std::string& directory);
  /// Opens an object that a listing told of, if its ETag can be asked for.
  SourcePtr OpenKnown(const std::string& directory, const StoreName& name);
  SourcePtr OpenedJustNow(const std::string& url);
  void NoteOpened(const std::string& url, const SourcePtr& source);

  const std::shared_ptr<FetchClient> client_;
  const std::chrono::seconds lasting_;
  Mutex mutex_;
  CondVar news_;
  std::map<std::string, Kept> kept_ CTXFS_GUARDED_BY(mutex_);
  std::list<Opened> opened_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs::remote

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/mutex.h"
#include "core/base/request.h"
#include "core/io/urls/url_store.h"
#include "core/remote/client/fetch_client.h"

namespace ctxfs::remote {

/// Objects and directories of servers, by a FetchClient. One thread lists a
/// directory for all that wait for it, and they share its error. At most 512
/// MiB of listings are cached for a while.
class RemoteStore final : public UrlStore {
 public:
  /// `lasting`: how long a listing is cached. `names_index_at_end`: whether
  /// opening a file of this name reads its last bytes.
  RemoteStore(std::shared_ptr<FetchClient> client, std::chrono::seconds lasting,
              bool (*names_index_at_end)(std::string_view name));

  /// The default of `lasting`: CTXFS_LISTING_SECONDS, or a minute.
  static std::chrono::seconds ListingLasts();

  Result<SourcePtr> Open(const std::string& url,
                         const Request& request) override;
  Result<StoreListingPtr> List(const std::string& directory,
                               const Request& request) override;
  Result<SourcePtr> OpenListed(const std::string& directory,
                               const StoreName& name,
                               const Request& request) override;
  std::string UrlOf(const std::string& directory,
                    const StoreName& name) const override;

 private:
  using Clock = std::chrono::steady_clock;

  /// A listing in progress, shared by the threads that wait for it.
  struct Attempt {
    Clock::time_point began = Clock::now();
    bool done = false;
    StoreListingPtr listing;     // null: it failed
    std::optional<Error> error;  // nullopt: success, or an exception
  };
  using AttemptPtr = std::shared_ptr<Attempt>;

  /// The latest listing of a directory.
  struct Kept {
    StoreListingPtr listing;  // null: none yet
    uint64_t bytes = 0;
    Clock::time_point taken;
    bool changed = false;  // an object was found to differ from the listing
    AttemptPtr attempt;    // null: no thread is listing the directory
  };
  /// Ends an attempt in its destructor, so that no thread waits for an attempt
  /// that threw std::bad_alloc.
  class EndOfAttempt;

  /// A recently opened object. It is cached because a command examines a URL
  /// before it opens the object.
  struct Opened {
    std::string url;
    SourcePtr source;
    Clock::time_point at;
  };

  bool IsFresh(const Kept& kept) const;
  Result<Kept> Take(const std::string& directory, const Request& request);
  /// Waits for the end of an attempt. Fails with kInterrupted.
  Status Await(const Attempt& attempt, const Request& request)
      CTXFS_REQUIRES(mutex_);
  /// Lists the directory for all that wait for `attempt`.
  Result<StoreListingPtr> ListFor(const std::string& directory,
                                  const AttemptPtr& attempt,
                                  const Request& request);
  /// Evicts the oldest listings until the rest is within the bound.
  void DropOldest() CTXFS_REQUIRES(mutex_);
  void NoteChange(const std::string& directory);
  Result<SourcePtr> OpenDirectory(const std::string& directory,
                                  const Request& request);
  /// Opens an object from a listing without a request; null if the listing has
  /// no ETag that is valid in a request.
  SourcePtr OpenKnown(const std::string& directory, const StoreName& name);
  SourcePtr OpenedJustNow(const std::string& url);
  void NoteOpened(const std::string& url, const SourcePtr& source);

  const std::shared_ptr<FetchClient> client_;
  const std::chrono::seconds lasting_;
  bool (*const names_index_at_end_)(std::string_view name);
  Mutex mutex_;
  CondVar news_;
  std::map<std::string, Kept> kept_ CTXFS_GUARDED_BY(mutex_);
  std::list<Opened> opened_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs::remote

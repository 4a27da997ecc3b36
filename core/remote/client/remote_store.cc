// SPDX-License-Identifier: Apache-2.0
#include "core/remote/client/remote_store.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "core/base/environment.h"
#include "core/base/interruptible_wait.h"
#include "core/base/limits.h"
#include "core/remote/client/remote_directory.h"
#include "core/remote/client/remote_source.h"
#include "core/remote/stores/listing.h"
#include "core/remote/stores/scheme.h"
#include "core/remote/stores/url.h"

namespace ctxfs::remote {
namespace {

constexpr uint64_t kMaxKeptBytes = 512 * limits::kMiB;
// Minimum interval between listings of a directory that keeps changing.
constexpr std::chrono::seconds kLeastLasting(1);
constexpr std::chrono::seconds kJustNow(2);
constexpr size_t kMaxOpened = 8;

Error NoObjects(const std::string& directory) {
  const std::string prefix = PathOfDirectory(directory);
  const std::string what =
      prefix.empty()
          ? "there is no object in it"
          : "there is no object whose name begins with '" + prefix + "'";
  return {Code::kIo, what, kNoOffset, ENOENT};
}

bool IsMissing(const Error& error) { return error.sys_errno == ENOENT; }

/// Whether threads that waited for an attempt share its error. An interrupt or
/// a lack of memory concerns only one thread.
bool ConcernsAll(const Error& error) {
  return error.code != Code::kInterrupted && error.code != Code::kNoMemory;
}

bool IsTransient(const Error& error) { return error.sys_errno == EAGAIN; }

}  // namespace

RemoteStore::RemoteStore(std::shared_ptr<FetchClient> client,
                         std::chrono::seconds lasting,
                         bool (*names_index_at_end)(std::string_view name))
    : client_(std::move(client)),
      lasting_(lasting),
      names_index_at_end_(names_index_at_end) {}

std::chrono::seconds RemoteStore::ListingLasts() {
  constexpr int kUsual = 60;
  constexpr int kMax = 86'400;
  const int seconds =
      std::atoi(EnvironmentVariable("CTXFS_LISTING_SECONDS").c_str());
  return std::chrono::seconds(seconds >= 1 && seconds <= kMax ? seconds
                                                              : kUsual);
}

std::string RemoteStore::UrlOf(const std::string& directory,
                               const StoreName& name) const {
  return UrlIn(directory, name.name, name.directory);
}

bool RemoteStore::IsFresh(const Kept& kept) const {
  if (kept.listing == nullptr) return false;
  const auto age = Clock::now() - kept.taken;
  return age < (kept.changed ? std::min(kLeastLasting, lasting_) : lasting_);
}

Result<RemoteStore::Kept> RemoteStore::Take(const std::string& directory,
                                            const Request& request) {
  const Listings* const listings = ListingsOf(directory);
  if (listings == nullptr) return Refused("web servers have no listings");
  ListingBuilder builder(directory);
  Kept kept;
  // The age counts from the start, because this listing may lack changes that
  // are made meanwhile.
  kept.taken = Clock::now();
  FetchClient::PageAhead ahead;
  do {
    const PageText text = CTXFS_TRY(client_->ListPage(
        directory, builder.next(), request, std::move(ahead)));
    // Fetches the next page while this one is parsed.
    const std::string next = listings->likely_next(text);
    if (!next.empty() && !builder.HadToken(next)) {
      ahead = client_->RequestPage(directory, next);
    }
    ListingPage page = CTXFS_TRY(listings->parse(directory, text));
    CTXFS_TRY(builder.Add(std::move(page)));
  } while (!builder.next().empty());
  kept.listing = builder.Finish();
  kept.bytes = builder.bytes() + directory.size() + sizeof(Kept);
  return kept;
}

void RemoteStore::DropOldest() {
  uint64_t bytes = 0;
  for (const auto& [directory, kept] : kept_) bytes += kept.bytes;
  while (bytes > kMaxKeptBytes) {
    auto oldest = kept_.end();
    for (auto one = kept_.begin(); one != kept_.end(); ++one) {
      if (one->second.attempt != nullptr || one->second.bytes == 0) continue;
      if (oldest == kept_.end() || one->second.taken < oldest->second.taken) {
        oldest = one;
      }
    }
    if (oldest == kept_.end()) return;
    bytes -= oldest->second.bytes;
    kept_.erase(oldest);
  }
}

class RemoteStore::EndOfAttempt {
 public:
  EndOfAttempt(RemoteStore& store, const std::string& directory,
               const AttemptPtr& attempt)
      : store_(store), directory_(directory), attempt_(attempt) {}
  ~EndOfAttempt() {
    const MutexLock lock(store_.mutex_);
    attempt_->done = true;
    store_.news_.NotifyAll();
    // A successful listing has replaced the cached one.
    const auto kept = store_.kept_.find(directory_);
    if (kept != store_.kept_.end() && kept->second.attempt == attempt_) {
      store_.kept_.erase(kept);
    }
  }
  EndOfAttempt(const EndOfAttempt&) = delete;
  EndOfAttempt& operator=(const EndOfAttempt&) = delete;

 private:
  RemoteStore& store_;
  const std::string& directory_;
  const AttemptPtr& attempt_;
};

Status RemoteStore::Await(const Attempt& attempt, const Request& request) {
  InterruptibleWait wait(news_, request.interrupt());
  while (!attempt.done) {
    if (wait.IsInterrupted()) return request.Check();
    CTXFS_TRY(request.CheckFor(Interrupt::kUnknownWork));
    wait.Wait(mutex_);
  }
  return {};
}

Result<StoreListingPtr> RemoteStore::ListFor(const std::string& directory,
                                             const AttemptPtr& attempt,
                                             const Request& request) {
  const EndOfAttempt end(*this, directory, attempt);
  Result<Kept> taken = Take(directory, request);
  const MutexLock lock(mutex_);
  if (!taken) {
    attempt->error = taken.error();
    return std::move(taken).error();
  }
  attempt->listing = taken->listing;
  kept_[directory] = *std::move(taken);
  DropOldest();
  return attempt->listing;
}

Result<StoreListingPtr> RemoteStore::List(const std::string& directory,
                                          const Request& request) {
  const Clock::time_point came = Clock::now();
  AttemptPtr own;
  while (own == nullptr) {
    const MutexLock lock(mutex_);
    Kept& kept = kept_[directory];
    if (IsFresh(kept)) return kept.listing;
    if (kept.attempt == nullptr) {
      own = kept.attempt = std::make_shared<Attempt>();
      continue;
    }
    const AttemptPtr others = kept.attempt;
    CTXFS_TRY(Await(*others, request));
    if (others->listing != nullptr) return others->listing;
    if (!others->error || !ConcernsAll(*others->error)) continue;
    // An attempt that began before this request had less time, so this thread
    // tries again.
    if (others->began < came && IsTransient(*others->error)) continue;
    return *others->error;
  }
  return ListFor(directory, own, request);
}

void RemoteStore::NoteChange(const std::string& directory) {
  const MutexLock lock(mutex_);
  const auto found = kept_.find(directory);
  if (found != kept_.end()) found->second.changed = true;
}

SourcePtr RemoteStore::OpenedJustNow(const std::string& url) {
  const MutexLock lock(mutex_);
  const auto now = Clock::now();
  opened_.remove_if(
      [now](const Opened& one) { return now - one.at > kJustNow; });
  const auto found = std::ranges::find(opened_, url, &Opened::url);
  if (found == opened_.end() || !found->source->CheckUnchanged()) return {};
  return found->source;
}

void RemoteStore::NoteOpened(const std::string& url, const SourcePtr& source) {
  const MutexLock lock(mutex_);
  opened_.push_front({url, source, Clock::now()});
  if (opened_.size() > kMaxOpened) opened_.pop_back();
}

Result<SourcePtr> RemoteStore::OpenDirectory(const std::string& directory,
                                             const Request& request) {
  const StoreListingPtr listing = CTXFS_TRY(List(directory, request));
  if (listing->names.empty()) return NoObjects(directory);
  return SourcePtr(std::make_shared<const RemoteDirectory>(*this, directory));
}

Result<SourcePtr> RemoteStore::Open(const std::string& url,
                                    const Request& request) {
  if (IsDirectoryUrl(url)) {
    return OpenDirectory(url.ends_with('/') ? url : url + "/", request);
  }
  if (SourcePtr opened = OpenedJustNow(url)) return opened;
  Result<SourcePtr> found = RemoteSource::Open(
      client_, url, request, names_index_at_end_(NameOf(url)));
  const bool listable = ListingsOf(url) != nullptr;
  if (!found && IsMissing(found.error()) && listable) {
    Error error = found.error();
    error.what += ", and none in a directory of that name";
    found = OpenDirectory(url + "/", request);
    if (!found && IsMissing(found.error())) return error;
  }
  if (found) NoteOpened(url, *found);
  return found;
}

SourcePtr RemoteStore::OpenKnown(const std::string& directory,
                                 const StoreName& name) {
  const bool etag = ListingsOf(directory)->have_etags;
  const bool quoted = name.version.size() > 2 &&
                      name.version.starts_with('"') &&
                      name.version.ends_with('"');
  if (!etag || !quoted) return nullptr;
  const std::string url = UrlOf(directory, name);
  return std::make_shared<const RemoteSource>(
      client_,
      client_->Known(url, {name.version, "", name.size}, name.modified_ns),
      RemoteSource::Listed{IdentityOf(url, name),
                           [this, directory] { NoteChange(directory); }});
}

Result<SourcePtr> RemoteStore::OpenListed(const std::string& directory,
                                          const StoreName& name,
                                          const Request& request) {
  if (name.directory) return OpenDirectory(UrlOf(directory, name), request);
  if (SourcePtr known = OpenKnown(directory, name)) return known;
  const std::string url = UrlOf(directory, name);
  const Result<RemoteObject> object = client_->Open(url, request);
  if (!object && IsMissing(object.error())) NoteChange(directory);
  if (!object) return object.error();
  if (object->identity.size != name.size) {
    NoteChange(directory);
    return Error{Code::kStale,
                 "the object changed on the server since it was listed"};
  }
  return SourcePtr(std::make_shared<const RemoteSource>(
      client_, *object,
      RemoteSource::Listed{IdentityOf(url, name),
                           [this, directory] { NoteChange(directory); }}));
}

}  // namespace ctxfs::remote

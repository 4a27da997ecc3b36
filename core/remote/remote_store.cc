// SPDX-License-Identifier: Apache-2.0
#include "core/remote/remote_store.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/interrupt_scope.h"
#include "core/base/limits.h"
#include "core/remote/listing.h"
#include "core/remote/remote_directory.h"
#include "core/remote/remote_source.h"
#include "core/remote/url.h"

namespace ctxfs::remote {
namespace {

constexpr uint64_t kMostKeptBytes = 512 * limits::kMiB;
constexpr std::chrono::milliseconds kNap(50);
// A directory that changes all the time is not listed more often than this.
constexpr std::chrono::seconds kLeastLasting(1);
constexpr std::chrono::seconds kJustNow(2);
constexpr size_t kMostOpened = 8;

Error NoObjects(const std::string& directory) {
  const std::string prefix = PathOfDirectory(directory);
  const std::string what =
      prefix.empty()
          ? "there is no object in it"
          : "there is no object whose name begins with '" + prefix + "'";
  return {Code::kIo, what, kNoOffset, ENOENT};
}

bool IsMissing(const Error& error) { return error.sys_errno == ENOENT; }

}  // namespace

RemoteStore::RemoteStore(std::shared_ptr<FetchClient> client,
                         std::chrono::seconds lasting)
    : client_(std::move(client)), lasting_(lasting) {}

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
                                            const Interrupt& interrupt) {
  const bool hub = directory.starts_with("hf://");
  ListingBuilder builder(directory);
  Kept kept;
  // What changes while it is listed is found out by the next listing.
  kept.taken = Clock::now();
  do {
    const PageText text =
        CTXFS_TRY(client_->ListPage(directory, builder.next(), interrupt));
    ListingPage page =
        CTXFS_TRY(hub ? ParseHubPage(text) : ParseS3Page(text.body));
    CTXFS_TRY(builder.Add(std::move(page)));
  } while (!builder.next().empty());
  kept.listing = builder.Finish();
  kept.bytes = builder.bytes() + directory.size() + sizeof(Kept);
  return kept;
}

void RemoteStore::DropOldest() {
  uint64_t bytes = 0;
  for (const auto& [directory, kept] : kept_) bytes += kept.bytes;
  while (bytes > kMostKeptBytes) {
    auto oldest = kept_.end();
    for (auto one = kept_.begin(); one != kept_.end(); ++one) {
      if (one->second.taking || one->second.bytes == 0) continue;
      if (oldest == kept_.end() || one->second.taken < oldest->second.taken) {
        oldest = one;
      }
    }
    if (oldest == kept_.end()) return;
    bytes -= oldest->second.bytes;
    kept_.erase(oldest);
  }
}

Result<StoreListingPtr> RemoteStore::List(const std::string& directory) {
  const Interrupt& interrupt = InterruptScope::OfThread();
  MutexLock lock(mutex_);
  while (true) {
    Kept& kept = kept_[directory];
    if (IsFresh(kept)) return kept.listing;
    if (!kept.taking) break;
    CTXFS_TRY(interrupt.CheckFor(Interrupt::kUnknownWork));
    news_.WaitFor(mutex_, kNap);
  }
  kept_[directory].taking = true;
  lock.Unlock();
  Result<Kept> taken = Take(directory, interrupt);
  lock.Lock();
  news_.NotifyAll();
  if (!taken) {
    kept_.erase(directory);
    return std::move(taken).error();
  }
  StoreListingPtr listing = taken->listing;
  kept_[directory] = *std::move(taken);
  DropOldest();
  return listing;
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
  if (opened_.size() > kMostOpened) opened_.pop_back();
}

Result<SourcePtr> RemoteStore::OpenDirectory(const std::string& directory) {
  const StoreListingPtr listing = CTXFS_TRY(List(directory));
  if (listing->names.empty()) return NoObjects(directory);
  return SourcePtr(std::make_shared<const RemoteDirectory>(*this, directory));
}

Result<SourcePtr> RemoteStore::Open(const std::string& url) {
  if (IsDirectoryUrl(url)) {
    return OpenDirectory(url.ends_with('/') ? url : url + "/");
  }
  if (SourcePtr opened = OpenedJustNow(url)) return opened;
  Result<SourcePtr> found = RemoteSource::Open(client_, url);
  const bool listable = url.starts_with("s3://") || url.starts_with("hf://");
  if (!found && IsMissing(found.error()) && listable) {
    Error error = found.error();
    error.what += ", and none in a directory of that name";
    found = OpenDirectory(url + "/");
    if (!found && IsMissing(found.error())) return error;
  }
  if (found) NoteOpened(url, *found);
  return found;
}

SourcePtr RemoteStore::OpenKnown(const std::string& directory,
                                 const StoreName& name) {
  const bool s3 = directory.starts_with("s3://");
  const bool quoted = name.version.size() > 2 &&
                      name.version.starts_with('"') &&
                      name.version.ends_with('"');
  if (!s3 || !quoted) return nullptr;
  const std::string url = UrlOf(directory, name);
  return std::make_shared<const RemoteSource>(
      client_,
      client_->Known(url, {name.version, "", name.size}, name.modified_ns),
      RemoteSource::Listed{IdentityOf(url, name),
                           [this, directory] { NoteChange(directory); }});
}

Result<SourcePtr> RemoteStore::OpenListed(const std::string& directory,
                                          const StoreName& name) {
  if (name.directory) return OpenDirectory(UrlOf(directory, name));
  if (SourcePtr known = OpenKnown(directory, name)) return known;
  const std::string url = UrlOf(directory, name);
  const Result<RemoteObject> object =
      client_->Open(url, InterruptScope::OfThread());
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

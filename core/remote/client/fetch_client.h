// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/mutex.h"
#include "core/base/request.h"
#include "core/base/result.h"
#include "core/io/fd.h"
#include "core/remote/client/ahead_budget.h"
#include "core/remote/client/channel.h"
#include "core/remote/client/failed_ranges.h"
#include "core/remote/client/fetch_stats.h"
#include "core/remote/client/messages.h"
#include "core/remote/client/open_descriptors.h"
#include "core/remote/client/shared_slots.h"
#include "core/remote/client/socket_wait.h"
#include "core/remote/stores/listing.h"

namespace ctxfs::remote {

/// An object as it was at open.
struct RemoteObject {
  uint64_t number = 0;  // unique in this client
  std::string url;
  Identity identity;
  int64_t modified_ns = 0;  // since 1970; 0: unknown
};

/// The fetcher's client, in the process that parses containers. Its socket is
/// the only way of that code to a server. Caches the latest granules in the
/// shared memory: one fetch serves all threads that wait for it. Long runs in
/// the disk cache are read from its files, whose descriptors the fetcher
/// passes, and verified here. One of the waiting threads reads the replies for
/// all. Makes only system calls that confined threads may make. Safe for any
/// number of threads.
///
/// A wait gives up at the end of its request's ServerWait, or else after a
/// timeout of its own. The result of a later reply is cached for the next read.
///
/// Invariants under mutex_:
///  - order_ and unread_ together have each slot once, unread_ those with
///    `ahead` set. A slot with a key is in granules_. A slot with a pending
///    request belongs to that request alone until the reply. No slot with a
///    pending request, and no pinned slot, is reused.
///  - pending_ has at most kMaxPending requests that were sent.
///  - short_of_slots_ counts the waits that Freed notifies.
///  - If waits_ is not empty and no thread reads the socket, a wait was
///  notified
///    that has not returned yet, or a thread holds the mutex that will read.
class FetchClient {
 public:
  /// Maximum number of pending requests. Their replies fit into the socket, so
  /// the fetcher never waits for this process while this process waits for it.
  static constexpr size_t kMaxPending = 72;

  /// `socket` is a SOCK_SEQPACKET; `timeout` is the time limit of a fetch.
  FetchClient(Fd socket, SharedSlots slots, std::chrono::milliseconds timeout);
  FetchClient(const FetchClient&) = delete;
  FetchClient& operator=(const FetchClient&) = delete;

  /// Opens the object at `url`. Fails like CheckHead (response.h), with
  /// kNotFound for an invalid URL, with kIo if no reply comes in time or the
  /// fetcher has ended, or with kInterrupted. With `with_tail`, the object's
  /// last granules are fetched at the same time as its first, if there is room.
  Result<RemoteObject> Open(const std::string& url, const Request& request,
                            bool with_tail = false);

  /// Returns the object at `url` from a listing, without a request. Equal
  /// objects share their granules.
  RemoteObject Known(const std::string& url, const Identity& identity,
                     int64_t modified_ns);

  /// A page of a listing that was requested before it is needed. If it is not
  /// taken, the destructor drops it. It must not outlive the client.
  class PageAhead;

  /// Requests the likely next page if there is room; does not wait.
  PageAhead RequestPage(const std::string& directory, const std::string& token);

  /// Returns a page of the listing of `directory`, or `ahead` if it is that
  /// page; `token` as for LocatePage. Fails like Open.
  Result<PageText> ListPage(const std::string& directory,
                            const std::string& token, const Request& request,
                            PageAhead ahead);

  /// Fills `out` with the bytes at `offset`, which must lie within the object.
  /// Waits for them unless `request` is interrupted or times out.
  Status Read(const RemoteObject& object, uint64_t offset, MutableBytes out,
              const Request& request);

  /// Starts to fetch a range of the object as far as there is room, without
  /// waiting. The range is part of the prefetch window of `window` bytes of
  /// `reader`, a number that Share gave, or 0. Returns the offset up to which
  /// the bytes are present or pending, or a fetch of them failed a moment ago.
  uint64_t Prefetch(const RemoteObject& object, uint64_t offset,
                    uint64_t length, uint64_t window = 0, uint64_t reader = 0);

  /// Returns how many bytes to prefetch for a reader: AheadBudget::Share.
  AheadBudget::Window Share(uint64_t* reader);

  /// Calls `tell` with an errno when the disk of the cache begins to refuse
  /// writes. Must be called before the first request. `tell` must not call this
  /// client.
  void TellRefusals(std::function<void(int error)> tell) {
    tell_refusal_ = std::move(tell);
  }

  /// From now on, replies wait until the cache has the bytes. Must be called
  /// before the first request.
  void WaitForCache() { waits_for_cache_ = true; }

  /// Waits until the cache has what was fetched, but not longer than `most`.
  void AwaitCache(std::chrono::milliseconds most);

  /// The socket, which delivers messages, some with descriptors.
  int descriptor() const { return socket_.get(); }

  /// Whether the byte at `offset` is present or pending.
  bool Has(const RemoteObject& object, uint64_t offset) const;

  FetchStats stats() const;

 private:
  /// Why a request has no reply.
  enum class Lost : uint8_t { kNot, kFetcherEnded, kNoMemory };

  struct Pending {
    FetchRequest request;
    uint64_t object = 0;  // 0: this request opens an object
    bool done = false;
    bool abandoned = false;  // nobody waits for the object to be opened
    std::optional<Identity> expected;  // for a tail: the identity of its object
    std::string message;               // the encoded request
    unsigned restarts = 0;  // of the fetcher, since the first transmission
    Lost lost = Lost::kNot;
    FetchReply reply;

    bool failed() const { return lost != Lost::kNot || reply.error; }
    /// The reason of the failure; failed() must be true.
    Error error() const;
  };
  using PendingPtr = std::shared_ptr<Pending>;
  /// Object and number of a granule.
  using Key = std::pair<uint64_t, uint64_t>;
  struct Slot {
    std::optional<Key> key;               // nullopt: free
    PendingPtr pending;                   // null: the bytes are present
    bool ahead = false;                   // prefetched and not read yet
    uint64_t reader = 0;                  // for which it was prefetched
    uint64_t used = 0;                    // number of its last use
    bool passing = false;                 // read once, and also in the disk
                                          // cache
    bool counted = false;                 // in the ServerWait of a reader
    size_t read = 0;                      // bytes read, from the start of the
                                          // granule
    unsigned pins = 0;                    // threads that are copying from it
    std::list<uint16_t>::iterator place;  // in order_ or unread_
  };

  // Scopes that clean up after an exception or an early return.

  /// A request with slots that is not sent yet. The destructor frees the slots.
  class Unsent;
  /// A request whose reply a thread awaits. The destructor drops the reply.
  class Awaited;
  /// A reply in processing. The destructor fails its request, if it is not
  /// done.
  class Taken;
  /// The reading of the socket by one thread for all.
  class Reading;
  /// A slot whose bytes are in use without the mutex.
  class Pinned;
  /// A wait of a thread. If no thread reads the socket when it ends, another
  /// wait is notified, whose thread does.
  class Waiting;

  /// Why granules are requested. kRead: a thread waits for them. kAhead: a
  /// thread may need them later. kDamaged: a thread found them damaged in a
  /// file, so the fetcher must check the file again.
  enum class Purpose : uint8_t { kRead, kAhead, kDamaged };

  /// Requests the granules of [offset, offset + length) that are neither
  /// present nor pending, while there is room, in ranges whose size suits a
  /// reader of `window` bytes at a time. Returns the end of the requested part.
  uint64_t RequestRange(const RemoteObject& object, uint64_t offset,
                        uint64_t length, uint64_t window, Purpose purpose,
                        uint64_t reader = 0) CTXFS_REQUIRES(mutex_);
  /// Requests at most `most` granules from `first` on by one message; returns
  /// their number.
  uint64_t RequestRun(const RemoteObject& object, uint64_t first, uint64_t most,
                      Purpose purpose, uint64_t reader) CTXFS_REQUIRES(mutex_);
  /// Whether another request may be sent. For kAhead, makes room by giving up
  /// what was prefetched for readers that prefetch no more.
  bool HasRoom(Purpose purpose) CTXFS_REQUIRES(mutex_);
  /// Takes the least recently used slot. One that was prefetched for a reader
  /// that goes on is taken only if there is no other, and not for kAhead.
  std::optional<uint16_t> TakeSlot(Purpose purpose = Purpose::kRead)
      CTXFS_REQUIRES(mutex_);
  bool IsReusable(uint16_t slot) const CTXFS_REQUIRES(mutex_);
  /// Whether a prefetched slot may be reused, was last used before `since`, and
  /// its reader prefetches no more.
  bool IsUseless(uint16_t slot, uint64_t since) const CTXFS_REQUIRES(mutex_);
  /// Returns the first slot of a list that may be reused.
  std::optional<uint16_t> ReusableOf(const std::list<uint16_t>& slots) const
      CTXFS_REQUIRES(mutex_);
  /// Waits for slots for a request without any, and takes them.
  Status TakeSlots(const PendingPtr& pending, size_t count,
                   const Request& request) CTXFS_REQUIRES(mutex_);
  void Forget(uint16_t slot) CTXFS_REQUIRES(mutex_);
  /// Sends a request for `count` granules; null if there is no room.
  PendingPtr SendIfRoom(FetchRequest request, size_t count)
      CTXFS_REQUIRES(mutex_);
  void DropPage(const PendingPtr& pending);
  /// Drops the present or future reply to a request.
  void Abandon(const PendingPtr& pending) CTXFS_REQUIRES(mutex_);
  /// Sets the object that a tail must belong to.
  void ExpectTail(const PendingPtr& tail, const RemoteObject& object)
      CTXFS_REQUIRES(mutex_);
  /// Caches a received tail if it belongs to the opened object.
  void KeepTail(const PendingPtr& tail) CTXFS_REQUIRES(mutex_);
  size_t SlotsBeingCached() const;
  void MarkRead(Slot& slot) CTXFS_REQUIRES(mutex_);
  void FreeSlots(const Pending& pending) CTXFS_REQUIRES(mutex_);
  void Send(Unsent& unsent) CTXFS_REQUIRES(mutex_);
  /// Sends the message of a request. Cannot fail for lack of memory.
  void Transmit(const std::string& message) CTXFS_REQUIRES(mutex_);
  /// Copies bytes at `offset` from the granule in `slot`; returns their number.
  size_t Copy(uint16_t slot, uint64_t offset, MutableBytes out,
              const Request& request) CTXFS_REQUIRES(mutex_);
  /// Copies to `out` all whole granules from `offset` on that the file has. If
  /// `out` needs only a part of the first granule, copies no bytes to `out`,
  /// but the granule to a slot. Returns the number of bytes copied to `out`;
  /// nullopt if the first granule is damaged.
  Result<std::optional<size_t>> CopyFrom(const BlockFile& file,
                                         const RemoteObject& object,
                                         uint64_t offset, MutableBytes out,
                                         const Request& request)
      CTXFS_REQUIRES(mutex_);
  /// Copies a granule from a file to a slot. If no slot is free, only waits for
  /// one, and the caller must try again. Returns false if the granule is
  /// damaged.
  Result<bool> Load(const BlockFile& file, const RemoteObject& object,
                    uint64_t granule, const Request& request)
      CTXFS_REQUIRES(mutex_);
  /// Whether a granule is present or pending; kDamaged ignores files.
  bool IsThere(const RemoteObject& object, uint64_t granule,
               Purpose purpose) const CTXFS_REQUIRES(mutex_);
  /// Whether to request a granule. Failed granules are not prefetched.
  bool IsWanted(const RemoteObject& object, uint64_t granule,
                Purpose purpose) const CTXFS_REQUIRES(mutex_);
  Status Await(const PendingPtr& pending, const Request& request)
      CTXFS_REQUIRES(mutex_);
  /// Like Await, for granules; records failures. `older` is the number of the
  /// last request before the reader came. Returns true if the reader should
  /// send its own request: the awaited one was a tail, or it is older than the
  /// reader, so that it had less time, and its error is transient.
  Result<bool> AwaitGranules(const PendingPtr& pending, uint64_t older,
                             const Request& request) CTXFS_REQUIRES(mutex_);
  /// If the granule failed a moment before the request began, limits the wait
  /// of the request to the remaining time of the failed one. Fails if hardly
  /// any time is left.
  Status CheckFailed(const Key& key, const Request& request)
      CTXFS_REQUIRES(mutex_);
  /// Waits for news. Fails if the request is interrupted, or if its time is
  /// used up.
  Status WaitMore(Waiting& waiting, const Request& request)
      CTXFS_REQUIRES(mutex_);
  /// Like WaitMore, for a free slot or for fewer pending requests.
  Status AwaitSlot(const Request& request) CTXFS_REQUIRES(mutex_);
  /// Waits for news since `ticket`, until `end` at the latest: reads a reply,
  /// or lets another thread read it.
  void AwaitNews(Waiting& waiting, CondVar::Ticket ticket,
                 CondVar::Clock::time_point end) CTXFS_REQUIRES(mutex_);
  /// Wakes the waits for a request or, if it is null, those for slots, which
  /// then test their conditions.
  void Tell(const Pending* done) CTXFS_REQUIRES(mutex_);
  /// Notifies waits for slots that one may be free.
  void Freed() CTXFS_REQUIRES(mutex_);
  void Take(FetchReply reply, std::vector<BlockFile> files)
      CTXFS_REQUIRES(mutex_);
  void Restart(uint32_t epoch) CTXFS_REQUIRES(mutex_);
  void Lose(const PendingPtr& pending, Lost why) CTXFS_REQUIRES(mutex_);
  void End() CTXFS_REQUIRES(mutex_);

  const Fd socket_;
  const SharedSlots shared_;
  const std::chrono::milliseconds timeout_;
  std::function<void(int error)> tell_refusal_;
  bool waits_for_cache_ = false;
  mutable Mutex mutex_;
  std::list<Waiting*> waits_ CTXFS_GUARDED_BY(mutex_);
  const SocketWait message_;  // of the reading thread
  size_t short_of_slots_ CTXFS_GUARDED_BY(mutex_) = 0;
  bool reading_ CTXFS_GUARDED_BY(mutex_) = false;
  Received received_;  // not processed yet; used by the reading thread
  bool ended_ CTXFS_GUARDED_BY(mutex_) = false;  // there is no fetcher any more
  uint64_t requests_ CTXFS_GUARDED_BY(mutex_) = 0;
  uint64_t uses_ CTXFS_GUARDED_BY(mutex_) = 0;  // of slots
  uint64_t objects_ CTXFS_GUARDED_BY(mutex_) = 0;
  /// The object numbers that Known has given, by URL, ETag and size.
  std::unordered_map<std::string, uint64_t> known_ CTXFS_GUARDED_BY(mutex_);
  uint32_t epoch_ CTXFS_GUARDED_BY(mutex_) = 0;
  AheadBudget budget_ CTXFS_GUARDED_BY(mutex_);
  OpenDescriptors files_ CTXFS_GUARDED_BY(mutex_);
  FailedRanges failed_ CTXFS_GUARDED_BY(mutex_);
  /// False once a file of a reply was lost, because this process had reached
  /// its limit of descriptors or the file was damaged.
  bool takes_files_ CTXFS_GUARDED_BY(mutex_) = true;
  FetchStats stats_ CTXFS_GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, PendingPtr> pending_ CTXFS_GUARDED_BY(mutex_);
  std::vector<Slot> slots_ CTXFS_GUARDED_BY(mutex_);
  std::list<uint16_t> order_ CTXFS_GUARDED_BY(mutex_);   // least recently used
                                                         // first
  std::list<uint16_t> unread_ CTXFS_GUARDED_BY(mutex_);  // in the order of
                                                         // their requests
  std::map<Key, uint16_t> granules_ CTXFS_GUARDED_BY(mutex_);
};

class FetchClient::Unsent {
 public:
  Unsent(FetchClient& client, size_t most_slots)
      : client_(client), pending_(std::make_shared<Pending>()) {
    pending_->request.slots.reserve(most_slots);
  }
  ~Unsent() CTXFS_ANNOTATION(no_thread_safety_analysis) {
    if (pending_ != nullptr) client_.FreeSlots(*pending_);
  }
  Unsent(const Unsent&) = delete;
  Unsent& operator=(const Unsent&) = delete;

  const PendingPtr& pending() const { return pending_; }
  FetchRequest& request() const { return pending_->request; }
  /// Returns the request, which keeps its slots.
  PendingPtr Release() { return std::exchange(pending_, nullptr); }

 private:
  FetchClient& client_;
  PendingPtr pending_;
};

class FetchClient::Awaited {
 public:
  Awaited(FetchClient& client, PendingPtr pending)
      : client_(client), pending_(std::move(pending)) {}
  ~Awaited() CTXFS_ANNOTATION(no_thread_safety_analysis) {
    client_.Abandon(pending_);
  }
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;

  const PendingPtr& pending() const { return pending_; }
  /// Starts to await a request; there must be none before.
  void Await(PendingPtr pending) { pending_ = std::move(pending); }
  /// Keeps the reply.
  void Release() { pending_ = nullptr; }

 private:
  FetchClient& client_;
  PendingPtr pending_;
};

class FetchClient::PageAhead {
 public:
  PageAhead() = default;
  PageAhead(FetchClient* client, PendingPtr pending)
      : client_(client), pending_(std::move(pending)) {}
  ~PageAhead() {
    if (pending_ != nullptr) client_->DropPage(pending_);
  }
  PageAhead(PageAhead&&) noexcept = default;
  PageAhead& operator=(PageAhead&& other) noexcept {
    std::swap(client_, other.client_);
    std::swap(pending_, other.pending_);
    return *this;
  }

  /// Returns the request if it is for this page; else null.
  PendingPtr Take(const std::string& directory, const std::string& token);

 private:
  FetchClient* client_ = nullptr;
  PendingPtr pending_;
};

}  // namespace ctxfs::remote

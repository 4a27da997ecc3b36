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
#include "core/remote/client/channel.h"
#include "core/remote/client/failed_ranges.h"
#include "core/remote/client/fetch_stats.h"
#include "core/remote/client/messages.h"
#include "core/remote/client/open_descriptors.h"
#include "core/remote/client/shared_slots.h"
#include "core/remote/client/socket_wait.h"
#include "core/remote/stores/listing.h"

namespace ctxfs::remote {

/// An object as it was when it was opened.
struct RemoteObject {
  uint64_t number = 0;  // of this client
  std::string url;
  Identity identity;
  int64_t modified_ns = 0;  // since 1970; 0: not known
};

/// The fetcher's client, in the process that parses containers and has no
/// socket but this one. Keeps the latest granules in the shared memory: one
/// fetch serves all threads that wait for it. What the cache has in long runs
/// is read from its files, whose descriptors the fetcher passes, and compared
/// with its checksums here. One of the waiting threads reads
/// the replies for all. Makes no system calls that a confined thread may not
/// make. Safe for any number of threads.
///
/// What waits gives up when the ServerWait of its request ends, or else has a
/// timeout to itself. A fetch that comes later is kept for the next read.
///
/// Under mutex_ it holds:
///  - order_ has each slot once. One with a key is in granules_; one with a
///    pending request belongs to that alone until the reply, and is not given
///    to another, nor is one that is pinned.
///  - ahead_ counts the slots that are `ahead`.
///  - pending_ has at most kMaxPending requests that were sent.
///  - short_of_slots_ counts the threads that Freed tells.
class FetchClient {
 public:
  /// Limit of requests on their way. Their replies fit into the socket, so the
  /// fetcher never waits for this process while this process waits for it.
  static constexpr size_t kMaxPending = 72;

  /// `socket` is of the type SOCK_SEQPACKET; `timeout` is that of a fetch.
  FetchClient(Fd socket, SharedSlots slots, std::chrono::milliseconds timeout);
  FetchClient(const FetchClient&) = delete;
  FetchClient& operator=(const FetchClient&) = delete;

  /// Opens the object at `url`. Fails as CheckHead (response.h) does, with
  /// kNotFound for what is no URL, or with kInterrupted. With `with_tail`, the
  /// object's last granules are fetched at the same time as its first.
  Result<RemoteObject> Open(const std::string& url, const Request& request,
                            bool with_tail = false);

  /// Returns the object at `url` as a listing told of it, without a request.
  /// Equal ones share their granules.
  RemoteObject Known(const std::string& url, const Identity& identity,
                     int64_t modified_ns);

  /// A page of a listing that was requested before it is known to be wanted. If
  /// nobody takes it, it is dropped. Lives no longer than the client.
  class PageAhead;

  /// Requests a page that may be listed next, if there is room; does not wait.
  PageAhead RequestPage(const std::string& directory, const std::string& token);

  /// Returns a page of the listing of `directory`; `token` as for LocatePage.
  /// That is `ahead`, if it is the right one. Fails as Open does.
  Result<PageText> ListPage(const std::string& directory,
                            const std::string& token, const Request& request,
                            PageAhead ahead);

  /// Fills `out` with the bytes at `offset`, which lie within the object. Waits
  /// until they are there or `request` says so.
  Status Read(const RemoteObject& object, uint64_t offset, MutableBytes out,
              const Request& request);

  /// Starts to fetch a range of the object as far as there is room for it, and
  /// does not wait. It is a part of the `window` bytes that the reader has
  /// fetched in advance. Returns the offset up to which it is there or on its
  /// way.
  uint64_t Prefetch(const RemoteObject& object, uint64_t offset,
                    uint64_t length, uint64_t window = 0);

  /// Calls `tell` with an errno when the disk of the cache begins to refuse
  /// writes. Set before the first request. Must not call this.
  void TellRefusals(std::function<void(int error)> tell) {
    tell_refusal_ = std::move(tell);
  }

  /// The socket: messages come from it, some with descriptors.
  int descriptor() const { return socket_.get(); }

  /// Whether the byte at `offset` is there or on its way.
  bool Has(const RemoteObject& object, uint64_t offset) const;

  FetchStats stats() const;

 private:
  /// Why a request has no reply.
  enum class Lost : uint8_t { kNot, kFetcherEnded, kNoMemory };

  struct Pending {
    FetchRequest request;
    uint64_t object = 0;  // 0: it is being opened
    bool done = false;
    bool abandoned = false;  // nobody waits for the object to be opened
    std::optional<Identity> expected;  // of a tail: that of the object
    std::string message;               // the request as it is sent
    unsigned restarts = 0;  // of the fetcher, since it was first sent
    Lost lost = Lost::kNot;
    FetchReply reply;

    bool failed() const { return lost != Lost::kNot || reply.error; }
    /// Why; `failed` is true.
    Error error() const;
  };
  using PendingPtr = std::shared_ptr<Pending>;
  /// Object and number of a granule.
  using Key = std::pair<uint64_t, uint64_t>;
  struct Slot {
    std::optional<Key> key;               // nullopt: free
    PendingPtr pending;                   // null: the bytes are there
    bool ahead = false;                   // fetched in advance, and not read
    bool passing = false;                 // the cache has what is read once
    bool counted = false;                 // to the ServerWait of a reader
    size_t read = 0;                      // of the granule, from its beginning
    unsigned pins = 0;                    // threads that copy from it
    std::list<uint16_t>::iterator place;  // in order_
  };

  // Scopes: what an exception or an early return leaves undone, they do.

  /// A request that has slots and is not sent yet: frees them.
  class Unsent;
  /// A request whose reply a thread waits for: drops what it brings.
  class Awaited;
  /// A reply that is being taken: fails its request.
  class Taken;
  /// Reading from the socket, which one thread does for all.
  class Reading;
  /// A slot whose bytes are in use without the mutex.
  class Pinned;
  /// A wait for a slot: is told when one may be free.
  class ShortOfSlots;

  /// Why granules are requested: a thread waits for them, or may later, or
  /// found them damaged in a file, so that the fetcher shall look.
  enum class Purpose : uint8_t { kRead, kAhead, kDamaged };

  /// Requests those granules of [offset, offset + length) that are neither
  /// there nor on their way, while there is room, in ranges for a reader of
  /// `window` bytes at a time. Returns up to where it came.
  uint64_t RequestRange(const RemoteObject& object, uint64_t offset,
                        uint64_t length, uint64_t window, Purpose purpose)
      CTXFS_REQUIRES(mutex_);
  /// Requests at most `most` granules from `first` on by one message; returns
  /// how many.
  uint64_t RequestRun(const RemoteObject& object, uint64_t first, uint64_t most,
                      Purpose purpose) CTXFS_REQUIRES(mutex_);
  bool HasRoom(Purpose purpose) const CTXFS_REQUIRES(mutex_);
  std::optional<uint16_t> TakeSlot() CTXFS_REQUIRES(mutex_);
  /// Takes slots for a request that has none, and waits for them.
  Status TakeSlots(const PendingPtr& pending, size_t count,
                   const Request& request) CTXFS_REQUIRES(mutex_);
  void Forget(uint16_t slot) CTXFS_REQUIRES(mutex_);
  /// Sends a request for `count` granules; null if there is no room.
  PendingPtr SendIfRoom(FetchRequest request, size_t count)
      CTXFS_REQUIRES(mutex_);
  void DropPage(const PendingPtr& pending);
  /// Drops what a request brings, or has brought: nobody wants it.
  void Abandon(const PendingPtr& pending) CTXFS_REQUIRES(mutex_);
  /// Says which object a tail is to be of.
  void ExpectTail(const PendingPtr& tail, const RemoteObject& object)
      CTXFS_REQUIRES(mutex_);
  /// Keeps a tail that came, if it is of the object that was opened.
  void KeepTail(const PendingPtr& tail) CTXFS_REQUIRES(mutex_);
  void MarkRead(Slot& slot) CTXFS_REQUIRES(mutex_);
  /// Frees the slots of a request.
  void FreeSlots(const Pending& pending) CTXFS_REQUIRES(mutex_);
  void Send(Unsent& unsent) CTXFS_REQUIRES(mutex_);
  /// Sends the message of a request. Does not fail for lack of memory.
  void Transmit(const std::string& message) CTXFS_REQUIRES(mutex_);
  /// Copies bytes at `offset` from the granule in `slot`; returns how many.
  size_t Copy(uint16_t slot, uint64_t offset, MutableBytes out,
              const Request& request) CTXFS_REQUIRES(mutex_);
  /// Copies bytes at `offset` from a file that has their granule: all that the
  /// file has of `out`, or none after part of a granule was moved to a slot.
  /// nullopt if the file is damaged.
  Result<std::optional<size_t>> CopyFrom(const BlockFile& file,
                                         const RemoteObject& object,
                                         uint64_t offset, MutableBytes out,
                                         const Request& request)
      CTXFS_REQUIRES(mutex_);
  /// Moves a granule from a file to a slot, or waits if all are in use; false
  /// if it is damaged.
  Result<bool> Load(const BlockFile& file, const RemoteObject& object,
                    uint64_t granule, const Request& request)
      CTXFS_REQUIRES(mutex_);
  /// Whether a granule is there or on its way, files aside for kDamaged.
  bool IsThere(const RemoteObject& object, uint64_t granule,
               Purpose purpose) const CTXFS_REQUIRES(mutex_);
  /// Whether to request a granule. What was waited for in vain is not fetched
  /// in advance.
  bool IsWanted(const RemoteObject& object, uint64_t granule,
                Purpose purpose) const CTXFS_REQUIRES(mutex_);
  Status Await(const PendingPtr& pending, const Request& request)
      CTXFS_REQUIRES(mutex_);
  /// Like Await, for granules; notes which ones failed. `older` is the number
  /// of the last request before the reader came. Returns true if the reader
  /// should send a request of its own: the one it waited for was a tail, or it
  /// is older, so that it had less time, and its error is transient.
  Result<bool> AwaitGranules(const PendingPtr& pending, uint64_t older,
                             const Request& request) CTXFS_REQUIRES(mutex_);
  /// Fails if the granule was waited for in vain a moment ago, before the
  /// request began. What is left of the time for it is the most that
  /// the request may wait.
  Status CheckFailed(const Key& key, const Request& request)
      CTXFS_REQUIRES(mutex_);
  /// Waits for news, unless the thread may wait no longer.
  Status WaitMore(const Request& request) CTXFS_REQUIRES(mutex_);
  /// Like WaitMore, for a slot or for less that is pending.
  Status AwaitSlot(const Request& request) CTXFS_REQUIRES(mutex_);
  /// Waits for news since `ticket`, until `end` at the latest: reads a reply,
  /// or lets the thread that does so.
  void AwaitNews(CondVar::Ticket ticket, CondVar::Clock::time_point end)
      CTXFS_REQUIRES(mutex_);
  /// Ends all waits: those that wait look again.
  void Tell();
  /// Tells those that are short of slots that one may be free.
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
  mutable Mutex mutex_;
  CondVar news_;
  const SocketWait message_;  // of the thread that is reading
  size_t short_of_slots_ CTXFS_GUARDED_BY(mutex_) = 0;
  bool reading_ CTXFS_GUARDED_BY(mutex_) = false;
  Received received_;  // not taken yet; of the thread that is reading
  bool ended_ CTXFS_GUARDED_BY(mutex_) = false;  // there is no fetcher any more
  uint64_t requests_ CTXFS_GUARDED_BY(mutex_) = 0;
  uint64_t objects_ CTXFS_GUARDED_BY(mutex_) = 0;
  /// Numbers of objects that listings told of.
  std::unordered_map<std::string, uint64_t> known_ CTXFS_GUARDED_BY(mutex_);
  uint32_t epoch_ CTXFS_GUARDED_BY(mutex_) = 0;
  size_t ahead_ CTXFS_GUARDED_BY(mutex_) = 0;  // slots that are `ahead`
  OpenDescriptors files_ CTXFS_GUARDED_BY(mutex_);
  FailedRanges failed_ CTXFS_GUARDED_BY(mutex_);
  /// False once a descriptor did not come: this process has no room for it.
  bool takes_files_ CTXFS_GUARDED_BY(mutex_) = true;
  FetchStats stats_ CTXFS_GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, PendingPtr> pending_ CTXFS_GUARDED_BY(mutex_);
  std::vector<Slot> slots_ CTXFS_GUARDED_BY(mutex_);
  std::list<uint16_t> order_ CTXFS_GUARDED_BY(mutex_);  // least recent first
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
  /// The request, whose slots are its own from now on.
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
  /// Waits for this request in place of none.
  void Await(PendingPtr pending) { pending_ = std::move(pending); }
  /// The client keeps the bytes that it brings.
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

  /// The request, if it is for this page; else null.
  PendingPtr Take(const std::string& directory, const std::string& token);

 private:
  FetchClient* client_ = nullptr;
  PendingPtr pending_;
};

}  // namespace ctxfs::remote

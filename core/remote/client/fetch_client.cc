// SPDX-License-Identifier: Apache-2.0
#include "core/remote/client/fetch_client.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/assert.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/interruptible_wait.h"
#include "core/base/mutex_unlock.h"
#include "core/remote/client/fetch_errors.h"

namespace ctxfs::remote {
namespace {

// The client waits this much longer than the fetcher, which can report the
// reason of a timeout.
constexpr std::chrono::milliseconds kLater(50);
// If more fetchers than this end during one request, that request is likely the
// reason.
constexpr unsigned kMaxRestarts = 8;

/// The request for the tail of an object that is being opened.
FetchRequest TailOf(const std::string& url) {
  FetchRequest request;
  request.url = url;
  request.tail = true;
  return request;
}

}  // namespace

FetchClient::FetchClient(Fd socket, SharedSlots slots,
                         std::chrono::milliseconds timeout)
    : socket_(std::move(socket)),
      shared_(std::move(slots)),
      timeout_(timeout),
      slots_(SharedSlots::kCount) {
  for (uint16_t i = 0; i < SharedSlots::kCount; ++i) {
    slots_[i].place = order_.insert(order_.end(), i);
  }
  ended_ = !message_.ok();  // without this, waits could not be interrupted
}

FetchStats FetchClient::stats() const {
  const MutexLock lock(mutex_);
  FetchStats stats = stats_;
  stats.backlog = SlotsBeingCached() * kGranuleBytes;
  return stats;
}

size_t FetchClient::SlotsBeingCached() const {
  size_t count = 0;
  for (uint16_t slot = 0; slot < SharedSlots::kCount; ++slot) {
    if (shared_.IsBeingCached(slot)) ++count;
  }
  return count;
}

void FetchClient::MarkRead(Slot& slot) {
  if (!std::exchange(slot.ahead, false)) return;
  order_.splice(order_.end(), unread_, slot.place);
}

void FetchClient::Forget(uint16_t number) {
  Slot& slot = slots_[number];
  MarkRead(slot);
  CTXFS_ASSERT(!slot.key || granules_.at(*slot.key) == number);
  if (slot.key) granules_.erase(*slot.key);
  slot.key.reset();
  slot.pending.reset();
  slot.passing = false;
  slot.counted = false;
  slot.read = 0;
  order_.splice(order_.begin(), order_, slot.place);
}

bool FetchClient::IsReusable(uint16_t number) const {
  return slots_[number].pins == 0 && slots_[number].pending == nullptr &&
         !shared_.IsBeingCached(number);
}

std::optional<uint16_t> FetchClient::ReusableOf(
    const std::list<uint16_t>& slots) const {
  for (const uint16_t number : slots) {
    if (IsReusable(number)) return number;
  }
  return std::nullopt;
}

bool FetchClient::IsUseless(uint16_t number, uint64_t since) const {
  const Slot& slot = slots_[number];
  return IsReusable(number) && slot.used < since &&
         !budget_.IsActive(slot.reader);
}

std::optional<uint16_t> FetchClient::TakeSlot(Purpose purpose) {
  std::optional<uint16_t> slot = ReusableOf(order_);
  const uint64_t since = slot ? slots_[*slot].used : UINT64_MAX;
  if (!unread_.empty() && IsUseless(unread_.front(), since)) {
    slot = unread_.front();
  }
  if (!slot && purpose != Purpose::kAhead) slot = ReusableOf(unread_);
  if (!slot) return std::nullopt;
  Forget(*slot);
  slots_[*slot].used = ++uses_;
  order_.splice(order_.end(), order_, slots_[*slot].place);
  return slot;
}

void FetchClient::FreeSlots(const Pending& pending) {
  for (const uint16_t slot : pending.request.slots) Forget(slot);
  Freed();
}

class FetchClient::Waiting {
 public:
  Waiting(FetchClient& client, const Pending* awaited)
      CTXFS_ANNOTATION(no_thread_safety_analysis)
      : client_(client),
        awaited_(awaited),
        place_(client.waits_.insert(client.waits_.end(), this)) {
    if (awaited == nullptr) ++client_.short_of_slots_;
  }
  ~Waiting() CTXFS_ANNOTATION(no_thread_safety_analysis) {
    if (awaited_ == nullptr) --client_.short_of_slots_;
    client_.waits_.erase(place_);
    if (client_.reading_ || client_.waits_.empty()) return;
    client_.waits_.front()->news.NotifyAll();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  const Pending* awaited() const { return awaited_; }

  CondVar news;

 private:
  FetchClient& client_;
  const Pending* const awaited_;
  const std::list<Waiting*>::iterator place_;
};

void FetchClient::Freed() {
  if (short_of_slots_ > 0) Tell(nullptr);
}

void FetchClient::Tell(const Pending* done) {
  for (Waiting* const one : waits_) {
    if (one->awaited() == done) one->news.NotifyAll();
  }
  if (done == nullptr) message_.Tell();
}

void FetchClient::Transmit(const std::string& message) {
  // A write to a closed socket would raise SIGPIPE.
  struct pollfd state {
    socket_.get(), POLLOUT, 0
  };
  (void)::poll(&state, 1, 0);
  ssize_t n = -1;
  if ((state.revents & (POLLHUP | POLLERR)) == 0) {
    do {
      n = ::write(socket_.get(), message.data(), message.size());
    } while (n < 0 && errno == EINTR);
  }
  if (n < 0) End();
}

void FetchClient::Send(Unsent& unsent) {
  const PendingPtr& pending = unsent.pending();
  FetchRequest& request = pending->request;
  request.id = ++requests_;
  request.epoch = epoch_;
  pending->message = Encode(request);
  pending_.emplace(request.id, pending);
  // From here on nothing can fail for lack of memory.
  Transmit(unsent.Release()->message);
}

class FetchClient::Reading {
 public:
  explicit Reading(FetchClient& client)
      CTXFS_ANNOTATION(no_thread_safety_analysis)
      : client_(client) {
    client_.reading_ = true;
  }
  ~Reading() CTXFS_ANNOTATION(no_thread_safety_analysis) {
    client_.reading_ = false;
  }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  FetchClient& client_;
};

void FetchClient::AwaitNews(Waiting& waiting, CondVar::Ticket ticket,
                            CondVar::Clock::time_point end) {
  if (reading_) {
    waiting.news.WaitUntil(mutex_, end, ticket);
    return;
  }
  const Reading reading(*this);
  std::optional<FetchReply> reply;
  std::vector<BlockFile> files;
  bool ended = false;
  {
    const MutexUnlock unlocked(mutex_);
    // A message that was not processed is still in received_.
    if (received_.text.empty()) {
      if (!message_.Await(socket_, end)) return;
      received_ = ReceiveMessage(socket_.get());
    }
    ended = received_.text.empty();
    reply = DecodeReply(received_.text);
    if (reply) files = LoadPassed(*reply, std::move(received_.descriptors));
    received_ = {};
  }
  const uint64_t pauses = stats_.pauses;
  if (reply) Take(std::move(*reply), std::move(files));
  if (ended) End();
  if (stats_.pauses == pauses || !tell_refusal_) return;
  const auto refusal = static_cast<int>(stats_.refusal);
  const MutexUnlock unlocked(mutex_);
  tell_refusal_(refusal);
}

class FetchClient::Taken {
 public:
  Taken(FetchClient& client, PendingPtr pending)
      : client_(client), pending_(std::move(pending)) {}
  ~Taken() CTXFS_ANNOTATION(no_thread_safety_analysis) {
    if (!pending_->done) client_.Lose(pending_, Lost::kNoMemory);
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  Pending* operator->() const { return pending_.get(); }
  const PendingPtr& pending() const { return pending_; }

 private:
  FetchClient& client_;
  const PendingPtr pending_;
};

void FetchClient::Take(FetchReply reply, std::vector<BlockFile> files) {
  if (reply.id == 0) return Restart(reply.epoch);
  const auto found = pending_.find(reply.id);
  if (found == pending_.end() || reply.epoch != epoch_) return;
  const Taken pending(*this, std::move(found->second));
  pending_.erase(found);
  stats_.Add(reply);
  budget_.NoteReply(reply.first_us, reply.received);
  // If descriptors were lost, or a file was damaged meanwhile, requests no more
  // files.
  if (files.size() < reply.files.size()) takes_files_ = false;
  for (BlockFile& file : files) files_.Add(pending->object, std::move(file));
  // From here on nothing can fail for lack of memory.
  pending->reply = std::move(reply);
  pending->done = true;
  Tell(pending.pending().get());
  Freed();
  if (pending->request.tail) {
    if (pending->abandoned) Abandon(pending.pending());
    if (pending->expected) KeepTail(pending.pending());
    return;
  }
  uint64_t granule = pending->request.first;
  for (const uint16_t slot : pending->request.slots) {
    const bool passed = IsPassed(pending->reply, granule++);
    // Granules without an object number belong to an object that is being
    // opened. The opening thread caches them.
    if (pending->failed() || pending->abandoned || passed) {
      Forget(slot);
    } else if (pending->object != 0) {
      slots_[slot].pending.reset();
      slots_[slot].passing = pending->reply.kept && slots_[slot].ahead;
    }
  }
}

void FetchClient::Restart(uint32_t epoch) {
  epoch_ = epoch;
  ++stats_.restarts;
  // The fetcher that was writing them has ended.
  for (uint16_t slot = 0; slot < SharedSlots::kCount; ++slot) {
    shared_.SetBeingCached(slot, false);
  }
  for (auto one = pending_.begin(); one != pending_.end() && !ended_;) {
    const PendingPtr pending = one->second;
    if (++pending->restarts > kMaxRestarts) {
      one = pending_.erase(one);
      Lose(pending, Lost::kFetcherEnded);
      continue;
    }
    ++one;
    pending->request.epoch = epoch;
    SetEpoch(pending->message, epoch);
    Transmit(pending->message);
  }
}

Error FetchClient::Pending::error() const {
  if (lost == Lost::kNoMemory) {
    return {Code::kNoMemory, "no memory for the reply to a request"};
  }
  if (lost == Lost::kNot) return *reply.error;
  return restarts > kMaxRestarts ? FetcherEndedAgain(restarts) : FetcherEnded();
}

void FetchClient::Lose(const PendingPtr& pending, Lost why) {
  pending->done = true;
  pending->lost = why;
  Tell(pending.get());
  FreeSlots(*pending);
}

void FetchClient::End() {
  ended_ = true;
  for (const auto& [id, pending] : pending_) {
    Lose(pending, Lost::kFetcherEnded);
  }
  pending_.clear();
  Tell(nullptr);
}

Status FetchClient::WaitMore(Waiting& waiting, const Request& request) {
  const ListeningTo listening(request.interrupt(), [this, &waiting] {
    waiting.news.NotifyAll();
    message_.Tell();
  });
  const CondVar::Ticket ticket = waiting.news.TakeTicket();
  CTXFS_TRY(request.CheckFor(Interrupt::kUnknownWork));
  const auto end = request.wait().End(timeout_) + kLater;
  if (ServerWait::Clock::now() > end) return NoAnswer(timeout_);
  AwaitNews(waiting, ticket, std::min(end, request.interrupt().AskAgainAt()));
  return {};
}

Status FetchClient::AwaitSlot(const Request& request) {
  Waiting waiting(*this, nullptr);
  return WaitMore(waiting, request);
}

Status FetchClient::Await(const PendingPtr& pending, const Request& request) {
  if (!pending->done) {
    Waiting waiting(*this, pending.get());
    while (!pending->done) CTXFS_TRY(WaitMore(waiting, request));
  }
  if (pending->failed()) return pending->error();
  return {};
}

Status FetchClient::TakeSlots(const PendingPtr& pending, size_t count,
                              const Request& request) {
  std::vector<uint16_t>& slots = pending->request.slots;
  while (true) {
    if (ended_) return FetcherEnded();
    while (slots.size() < count && pending_.size() < kMaxPending) {
      const std::optional<uint16_t> slot = TakeSlot();
      if (!slot) break;
      slots_[*slot].pending = pending;
      slots.push_back(*slot);
    }
    if (slots.size() == count) return {};
    // Frees the slots again: two threads that hold some slots each would wait
    // for each other for ever.
    for (const uint16_t slot : slots) Forget(slot);
    slots.clear();
    CTXFS_TRY(AwaitSlot(request));
  }
}

void FetchClient::AwaitCache(std::chrono::milliseconds most) {
  const MutexLock lock(mutex_);
  if (SlotsBeingCached() == 0 || ended_ || pending_.size() >= kMaxPending) {
    return;
  }
  ServerWait wait;
  wait.EndBy(ServerWait::Clock::now() + most);
  Unsent unsent(*this, 0);
  unsent.request().flush = true;
  const PendingPtr pending = unsent.pending();
  Send(unsent);
  (void)Await(pending, Request().WithWaitUnlessSet(wait));
}

RemoteObject FetchClient::Known(const std::string& url,
                                const Identity& identity, int64_t modified_ns) {
  constexpr size_t kMaxKnown = 65'536;
  const std::string key =
      url + '\0' + identity.etag + '\0' + std::to_string(identity.size);
  const MutexLock lock(mutex_);
  if (known_.size() >= kMaxKnown) known_.clear();
  uint64_t& number = known_[key];
  if (number == 0) number = ++objects_;
  return {number, url, identity, modified_ns};
}

FetchClient::PendingPtr FetchClient::SendIfRoom(FetchRequest request,
                                                size_t count) {
  Unsent unsent(*this, count);
  unsent.request() = std::move(request);
  std::vector<uint16_t>& slots = unsent.request().slots;
  slots.reserve(count);
  while (slots.size() < count && pending_.size() < kMaxPending) {
    const std::optional<uint16_t> slot = TakeSlot();
    if (!slot) break;
    slots_[*slot].pending = unsent.pending();
    slots.push_back(*slot);
  }
  if (slots.size() != count || ended_) return nullptr;
  PendingPtr pending = unsent.pending();
  Send(unsent);
  return pending;
}

void FetchClient::Abandon(const PendingPtr& pending) {
  if (pending == nullptr) return;
  pending->abandoned = true;
  const bool freed = pending->lost != Lost::kNot ||
                     (pending->reply.error && !pending->request.tail);
  if (pending->done && !freed) FreeSlots(*pending);
}

void FetchClient::ExpectTail(const PendingPtr& tail,
                             const RemoteObject& object) {
  // A lost request has freed its slots.
  if (tail->lost != Lost::kNot) return;
  FetchRequest& request = tail->request;
  tail->object = object.number;
  tail->expected = object.identity;
  request.first = FirstOfTail(object.identity.size);
  uint64_t granule = request.first;
  const uint64_t end = Granules(object.identity.size);
  for (auto slot = request.slots.begin();
       slot != request.slots.end() && granule < end; ++slot, ++granule) {
    const Key key{object.number, granule};
    if (granules_.emplace(key, *slot).second) slots_[*slot].key = key;
  }
  if (tail->done) KeepTail(tail);
}

void FetchClient::KeepTail(const PendingPtr& tail) {
  const FetchReply& reply = tail->reply;
  const bool right = !reply.error && reply.identity == tail->expected;
  for (const uint16_t slot : tail->request.slots) {
    if (right && slots_[slot].key) {
      slots_[slot].pending.reset();
    } else {
      Forget(slot);
    }
  }
  Freed();
}

Result<RemoteObject> FetchClient::Open(const std::string& url,
                                       const Request& opener, bool with_tail) {
  CTXFS_TRY(CheckLength(url));
  ServerWait own;
  const Request request = opener.WithWaitUnlessSet(own);
  const MutexLock lock(mutex_);
  Unsent unsent(*this, 1);
  unsent.request().url = url;
  CTXFS_TRY(TakeSlots(unsent.pending(), 1, request));
  const uint16_t slot = unsent.request().slots.front();
  Awaited opening(*this, unsent.pending());
  Send(unsent);
  Awaited tail(*this,
               with_tail ? SendIfRoom(TailOf(url), kTailGranules) : nullptr);
  const PendingPtr& pending = opening.pending();
  CTXFS_TRY(Await(pending, request));
  RemoteObject object;
  object.number = ++objects_;
  object.url = url;
  object.identity = pending->reply.identity;
  object.modified_ns = DateOf(pending->reply.last_modified);
  const Key key{object.number, 0};
  if (object.identity.size == 0) {
    Forget(slot);
  } else {
    granules_[key] = slot;
    slots_[slot].pending.reset();
    slots_[slot].key = key;
  }
  Freed();
  if (tail.pending() != nullptr) ExpectTail(tail.pending(), object);
  tail.Release();
  opening.Release();
  return object;
}

}  // namespace ctxfs::remote

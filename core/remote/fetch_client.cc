// SPDX-License-Identifier: Apache-2.0
#include "core/remote/fetch_client.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/heap_allowance.h"
#include "core/base/server_wait.h"
#include "core/remote/fetch_errors.h"

namespace ctxfs::remote {
namespace {

constexpr std::chrono::milliseconds kMoment(50);
// A request that ends so many fetchers is likely the reason.
constexpr unsigned kMostRestarts = 8;

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
}

FetchStats FetchClient::stats() const {
  const MutexLock lock(mutex_);
  return stats_;
}

void FetchClient::MarkRead(Slot& slot) {
  if (slot.ahead) --ahead_;
  slot.ahead = false;
}

void FetchClient::Forget(uint16_t number) {
  Slot& slot = slots_[number];
  MarkRead(slot);
  if (slot.key) granules_.erase(*slot.key);
  slot.key.reset();
  slot.pending.reset();
  slot.passing = false;
  slot.counted = false;
  slot.read = 0;
  order_.splice(order_.begin(), order_, slot.place);
}

std::optional<uint16_t> FetchClient::TakeSlot() {
  for (const uint16_t number : order_) {
    Slot& slot = slots_[number];
    if (slot.pins > 0 || slot.pending != nullptr) continue;
    Forget(number);
    order_.splice(order_.end(), order_, slot.place);
    return number;
  }
  return std::nullopt;
}

void FetchClient::Transmit(const FetchRequest& request) {
  const std::string message = Encode(request);
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

void FetchClient::Send(const PendingPtr& pending) {
  FetchRequest& request = pending->request;
  request.id = ++requests_;
  request.epoch = epoch_;
  pending_.emplace(request.id, pending);
  Transmit(request);
}

void FetchClient::AwaitNews() {
  if (reading_) {
    news_.WaitFor(mutex_, kMoment);
    return;
  }
  reading_ = true;
  mutex_.unlock();
  struct pollfd readable {
    socket_.get(), POLLIN, 0
  };
  const bool ready =
      ::poll(&readable, 1, static_cast<int>(kMoment.count())) > 0;
  Received received;
  if (ready) received = ReceiveMessage(socket_.get());
  auto reply = DecodeReply(received.text);
  std::vector<BlockFile> files;
  if (reply) files = LoadPassed(*reply, std::move(received.descriptors));
  mutex_.lock();
  reading_ = false;
  if (reply) Take(std::move(*reply), std::move(files));
  if (ready && received.text.empty()) End();
  news_.NotifyAll();
}

void FetchClient::Take(FetchReply reply, std::vector<BlockFile> files) {
  if (reply.id == 0) return Restart(reply.epoch);
  const auto found = pending_.find(reply.id);
  if (found == pending_.end() || reply.epoch != epoch_) return;
  const PendingPtr pending = std::move(found->second);
  pending_.erase(found);
  stats_.Add(reply);
  pending->done = true;
  if (pending->request.tail) {
    pending->reply = std::move(reply);
    if (pending->abandoned) Abandon(pending);
    if (pending->expected) KeepTail(pending);
    return;
  }
  pending->error = reply.error;
  // Fewer came than were sent, or one was damaged in between.
  if (files.size() < reply.files.size()) takes_files_ = false;
  for (BlockFile& file : files) files_.Add(pending->object, std::move(file));
  uint64_t granule = pending->request.first;
  for (const uint16_t slot : pending->request.slots) {
    const bool passed = IsPassed(reply, granule++);
    // The first granule of an object is kept by the thread that opens it.
    if (reply.error || pending->abandoned || passed) {
      Forget(slot);
    } else if (pending->object != 0) {
      slots_[slot].pending.reset();
      slots_[slot].passing = reply.kept && slots_[slot].ahead;
    }
  }
  pending->reply = std::move(reply);
}

void FetchClient::Restart(uint32_t epoch) {
  epoch_ = epoch;
  ++stats_.restarts;
  std::vector<PendingPtr> open;
  for (const auto& [id, pending] : pending_) open.push_back(pending);
  for (const PendingPtr& pending : open) {
    pending->request.epoch = epoch;
    if (++pending->restarts > kMostRestarts) {
      pending_.erase(pending->request.id);
      Fail(pending, FetcherEndedAgain(pending->restarts));
    } else if (!ended_) {
      Transmit(pending->request);
    }
  }
}

void FetchClient::Fail(const PendingPtr& pending, Error error) {
  pending->done = true;
  pending->error = std::move(error);
  for (const uint16_t slot : pending->request.slots) Forget(slot);
}

void FetchClient::End() {
  ended_ = true;
  for (const auto& [id, pending] : pending_) Fail(pending, FetcherEnded());
  pending_.clear();
}

Status FetchClient::WaitMore(const Interrupt& interrupt) {
  CTXFS_TRY(interrupt.CheckFor(Interrupt::kUnknownWork));
  // A moment later than a fetch, which knows why there is no answer.
  const auto end = ServerWait::OfThread().End(timeout_);
  if (ServerWait::Clock::now() > end + kMoment) return NoAnswer(timeout_);
  AwaitNews();
  return {};
}

Status FetchClient::Await(const PendingPtr& pending,
                          const Interrupt& interrupt) {
  while (!pending->done) CTXFS_TRY(WaitMore(interrupt));
  if (pending->error) return *pending->error;
  return {};
}

Status FetchClient::TakeSlots(const PendingPtr& pending, size_t count,
                              const Interrupt& interrupt) {
  std::vector<uint16_t>& slots = pending->request.slots;
  while (true) {
    if (ended_) return FetcherEnded();
    while (slots.size() < count && pending_.size() < kMostPending) {
      const std::optional<uint16_t> slot = TakeSlot();
      if (!slot) break;
      slots_[*slot].pending = pending;
      slots.push_back(*slot);
    }
    if (slots.size() == count) return {};
    // Two that each have some would wait for each other.
    for (const uint16_t slot : slots) Forget(slot);
    slots.clear();
    CTXFS_TRY(WaitMore(interrupt));
  }
}

RemoteObject FetchClient::Known(const std::string& url,
                                const Identity& identity, int64_t modified_ns) {
  constexpr size_t kMostKnown = 65'536;
  const std::string key =
      url + '\0' + identity.etag + '\0' + std::to_string(identity.size);
  const MutexLock lock(mutex_);
  if (known_.size() >= kMostKnown) known_.clear();
  uint64_t& number = known_[key];
  if (number == 0) number = ++objects_;
  return {number, url, identity, modified_ns};
}

FetchClient::PendingPtr FetchClient::SendIfRoom(FetchRequest request,
                                                size_t count) {
  auto pending = std::make_shared<Pending>();
  pending->request = std::move(request);
  std::vector<uint16_t>& slots = pending->request.slots;
  while (slots.size() < count && pending_.size() < kMostPending) {
    const std::optional<uint16_t> slot = TakeSlot();
    if (!slot) break;
    slots_[*slot].pending = pending;
    slots.push_back(*slot);
  }
  if (slots.size() == count && !ended_) {
    Send(pending);
    return pending;
  }
  for (const uint16_t slot : slots) Forget(slot);
  return nullptr;
}

void FetchClient::Abandon(const PendingPtr& pending) {
  if (pending == nullptr) return;
  pending->abandoned = true;
  if (!pending->done || pending->error) return;
  for (const uint16_t slot : pending->request.slots) Forget(slot);
}

void FetchClient::ExpectTail(const PendingPtr& tail,
                             const RemoteObject& object) {
  const bool failed = tail->error.has_value();  // and its slots are free
  if (failed) return;
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
}

Result<RemoteObject> FetchClient::Open(const std::string& url,
                                       const Interrupt& interrupt,
                                       bool with_tail) {
  const ServerWait wait;
  const MutexLock lock(mutex_);
  auto pending = std::make_shared<Pending>();
  pending->request.url = url;
  CTXFS_TRY(TakeSlots(pending, 1, interrupt));
  const uint16_t slot = pending->request.slots.front();
  Send(pending);
  PendingPtr tail;
  if (with_tail) {
    FetchRequest request;
    request.url = url;
    request.tail = true;
    tail = SendIfRoom(std::move(request), kTailGranules);
  }
  if (Status opened = Await(pending, interrupt); !opened) {
    Abandon(pending);
    Abandon(tail);
    return opened.error();
  }
  RemoteObject object;
  object.number = ++objects_;
  object.url = url;
  object.identity = pending->reply.identity;
  object.modified_ns = DateOf(pending->reply.last_modified);
  if (object.identity.size == 0) {
    Forget(slot);
  } else {
    slots_[slot].pending.reset();
    slots_[slot].key = Key{object.number, 0};
    granules_[*slots_[slot].key] = slot;
  }
  if (tail != nullptr) ExpectTail(tail, object);
  return object;
}

}  // namespace ctxfs::remote

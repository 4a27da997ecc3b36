// SPDX-License-Identifier: Apache-2.0
#include "core/remote/fetch_client.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/heap_allowance.h"

namespace ctxfs::remote {
namespace {

constexpr std::chrono::milliseconds kMoment(50);
// Limit of requests on their way. Their replies fit into the socket, so the
// fetcher never waits for this process while this process waits for it.
constexpr size_t kMostPending = 72;
// Of these, fetching in advance leaves half to reads.
constexpr size_t kMostPendingAhead = kMostPending / 2;
// Slots with what was fetched in advance and not read yet.
constexpr size_t kMostSlotsAhead = SharedSlots::kCount / 2;
// Bytes that a read requests at a time, at most.
constexpr uint64_t kStepBytes = 16 << 20;
// Ranges that what is read at a time is divided into, and the granules that
// each has at least: small ones would cost more by their number than they gain.
constexpr uint64_t kRanges = 8;
constexpr uint64_t kLeastGranules = 16;
// A request that ends so many fetchers is likely the reason.
constexpr unsigned kMostRestarts = 8;

Error Ended() { return {Code::kIo, "the process that fetches URLs has ended"}; }

Error EndedAgain() {
  return {
      Code::kIo,
      fmt::format(
          "the process that fetches URLs ended {} times while it was at this",
          kMostRestarts + 1)};
}

/// Whether a request failed because some of its granules are not in the cache,
/// which may have the others (Settings::offline).
bool MayBePart(const Error& error, const FetchRequest& request) {
  return error.sys_errno == ENETDOWN && request.slots.size() > 1;
}

}  // namespace

FetchClient::FetchClient(Fd socket, SharedSlots slots)
    : socket_(std::move(socket)),
      shared_(std::move(slots)),
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

bool FetchClient::HasRoom(Purpose purpose) const {
  if (purpose != Purpose::kAhead) return pending_.size() < kMostPending;
  return pending_.size() < kMostPendingAhead && ahead_ < kMostSlotsAhead;
}

uint64_t FetchClient::RequestRun(const RemoteObject& object, uint64_t first,
                                 uint64_t most, Purpose purpose) {
  auto pending = std::make_shared<Pending>();
  pending->object = object.number;
  FetchRequest& request = pending->request;
  for (uint64_t granule = first; granule < first + most; ++granule) {
    const Key key{object.number, granule};
    if (IsThere(object, granule, purpose)) break;
    const std::optional<uint16_t> number = TakeSlot();
    if (!number) break;
    Slot& slot = slots_[*number];
    slot.key = key;
    slot.pending = pending;
    slot.ahead = purpose == Purpose::kAhead;
    if (slot.ahead) ++ahead_;
    granules_[key] = *number;
    request.slots.push_back(*number);
  }
  if (request.slots.empty()) return 0;
  request.url = object.url;
  request.identity = object.identity;
  request.first = first;
  request.takes_files = takes_files_ && purpose != Purpose::kDamaged;
  const uint64_t count = request.slots.size();
  Send(pending);
  return count;
}

uint64_t FetchClient::Request(const RemoteObject& object, uint64_t offset,
                              uint64_t length, uint64_t window,
                              Purpose purpose) {
  if (length == 0) return offset;
  uint64_t granule = offset / kGranuleBytes;
  const uint64_t end = (offset + length - 1) / kGranuleBytes + 1;
  const uint64_t each = std::clamp<uint64_t>(window / kGranuleBytes / kRanges,
                                             kLeastGranules, kMostGranules);
  while (granule < end && !ended_) {
    if (IsThere(object, granule, purpose)) {
      ++granule;
      continue;
    }
    if (!HasRoom(purpose)) break;
    const uint64_t requested =
        RequestRun(object, granule, std::min(each, end - granule), purpose);
    if (requested == 0) break;
    granule += requested;
  }
  return granule * kGranuleBytes;
}

size_t FetchClient::Copy(uint16_t number, uint64_t offset, MutableBytes out) {
  Slot& slot = slots_[number];
  const auto at = static_cast<size_t>(offset % kGranuleBytes);
  const size_t n = std::min(out.size(), kGranuleBytes - at);
  // One of a reader that goes on is the first to go when all of it was read, if
  // the cache has it. So few slots are in use, whose bytes are in the
  // processor's cache.
  if (at == slot.read) slot.read = at + n;
  const bool first = slot.passing && slot.read == kGranuleBytes;
  order_.splice(first ? order_.begin() : order_.end(), order_, slot.place);
  MarkRead(slot);
  ++slot.pins;
  mutex_.unlock();
  std::memcpy(out.data(), shared_.At(number).data() + at, n);
  mutex_.lock();
  --slot.pins;
  return n;
}

bool FetchClient::IsThere(const RemoteObject& object, uint64_t granule,
                          Purpose purpose) const {
  return granules_.contains({object.number, granule}) ||
         (purpose != Purpose::kDamaged && files_.Has(object.number, granule));
}

Result<std::optional<size_t>> FetchClient::CopyFrom(
    const BlockFile& file, const RemoteObject& object, uint64_t offset,
    MutableBytes out, const Interrupt& interrupt) {
  CTXFS_TRY(interrupt.Check());
  const uint64_t granule = offset / kGranuleBytes;
  const std::vector<MutableBytes> whole =
      WholeGranules(object.identity.size, offset, out, file.end() - granule);
  if (whole.empty()) {
    const bool loaded = CTXFS_TRY(Load(file, object, granule, interrupt));
    return loaded ? std::optional<size_t>(0) : std::nullopt;
  }
  mutex_.unlock();
  const size_t read = file.Read(granule, whole);
  mutex_.lock();
  size_t copied = 0;
  for (size_t i = 0; i < read; ++i) copied += whole[i].size();
  stats_.cached += copied;
  return read == 0 ? std::nullopt : std::optional(copied);
}

Result<bool> FetchClient::Load(const BlockFile& file,
                               const RemoteObject& object, uint64_t granule,
                               const Interrupt& interrupt) {
  const std::optional<uint16_t> number = TakeSlot();
  if (!number) {
    CTXFS_TRY(interrupt.CheckFor(Interrupt::kUnknownWork));
    AwaitNews();
    return true;
  }
  const Key key{object.number, granule};
  const MutableBytes bytes =
      shared_.At(*number).first(GranuleSize(object.identity.size, granule));
  ++slots_[*number].pins;
  mutex_.unlock();
  const bool whole = file.Read(granule, {&bytes, 1}) == 1;
  mutex_.lock();
  Slot& slot = slots_[*number];
  --slot.pins;
  // Another thread may have been as fast.
  if (!whole || !granules_.emplace(key, *number).second) {
    Forget(*number);
    return whole;
  }
  slot.key = key;
  slot.passing = true;
  stats_.cached += bytes.size();
  return true;
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
      Fail(pending, EndedAgain());
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
  for (const auto& [id, pending] : pending_) Fail(pending, Ended());
  pending_.clear();
}

Status FetchClient::Await(const PendingPtr& pending,
                          const Interrupt& interrupt) {
  while (!pending->done) {
    CTXFS_TRY(interrupt.CheckFor(Interrupt::kUnknownWork));
    AwaitNews();
  }
  if (pending->error) return *pending->error;
  return {};
}

Status FetchClient::TakeSlots(const PendingPtr& pending, size_t count,
                              const Interrupt& interrupt) {
  std::vector<uint16_t>& slots = pending->request.slots;
  while (true) {
    if (ended_) return Ended();
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
    CTXFS_TRY(interrupt.CheckFor(Interrupt::kUnknownWork));
    AwaitNews();
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

Result<PageText> FetchClient::ListPage(const std::string& directory,
                                       const std::string& token,
                                       const Interrupt& interrupt) {
  // Before the request: a thread that must not wait would waste it.
  CTXFS_TRY(interrupt.CheckFor(Interrupt::kUnknownWork));
  CTXFS_TRY(HeapAllowance::Admit(kMostPageBytes));
  const MutexLock lock(mutex_);
  auto pending = std::make_shared<Pending>();
  pending->request.url = directory;
  pending->request.page = token;
  CTXFS_TRY(TakeSlots(pending, kPageGranules, interrupt));
  Send(pending);
  if (Status listed = Await(pending, interrupt); !listed) {
    pending->abandoned = true;
    return listed.error();
  }
  PageText page{"", std::move(pending->reply.link)};
  uint64_t left = std::min<uint64_t>(pending->reply.page_bytes, kMostPageBytes);
  page.body.reserve(static_cast<size_t>(left));
  for (const uint16_t slot : pending->request.slots) {
    const auto n = static_cast<size_t>(std::min(left, kGranuleBytes));
    page.body += AsText(shared_.At(slot).first(n));
    left -= n;
    Forget(slot);
  }
  return page;
}

Result<RemoteObject> FetchClient::Open(const std::string& url,
                                       const Interrupt& interrupt) {
  const MutexLock lock(mutex_);
  auto pending = std::make_shared<Pending>();
  pending->request.url = url;
  CTXFS_TRY(TakeSlots(pending, 1, interrupt));
  const uint16_t slot = pending->request.slots.front();
  Send(pending);
  if (Status opened = Await(pending, interrupt); !opened) {
    pending->abandoned = true;
    return opened.error();
  }
  RemoteObject object;
  object.number = ++objects_;
  object.url = url;
  object.identity = pending->reply.identity;
  object.modified_ns = DateOf(pending->reply.last_modified);
  if (object.identity.size == 0) {
    Forget(slot);
    return object;
  }
  slots_[slot].pending.reset();
  slots_[slot].key = Key{object.number, 0};
  granules_[*slots_[slot].key] = slot;
  return object;
}

Status FetchClient::Read(const RemoteObject& object, uint64_t offset,
                         MutableBytes out, const Interrupt& interrupt) {
  const MutexLock lock(mutex_);
  uint64_t requested = offset;
  uint64_t step = kStepBytes;
  Purpose purpose = Purpose::kRead;
  while (!out.empty()) {
    if (ended_) return Ended();
    const uint64_t granule = offset / kGranuleBytes;
    if (!IsThere(object, granule, Purpose::kDamaged) &&
        purpose != Purpose::kDamaged) {
      if (const auto file = files_.Find(object.number, granule)) {
        const std::optional<size_t> copied =
            CTXFS_TRY(CopyFrom(*file, object, offset, out, interrupt));
        if (!copied) {
          files_.Drop(file);
          purpose = Purpose::kDamaged;
        }
        out = out.subspan(copied.value_or(0));
        offset += copied.value_or(0);
        continue;
      }
    }
    const auto found = granules_.find({object.number, offset / kGranuleBytes});
    // Half a step in advance, so that ranges are large and none is late.
    if (found == granules_.end() || requested < offset + step / 2) {
      const uint64_t from =
          found == granules_.end() ? offset : std::max(requested, offset);
      const uint64_t end = offset + std::min<uint64_t>(out.size(), step);
      if (from < end) {
        requested = Request(object, from, end - from, end - from, purpose);
      }
    }
    const auto there = granules_.find({object.number, offset / kGranuleBytes});
    if (there == granules_.end()) {
      // Other requests hold all slots, or kMostPending are on their way.
      CTXFS_TRY(interrupt.CheckFor(Interrupt::kUnknownWork));
      AwaitNews();
      continue;
    }
    if (const PendingPtr pending = slots_[there->second].pending) {
      const Status fetched = Await(pending, interrupt);
      if (!fetched && !MayBePart(fetched.error(), pending->request)) {
        return fetched;
      }
      if (!fetched) {
        step = kGranuleBytes - offset % kGranuleBytes;
        requested = offset;
      }
      continue;
    }
    const size_t copied = Copy(there->second, offset, out);
    out = out.subspan(copied);
    offset += copied;
  }
  return {};
}

bool FetchClient::Has(const RemoteObject& object, uint64_t offset) const {
  const MutexLock lock(mutex_);
  return IsThere(object, offset / kGranuleBytes, Purpose::kRead);
}

uint64_t FetchClient::Prefetch(const RemoteObject& object, uint64_t offset,
                               uint64_t length, uint64_t window) {
  const MutexLock lock(mutex_);
  return Request(object, offset, length, std::max(length, window),
                 Purpose::kAhead);
}

}  // namespace ctxfs::remote

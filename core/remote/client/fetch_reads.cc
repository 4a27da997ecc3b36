// SPDX-License-Identifier: Apache-2.0
//
// Reads of objects by the fetcher's client: the granules that are requested,
// and the copying of their bytes.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "core/base/mutex_unlock.h"
#include "core/remote/client/fetch_client.h"
#include "core/remote/client/fetch_errors.h"

namespace ctxfs::remote {
namespace {

// Prefetching leaves a quarter of the pending requests to reads.
constexpr size_t kMaxPendingAhead = FetchClient::kMaxPending * 3 / 4;
// Maximum slots with prefetched, unread bytes. The others are for reads.
constexpr size_t kMaxSlotsAhead = AheadBudget::kMaxWhole / kGranuleBytes;
static_assert(kMaxSlotsAhead + kMaxGranules < SharedSlots::kCount);
// Maximum bytes that a read requests at a time.
constexpr uint64_t kStepBytes = 16 << 20;
// Number of ranges into which a step is divided, and their minimum granules:
// more and smaller ranges would cost more than they gain.
constexpr uint64_t kRanges = 8;
constexpr uint64_t kLeastGranules = 16;
// A wait needs at least this much remaining time to be worthwhile.
constexpr std::chrono::milliseconds kTooLittle(50);

}  // namespace

bool FetchClient::HasRoom(Purpose purpose) {
  if (purpose != Purpose::kAhead) return pending_.size() < kMaxPending;
  if (pending_.size() >= kMaxPendingAhead) return false;
  while (unread_.size() >= kMaxSlotsAhead) {
    const uint16_t oldest = unread_.front();
    if (!IsUseless(oldest, UINT64_MAX)) return false;
    Forget(oldest);
  }
  return true;
}

uint64_t FetchClient::RequestRun(const RemoteObject& object, uint64_t first,
                                 uint64_t most, Purpose purpose,
                                 uint64_t reader) {
  Unsent unsent(*this, static_cast<size_t>(most));
  const PendingPtr& pending = unsent.pending();
  FetchRequest& request = unsent.request();
  pending->object = object.number;
  for (uint64_t granule = first; granule < first + most; ++granule) {
    const Key key{object.number, granule};
    if (!IsWanted(object, granule, purpose)) break;
    const std::optional<uint16_t> number = TakeSlot(purpose);
    if (!number) break;
    request.slots.push_back(*number);
    Slot& slot = slots_[*number];
    slot.pending = pending;
    granules_[key] = *number;
    slot.key = key;
    if (purpose != Purpose::kAhead) continue;
    slot.ahead = true;
    slot.reader = reader;
    unread_.splice(unread_.end(), order_, slot.place);
  }
  const uint64_t count = request.slots.size();
  if (count == 0) return 0;
  request.url = object.url;
  request.identity = object.identity;
  request.first = first;
  request.takes_files = takes_files_ && purpose != Purpose::kDamaged;
  request.waits_for_cache = waits_for_cache_;
  Send(unsent);
  return count;
}

uint64_t FetchClient::RequestRange(const RemoteObject& object, uint64_t offset,
                                   uint64_t length, uint64_t window,
                                   Purpose purpose, uint64_t reader) {
  if (length == 0) return offset;
  uint64_t granule = offset / kGranuleBytes;
  const uint64_t end = (offset + length - 1) / kGranuleBytes + 1;
  const uint64_t each = std::clamp<uint64_t>(window / kGranuleBytes / kRanges,
                                             kLeastGranules, kMaxGranules);
  while (granule < end && !ended_) {
    if (!IsWanted(object, granule, purpose)) {
      ++granule;
      continue;
    }
    if (!HasRoom(purpose)) break;
    const uint64_t requested = RequestRun(
        object, granule, std::min(each, end - granule), purpose, reader);
    if (requested == 0) break;
    granule += requested;
  }
  return granule * kGranuleBytes;
}

class FetchClient::Pinned {
 public:
  Pinned(FetchClient& client, Slot& slot) : client_(client), slot_(slot) {
    ++slot_.pins;
  }
  ~Pinned() CTXFS_ANNOTATION(no_thread_safety_analysis) {
    --slot_.pins;
    client_.Freed();
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  FetchClient& client_;
  Slot& slot_;
};

size_t FetchClient::Copy(uint16_t number, uint64_t offset, MutableBytes out,
                         const Request& request) {
  Slot& slot = slots_[number];
  const auto at = static_cast<size_t>(offset % kGranuleBytes);
  const size_t n = std::min(out.size(), kGranuleBytes - at);
  // A fully read slot of a sequential reader is reused first if the disk cache
  // has its bytes. So few slots are in use, and they stay in the processor's
  // cache.
  if (at == slot.read) slot.read = at + n;
  const bool first = slot.passing && slot.read == kGranuleBytes;
  MarkRead(slot);
  slot.used = ++uses_;
  order_.splice(first ? order_.begin() : order_.end(), order_, slot.place);
  if (!std::exchange(slot.counted, true)) {
    request.wait().NoteArrival(kGranuleBytes);
  }
  const Pinned pinned(*this, slot);
  const MutexUnlock unlocked(mutex_);
  std::memcpy(out.data(), shared_.At(number).data() + at, n);
  return n;
}

bool FetchClient::IsThere(const RemoteObject& object, uint64_t granule,
                          Purpose purpose) const {
  return granules_.contains({object.number, granule}) ||
         (purpose != Purpose::kDamaged && files_.Has(object.number, granule));
}

bool FetchClient::IsWanted(const RemoteObject& object, uint64_t granule,
                           Purpose purpose) const {
  return !IsThere(object, granule, purpose) &&
         (purpose != Purpose::kAhead ||
          failed_.Find(object.number, granule) == nullptr);
}

Result<std::optional<size_t>> FetchClient::CopyFrom(const BlockFile& file,
                                                    const RemoteObject& object,
                                                    uint64_t offset,
                                                    MutableBytes out,
                                                    const Request& request) {
  CTXFS_TRY(request.Check());
  const uint64_t granule = offset / kGranuleBytes;
  const std::vector<MutableBytes> whole =
      WholeGranules(object.identity.size, offset, out, file.end() - granule);
  if (whole.empty()) {
    const bool loaded = CTXFS_TRY(Load(file, object, granule, request));
    return loaded ? std::optional<size_t>(0) : std::nullopt;
  }
  size_t read = 0;
  {
    const MutexUnlock unlocked(mutex_);
    read = file.Read(granule, whole);
  }
  size_t copied = 0;
  for (size_t i = 0; i < read; ++i) copied += whole[i].size();
  stats_.cached += copied;
  return read == 0 ? std::nullopt : std::optional(copied);
}

Result<bool> FetchClient::Load(const BlockFile& file,
                               const RemoteObject& object, uint64_t granule,
                               const Request& request) {
  const std::optional<uint16_t> number = TakeSlot();
  if (!number) {
    CTXFS_TRY(AwaitSlot(request));
    return true;
  }
  const Key key{object.number, granule};
  const MutableBytes bytes =
      shared_.At(*number).first(GranuleSize(object.identity.size, granule));
  Slot& slot = slots_[*number];
  bool whole = false;
  {
    const Pinned pinned(*this, slot);
    const MutexUnlock unlocked(mutex_);
    whole = file.Read(granule, {&bytes, 1}) == 1;
  }
  // Another thread may have loaded the granule meanwhile.
  if (!whole || !granules_.emplace(key, *number).second) {
    Forget(*number);
    Freed();
    return whole;
  }
  slot.key = key;
  slot.passing = true;
  stats_.cached += bytes.size();
  return true;
}

Status FetchClient::CheckFailed(const Key& key, const Request& request) {
  ServerWait& wait = request.wait();
  const auto now = ServerWait::Clock::now();
  const auto failed = failed_.Take(key.first, key.second, wait.began(), now);
  if (!failed) return {};
  if (failed->end <= now + kTooLittle) return failed->error;
  wait.EndBy(failed->end);
  return {};
}

Result<bool> FetchClient::AwaitGranules(const PendingPtr& pending,
                                        uint64_t older,
                                        const Request& request) {
  const Status fetched = Await(pending, request);
  if (fetched) return false;
  const Error& error = fetched.error();
  if (error.code == Code::kInterrupted || error.sys_errno == ENETDOWN) {
    return error;
  }
  // A server that refuses tails may serve the same granules by offset, so the
  // reader requests them by offset.
  if (pending->request.tail && pending->done) return true;
  const auto end = request.wait().End(timeout_);
  const bool passes = pending->done && error.sys_errno == EAGAIN;
  if (passes && pending->request.id <= older &&
      end > ServerWait::Clock::now() + kTooLittle) {
    return true;
  }
  const FetchRequest& asked = pending->request;
  failed_.Add({pending->object, asked.first, asked.slots.size(), end, error});
  return error;
}

Status FetchClient::Read(const RemoteObject& object, uint64_t offset,
                         MutableBytes out, const Request& reader) {
  ServerWait own;
  const Request request = reader.WithWaitUnlessSet(own);
  const MutexLock lock(mutex_);
  const uint64_t older = requests_;
  uint64_t requested = offset;
  uint64_t step = kStepBytes;
  Purpose purpose = Purpose::kRead;
  while (!out.empty()) {
    if (ended_) return FetcherEnded();
    const Key key{object.number, offset / kGranuleBytes};
    if (!granules_.contains(key) && purpose != Purpose::kDamaged) {
      if (const auto file = files_.Find(object.number, key.second)) {
        const std::optional<size_t> copied =
            CTXFS_TRY(CopyFrom(*file, object, offset, out, request));
        if (!copied) {
          files_.Drop(file);
          purpose = Purpose::kDamaged;
        }
        out = out.subspan(copied.value_or(0));
        offset += copied.value_or(0);
        continue;
      }
    }
    const auto found = granules_.find(key);
    const bool here =
        found != granules_.end() && slots_[found->second].pending == nullptr;
    if (!here) CTXFS_TRY(CheckFailed(key, request));
    // Requests half a step in advance, so that ranges are large and on time.
    if (found == granules_.end() || requested < offset + step / 2) {
      const uint64_t from =
          found == granules_.end() ? offset : std::max(requested, offset);
      const uint64_t end = offset + std::min<uint64_t>(out.size(), step);
      if (from < end) {
        requested = RequestRange(object, from, end - from, end - from, purpose);
      }
    }
    const auto there = granules_.find(key);
    if (there == granules_.end()) {
      // All slots are taken, or kMaxPending requests are pending.
      CTXFS_TRY(AwaitSlot(request));
      continue;
    }
    if (const PendingPtr pending = slots_[there->second].pending) {
      const Result<bool> again = AwaitGranules(pending, older, request);
      if (!again && !MayBePart(again.error(), pending->request)) {
        return again.error();
      }
      if (!again) step = kGranuleBytes - offset % kGranuleBytes;
      if (!again || *again) requested = offset;
      continue;
    }
    const size_t copied = Copy(there->second, offset, out, request);
    out = out.subspan(copied);
    offset += copied;
  }
  return {};
}

bool FetchClient::Has(const RemoteObject& object, uint64_t offset) const {
  const MutexLock lock(mutex_);
  return IsThere(object, offset / kGranuleBytes, Purpose::kRead);
}

AheadBudget::Window FetchClient::Share(uint64_t* reader) {
  const MutexLock lock(mutex_);
  return budget_.Share(reader);
}

uint64_t FetchClient::Prefetch(const RemoteObject& object, uint64_t offset,
                               uint64_t length, uint64_t window,
                               uint64_t reader) {
  const MutexLock lock(mutex_);
  return RequestRange(object, offset, length, std::max(length, window),
                      Purpose::kAhead, reader);
}

}  // namespace ctxfs::remote

// SPDX-License-Identifier: Apache-2.0
#include "core/content/block_cache.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "core/base/assert.h"
#include "core/base/caught.h"
#include "core/base/heap/heap_meter.h"
#include "core/base/interruptible_wait.h"
#include "core/base/limits.h"
#include "core/base/mutex_unlock.h"
#include "core/base/on_exit.h"
#include "core/content/read_context.h"
#include "core/content/spill_store.h"

namespace ctxfs {
namespace {

/// Allocates memory that is charged to no thread (HeapMeter). The thread that
/// frees an evicted block may be opening a container. Freeing bytes that it did
/// not allocate would lower the count of its own memory.
template <typename T>
struct UnmeteredAllocator {
  using value_type = T;

  UnmeteredAllocator() = default;
  template <typename Other>
  // NOLINTNEXTLINE(google-explicit-constructor)
  UnmeteredAllocator(const UnmeteredAllocator<Other>& /*other*/) {}

  T* allocate(size_t count) const {
    const UnmeteredHeap cached;
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* values, size_t count) const {
    const UnmeteredHeap cached;
    std::allocator<T>().deallocate(values, count);
  }
  template <typename Value>
  void destroy(Value* value) const {
    const UnmeteredHeap cached;
    std::destroy_at(value);
  }
  bool operator==(const UnmeteredAllocator& /*other*/) const { return true; }
};

}  // namespace

BlockCache::BlockCache(uint64_t budget) : budget_(budget) {}
BlockCache::~BlockCache() {
  CTXFS_ASSERT(running_.empty() && in_production_ == 0 && working_ == 0);
  CTXFS_ASSERT(short_of_memory_.empty() && stats_.waiting == 0);
}

void BlockCache::SpillTo(std::shared_ptr<SpillFile> file) {
  if (file != nullptr) spill_ = std::make_unique<SpillStore>(std::move(file));
}

SpillStore* BlockCache::StoreOf(const Block& block) const {
  const bool spills = block.cost() > budget_ && block.streamed_size() > 0;
  return spills ? spill_.get() : nullptr;
}

uint64_t BlockCache::Room() const {
  const uint64_t lent = std::min(lent_->load(), budget_ / 2);
  return budget_ - lent - std::min(budget_ - lent, in_production_);
}

/// Interrupts shared work when the request that runs it is interrupted and no
/// other request waits for it. Later requests wait until the work has stopped,
/// and restart it.
class BlockCache::SharedWork final : public Interrupt,
                                     private InterruptListener {
 public:
  SharedWork(const Interrupt& first, Running& running)
      : first_(first), running_(running) {
    first_.AddListener(*this);
  }
  ~SharedWork() override { first_.RemoveListener(*this); }

  bool interrupted() const override {
    if (given_up_.load(std::memory_order_relaxed)) return true;
    if (!first_.interrupted() ||
        running_.waiting.load(std::memory_order_relaxed) > 0) {
      return false;
    }
    given_up_.store(true, std::memory_order_relaxed);
    return true;
  }
  // A thread that must answer its own request at once does not wait within
  // shared work, even if other requests need the result.
  bool MayTake(uint64_t bytes) const override { return first_.MayTake(bytes); }

  void AddListener(InterruptListener& one) const override {
    running_.listeners.Add(one);
  }
  void RemoveListener(InterruptListener& one) const override {
    running_.listeners.Remove(one);
  }
  // After the first request is interrupted, the work is interrupted when the
  // last waiting request leaves, and a leaving request notifies. If no request
  // waits any more, the work is interrupted already. A wait within the work may
  // have tested that too early, so it must test again at once.
  Clock::time_point AskAgainAt() const override {
    if (!first_.interrupted()) return first_.AskAgainAt();
    return interrupted() ? Clock::time_point() : Clock::time_point::max();
  }

 private:
  // A waiting request that leaves sends the same notice.
  void MayBeInterrupted() override { running_.listeners.Tell(); }

  const Interrupt& first_;  // of the request that runs the work
  Running& running_;
  mutable std::atomic<bool> given_up_ = false;
};

bool BlockCache::Works() const {
  return std::any_of(running_.begin(), running_.end(), [](const auto& one) {
    return one.second->thread == std::this_thread::get_id();
  });
}

uint64_t BlockCache::Held() const {
  uint64_t held = 0;
  for (const auto& [key, running] : running_) {
    if (running->thread == std::this_thread::get_id()) held += running->memory;
  }
  return held;
}

bool BlockCache::MayBegin(uint64_t memory, bool works, bool counts) const {
  if (in_production_ == 0 || memory <= Room()) return true;
  if (!works || working_ > (counts ? 1 : 0)) return false;
  return short_of_memory_.empty() || Held() >= *short_of_memory_.rbegin();
}

/// A thread in Enter, from its first wait on. The work that it runs waits, too,
/// which may allow another thread to begin.
class BlockCache::Waiting {
 public:
  Waiting(BlockCache& cache, bool works, const Interrupt& interrupt)
      CTXFS_REQUIRES(cache.mutex_)
      : cache_(cache),
        working_(works ? 1 : 0),
        wait_(cache.changed_, interrupt) {
    CTXFS_ASSERT(working_ <= cache_.working_);
    cache_.working_ -= working_;
    if (works) cache_.changed_.NotifyAll();
  }
  CTXFS_ANNOTATION(no_thread_safety_analysis)
  ~Waiting() { cache_.working_ += working_; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  bool IsInterrupted() { return wait_.IsInterrupted(); }
  void Wait(Mutex& mutex) CTXFS_REQUIRES(mutex) { wait_.Wait(mutex); }

 private:
  BlockCache& cache_;
  const uint64_t working_;
  InterruptibleWait wait_;
};

/// An entry of short_of_memory_; its removal may make another thread's
/// reservation the largest.
class BlockCache::ShortOfMemory {
 public:
  ShortOfMemory(BlockCache& cache, uint64_t held) CTXFS_REQUIRES(cache.mutex_)
      : cache_(cache), held_(cache.short_of_memory_.insert(held)) {}
  CTXFS_ANNOTATION(no_thread_safety_analysis)
  ~ShortOfMemory() {
    cache_.short_of_memory_.erase(held_);
    cache_.changed_.NotifyAll();
  }
  ShortOfMemory(const ShortOfMemory&) = delete;
  ShortOfMemory& operator=(const ShortOfMemory&) = delete;

 private:
  BlockCache& cache_;
  const std::multiset<uint64_t>::iterator held_;
};

void BlockCache::Await(const std::shared_ptr<Running>& other,
                       Waiting& waiting) {
  ++other->waiting;
  ++stats_.waiting;
  const OnExit over([&]() CTXFS_REQUIRES(mutex_) {
    --other->waiting;
    --stats_.waiting;
    other->listeners.Tell();
  });
  while (other->running && !waiting.IsInterrupted()) waiting.Wait(mutex_);
}

Result<std::shared_ptr<BlockCache::Running>> BlockCache::Enter(
    Key key, uint64_t memory, uint64_t bytes, const ReadContext& context,
    const std::function<bool()>& done) {
  const bool works = Works();
  std::optional<Waiting> waiting;
  std::optional<ShortOfMemory> short_of_memory;
  while (!done()) {
    const auto other = running_.find(key);
    const bool idle = other == running_.end();
    const bool begin = idle && MayBegin(memory, works, works && !waiting);
    CTXFS_TRY(context.CheckFor(begin ? bytes : Interrupt::kUnknownWork));
    if (begin) {
      // All allocations come first, so that a failed one changes no state.
      auto running = std::make_shared<Running>();
      running->memory = memory;
      running->inner = works;
      running_.emplace(key, running);
      in_production_ += memory;
      if (!works) ++working_;
      return running;
    }
    if (!waiting) waiting.emplace(*this, works, context.interrupt());
    if (!idle) {
      short_of_memory.reset();
      Await(std::shared_ptr<Running>(other->second), *waiting);
      continue;
    }
    if (!short_of_memory) short_of_memory.emplace(*this, works ? Held() : 0);
    if (!waiting->IsInterrupted()) waiting->Wait(mutex_);
  }
  return std::shared_ptr<Running>();
}

void BlockCache::Release(Running& running) {
  CTXFS_ASSERT(running.memory <= in_production_);
  in_production_ -= std::exchange(running.memory, 0);
}

void BlockCache::Leave(Key key) {
  const auto running = running_.find(key);
  CTXFS_ASSERT(running != running_.end());
  Release(*running->second);
  running->second->running = false;
  running_.erase(running);
  CTXFS_ASSERT(working_ > 0);
  if (!Works()) --working_;
  changed_.NotifyAll();
}

void BlockCache::EvictTo(uint64_t bytes) {
  for (auto kept = kept_.end();
       stats_.bytes > bytes && kept != kept_.begin();) {
    --kept;
    if (kept->key != base_) kept = Evict(kept);
  }
  stats_.blocks = kept_.size();
}

std::list<BlockCache::Kept>::iterator BlockCache::Evict(
    std::list<Kept>::iterator kept) {
  const UnmeteredHeap cached;
  const uint64_t size = kept->bytes->size();
  CTXFS_ASSERT(size <= stats_.bytes);
  CTXFS_ASSERT(!kept->consumed || size <= consumed_bytes_);
  if (kept->consumed) consumed_bytes_ -= size;
  stats_.bytes -= size;
  ++stats_.evictions;
  by_key_.erase(kept->key);
  return kept_.erase(kept);
}

void BlockCache::MarkConsumed(const Block& block) {
  // The last consumed blocks stay, because reads that were sent earlier may
  // still arrive. Small blocks are not marked, because many of them would make
  // the loop below long.
  constexpr uint64_t kMaxConsumed = uint64_t{32} << 20;
  constexpr uint64_t kLeastConsumed = uint64_t{1} << 20;
  const MutexLock lock(mutex_);
  const auto it = by_key_.find(block.key());
  if (it == by_key_.end() || it->second->consumed ||
      it->second->bytes->size() < kLeastConsumed) {
    return;
  }
  // Moves the block behind all unconsumed blocks, and before those consumed
  // earlier.
  auto place = kept_.end();
  while (place != kept_.begin() && std::prev(place)->consumed) --place;
  kept_.splice(place, kept_, it->second);
  it->second->consumed = true;
  consumed_bytes_ += it->second->bytes->size();
  while (consumed_bytes_ > kMaxConsumed && kept_.back().consumed &&
         kept_.back().key != block.key()) {
    Evict(std::prev(kept_.end()));
  }
  stats_.blocks = kept_.size();
}

BlockCache::Pinned BlockCache::TakeKept(Key key) {
  const auto it = by_key_.find(key);
  if (it == by_key_.end()) return nullptr;
  // A late read does not make a consumed block recent.
  if (!it->second->consumed) kept_.splice(kept_.begin(), kept_, it->second);
  ++stats_.hits;
  return it->second->bytes;
}

BlockCache::Pinned BlockCache::FindKept(const Block& block) {
  const MutexLock lock(mutex_);
  return TakeKept(block.key());
}

void BlockCache::Touch(std::span<const Key> keys) {
  const MutexLock lock(mutex_);
  for (const Key& key : keys) {
    const auto it = by_key_.find(key);
    if (it != by_key_.end() && !it->second->consumed) {
      kept_.splice(kept_.begin(), kept_, it->second);
    }
  }
}

Result<BlockCache::Pinned> BlockCache::Get(const Block& block,
                                           const ReadContext& context) {
  const MutexLock lock(mutex_);
  Result<Pinned> found = Find(block, context);
  if (found && Works() && (*found)->size() <= limits::kNestedBytes) {
    base_ = block.key();
  }
  return found;
}

Result<BlockCache::Pinned> BlockCache::Find(const Block& block,
                                            const ReadContext& context) {
  const Key key = block.key();
  Pinned found;
  const auto look = [&]() CTXFS_REQUIRES(mutex_) {
    found = TakeKept(key);
    return found != nullptr;
  };
  const std::shared_ptr<Running> entered =
      CTXFS_TRY(Enter(key, block.cost(), block.work(), context, look));
  if (entered == nullptr) return found;

  const OnExit leave([&]() CTXFS_REQUIRES(mutex_) { Leave(key); });
  const SharedWork shared(context.interrupt(), *entered);
  return CatchAll<Result<Pinned>>([&]() CTXFS_REQUIRES(mutex_) {
    return ProduceAndKeep(block, context.With(shared), *entered);
  });
}

Result<BlockCache::Pinned> BlockCache::ProduceAndKeep(
    const Block& block, const ReadContext& context, Running& running) {
  const UnmeteredHeap cached;
  // Charges the work before it begins, because it may exceed the bound of the
  // request.
  CTXFS_TRY(context.Charge(running.memory));
  if (running.inner) base_.reset();  // Get makes this block the base
  EvictTo(Room());
  Result<Buffer> produced = [&]() CTXFS_REQUIRES(mutex_) {
    const MutexUnlock unlocked(mutex_);
    return CatchAll<Result<Buffer>>([&] { return block.Produce(context); });
  }();
  Release(running);
  if (!produced) {
    if (produced.error().code == Code::kChecksum) ++stats_.failed;
    return std::move(produced).error();
  }

  // Allocates before it adds the block, so that a failed allocation leaves
  // kept_, by_key_ and stats_ consistent.
  Pinned bytes = std::allocate_shared<const Buffer>(
      UnmeteredAllocator<Buffer>(), std::move(*produced));
  std::list<Kept> one;
  one.push_back({block.key(), bytes});
  EvictTo(Room() - std::min<uint64_t>(Room(), bytes->size()));
  by_key_.emplace(block.key(), one.begin());
  kept_.splice(kept_.begin(), one);
  stats_.bytes += bytes->size();
  stats_.blocks = kept_.size();
  CTXFS_ASSERT(by_key_.size() == kept_.size());
  stats_.produced += bytes->size();
  if (block.verifies()) ++stats_.passed;
  return bytes;
}

Status BlockCache::Once(Key key, const ReadContext& context,
                        const std::function<bool()>& done,
                        const std::function<Status(const ReadContext&)>& work,
                        uint64_t memory) {
  const MutexLock lock(mutex_);
  const std::shared_ptr<Running> entered =
      CTXFS_TRY(Enter(key, memory, Interrupt::kUnknownWork, context, done));
  if (entered == nullptr) return {};
  const OnExit leave([&]() CTXFS_REQUIRES(mutex_) { Leave(key); });
  if (memory > 0) {
    base_.reset();  // its block would take memory beside `memory`
    EvictTo(Room());
  }
  const MutexUnlock unlocked(mutex_);
  const SharedWork shared(context.interrupt(), *entered);
  return CatchAll<Status>([&] { return work(context.With(shared)); });
}

Result<BlockCache::Lease> BlockCache::Lend(uint64_t bytes) {
  constexpr uint64_t kLeast = uint64_t{8} << 20;
  const uint64_t others = lent_->fetch_add(bytes);
  Lease lease(lent_.get(), [total = lent_, bytes](const void* /*total*/) {
    total->fetch_sub(bytes);
  });
  if (others > 0 && others + bytes > std::max(budget_ / 2, kLeast)) {
    return Error{Code::kNoMemory,
                 fmt::format("what is kept of other files leaves no room for "
                             "its {} bytes (see -o cache=)",
                             bytes)};
  }
  const MutexLock lock(mutex_);
  EvictTo(Room());
  return lease;
}

void BlockCache::CountVerdict(Verdict verdict) {
  const MutexLock lock(mutex_);
  if (verdict == Verdict::kPassed) ++stats_.passed;
  if (verdict == Verdict::kFailed) ++stats_.failed;
}

void BlockCache::Drop() {
  const MutexLock lock(mutex_);
  base_.reset();
  EvictTo(0);
}

BlockCache::Stats BlockCache::stats() const {
  const MutexLock lock(mutex_);
  Stats stats = stats_;
  if (spill_ != nullptr) {
    stats.spilled = spill_->bytes();
    stats.produced += spill_->produced();
  }
  return stats;
}

}  // namespace ctxfs

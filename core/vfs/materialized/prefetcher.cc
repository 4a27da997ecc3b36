// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/materialized/prefetcher.h"

#include <algorithm>
#include <system_error>

#include "core/base/mutex_unlock.h"
#include "core/content/content.h"

namespace ctxfs {
namespace {

// Reading an entry of fewer bytes prefetches nothing: the next ones are
// probably small, too, and decoding a small entry takes less time than waking a
// thread. The prefetched entries may be smaller.
constexpr uint64_t kSmallest = 256 * 1024;
// Number of entries that are prepared ahead of the reader.
constexpr uint32_t kDepth = 2;

}  // namespace

Prefetcher::Prefetcher(BlockCache& cache, uint64_t budget)
    : cache_(cache), largest_(budget / (2 * (kDepth + 1))) {}

Prefetcher::~Prefetcher() {
  std::vector<std::thread> threads;
  {
    const MutexLock lock(mutex_);
    stopping_.Set();
    queue_.clear();
    changed_.NotifyAll();
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

void Prefetcher::ObserveRead(const OpenFile& file, uint64_t offset,
                             uint64_t end) {
  const uint64_t size = file.content.size();
  if (file.entries == nullptr || size < kSmallest ||
      (offset != 0 && end < size)) {
    return;
  }
  const MutexLock lock(mutex_);
  try {
    if (offset == 0) OnSequentialStart(file);
  } catch (...) {
    // The entries are decoded when they are read.
  }
  if (end >= size) {
    ended_[next_ended_++ % ended_.size()] = {file.entries.get(), file.entry};
  }
}

void Prefetcher::OnSequentialStart(const OpenFile& file) {
  const uint32_t entry = file.entry;
  const FileTable* const entries = file.entries.get();
  if (entry == 0 || std::find(ended_.begin(), ended_.end(),
                              Entry{entries, entry - 1}) == ended_.end()) {
    return;
  }
  if (entries != run_ || entry >= scheduled_ ||
      scheduled_ > uint64_t{entry} + 1 + kDepth) {
    run_ = entries;
    scheduled_ = uint64_t{entry} + 1;  // a new run starts here
    queue_.clear();
  }
  const uint64_t until =
      std::min<uint64_t>(uint64_t{entry} + 1 + kDepth, entries->count());
  while (scheduled_ < until) {
    const auto next = static_cast<uint32_t>(scheduled_++);
    if (entries->KnownSize(next).value_or(UINT64_MAX) <= largest_) {
      queue_.push_back({file.entries, next});
    }
  }
  if (queue_.empty()) return;
  Start();
  changed_.NotifyAll();
}

void Prefetcher::Start() {
  // Asked once: a confined thread is refused two files and then asks the
  // scheduler.
  static const unsigned cores =
      std::clamp(std::thread::hardware_concurrency(), 1U, kDepth);
  try {
    while (threads_.size() < cores) {
      threads_.emplace_back([this] { Run(); });
    }
  } catch (const std::system_error& /*no thread can be had*/) {
    // The next reader tries again to start threads.
  }
}

// Also frees the job: it may hold the last reference to the container.
void Prefetcher::Prepare(Job job) {
  const ReadContext context(cache_, stopping_);
  try {
    if (Result<Content> content = job.entries->Open(job.entry, context)) {
      content->Prepare(context);
    }
  } catch (...) {
    // The entry is served without prefetching.
  }
}

void Prefetcher::Run() {
  const MutexLock lock(mutex_);
  while (!stopping_.interrupted()) {
    if (queue_.empty()) {
      changed_.Wait(mutex_);
      continue;
    }
    Job job = std::move(queue_.front());
    queue_.pop_front();
    const MutexUnlock unlocked(mutex_);
    Prepare(std::move(job));
  }
}

}  // namespace ctxfs

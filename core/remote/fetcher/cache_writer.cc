// SPDX-License-Identifier: Apache-2.0
#include "core/remote/fetcher/cache_writer.h"

#include <utility>

#include "core/base/mutex_unlock.h"
#include "core/remote/client/channel.h"

namespace ctxfs::remote {

namespace {

// Maximum blocks that wait to be written, 24 MiB. With them, the client has
// enough other slots for what is fetched meanwhile.
constexpr size_t kMaxWaiting = 384;
static_assert(kMaxWaiting < SharedSlots::kCount / 2);

}  // namespace

CacheWriter::CacheWriter(BlockStore& cache, const SharedSlots& slots,
                         int socket)
    : cache_(cache),
      slots_(slots),
      socket_(socket),
      thread_([this] { Run(); }),
      room_([this] { RunMakeRoom(); }) {}

CacheWriter::~CacheWriter() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
  written_.NotifyAll();
  room_.join();
}

void CacheWriter::Add(Task task) {
  {
    const MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.NotifyAll();
}

bool CacheWriter::Reserve(size_t blocks) {
  const MutexLock lock(mutex_);
  if (reserved_ + blocks > kMaxWaiting) return false;
  reserved_ += blocks;
  return true;
}

void CacheWriter::Run() {
  const MutexLock lock(mutex_);
  while (true) {
    while (tasks_.empty() && !ending_) changed_.Wait(mutex_);
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    {
      const MutexUnlock unlocked(mutex_);
      Do(task);
    }
    reserved_ -= task.slots.size();
    wrote_ = true;
    written_.NotifyAll();
  }
}

void CacheWriter::StoreRecord(Task& task) {
  constexpr size_t kMaxAbsent = 100;
  used_ = used_ || !task.reply->error || absent_.size() >= kMaxAbsent ||
          !cache_.IsEmpty();
  if (!used_) {
    absent_[task.record_key] = std::move(task.record);
    return;
  }
  for (const auto& [key, record] : std::exchange(absent_, {})) {
    cache_.WriteRecord(key, record);
  }
  cache_.WriteRecord(task.record_key, task.record);
}

void CacheWriter::Do(Task& task) {
  const bool kept =
      !task.blocks.empty() && cache_.Write(task.key, task.first, task.blocks);
  for (const uint16_t slot : task.slots) slots_.SetBeingCached(slot, false);
  if (!task.reply) return;
  // Written after the blocks to which it refers.
  if (!task.record_key.empty()) StoreRecord(task);
  task.reply->kept = kept;
  task.reply->refusal = static_cast<uint32_t>(cache_.refusal());
  if (!SendMessage(socket_, Encode(*task.reply))) broken_ = true;
}

void CacheWriter::RunMakeRoom() {
  const MutexLock lock(mutex_);
  while (true) {
    while (!wrote_ && !ending_) written_.Wait(mutex_);
    if (!wrote_) return;
    wrote_ = false;
    const MutexUnlock unlocked(mutex_);
    cache_.MakeRoom();
  }
}

}  // namespace ctxfs::remote

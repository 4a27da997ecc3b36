// SPDX-License-Identifier: Apache-2.0
#include "core/remote/cache_writer.h"

#include <utility>

#include "core/remote/channel.h"

namespace ctxfs::remote {

CacheWriter::CacheWriter(BlockStore& cache, int socket)
    : cache_(cache),
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

void CacheWriter::Run() {
  MutexLock lock(mutex_);
  while (true) {
    while (tasks_.empty() && !ending_) changed_.Wait(mutex_);
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.Unlock();
    task.reply.kept = cache_.Write(task.key, task.first, task.blocks);
    // After the blocks, which it leads to.
    if (!task.record_key.empty()) {
      cache_.WriteRecord(task.record_key, task.record);
    }
    task.reply.refusal = static_cast<uint32_t>(cache_.refusal());
    if (!SendMessage(socket_, Encode(task.reply))) broken_ = true;
    lock.Lock();
    wrote_ = true;
    written_.NotifyAll();
  }
}

void CacheWriter::RunMakeRoom() {
  MutexLock lock(mutex_);
  while (true) {
    while (!wrote_ && !ending_) written_.Wait(mutex_);
    if (!wrote_) return;
    wrote_ = false;
    lock.Unlock();
    cache_.MakeRoom();
    lock.Lock();
  }
}

}  // namespace ctxfs::remote

// SPDX-License-Identifier: Apache-2.0
#include "fs/kernel_pages.h"

#include <utility>

namespace ctxfs {

KernelPages::~KernelPages() {
  Stop();
  std::thread thread;
  {
    const MutexLock lock(mutex_);
    thread.swap(thread_);
  }
  if (thread.joinable()) thread.join();
}

void KernelPages::Stop() {
  const MutexLock lock(mutex_);
  stopping_ = true;
  changed_.NotifyAll();
}

void KernelPages::Drop(Inode file) {
  if (drop_ == nullptr) return;
  const MutexLock lock(mutex_);
  files_.insert(file);
  if (!thread_.joinable() && !stopping_) {
    thread_ = std::thread([this] { Run(); });
  }
  changed_.NotifyAll();
}

void KernelPages::Run() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    if (files_.empty()) {
      changed_.Wait(mutex_);
      continue;
    }
    const Inode file = files_.extract(files_.begin()).value();
    lock.Unlock();
    drop_(file);
    lock.Lock();
  }
}

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/io/fd.h"
#include "fs/ring/io_ring.h"

namespace ctxfs {

/// The requests of one processor, and the thread that answers them
/// (RequestRings).
class RequestQueue {
 public:
  /// What the thread calls; see RequestRings::Start.
  struct Calls {
    std::function<void(std::span<std::byte>)> process;
    std::function<void(int ring)> confine;
    std::function<void()> refused;
  };

  /// A queue of `depth` requests at a time, for the processor `number`.
  static Result<std::unique_ptr<RequestQueue>> Make(unsigned number,
                                                    unsigned depth, int device);
  ~RequestQueue() { Stop(); }
  RequestQueue(const RequestQueue&) = delete;
  RequestQueue& operator=(const RequestQueue&) = delete;

  Status Reserve(size_t bytes);
  void Start(Calls calls);
  void Stop();

  /// The same as that of RequestRings.
  bool Answer(uint64_t unique, std::span<const iovec> parts);

 private:
  struct Header;
  /// Room for a request and its answer.
  struct Entry {
    Header* header = nullptr;
    std::byte* payload = nullptr;
    iovec places[2] = {};  // of both
    uint64_t commit = 0;   // the kernel's number of the request
    /// The number of the request that is to be answered; 0: none.
    std::atomic<uint64_t> unique = 0;
  };

  RequestQueue(unsigned number, unsigned depth, IoRing ring, Fd wake)
      : number_(number),
        entries_(depth),
        wake_(std::move(wake)),
        ring_(std::make_unique<IoRing>(std::move(ring))) {}

  void Run();
  /// Gives an entry to the kernel, with the answer that it may have.
  void Ask(size_t entry, uint32_t command);
  /// Has the end of a write to wake_ reported.
  void WatchWake();
  /// Serves what has come. Returns false when the thread is to end.
  bool ServeCompletions();
  void Complete(size_t entry, int result);
  void Receive(size_t entry);
  /// Hands the answers of other threads to the kernel.
  void CommitOthers();
  void Write(Entry& entry, std::span<const iovec> parts) const;

  const unsigned number_;
  std::vector<Entry> entries_;
  const Fd wake_;  // written to when there is something in answered_, or at end
  std::unique_ptr<IoRing> ring_;  // null once closed
  Mapping memory_;
  size_t payload_size_ = 0;
  Calls calls_;
  uint64_t woken_ = 0;  // what was read from wake_
  std::vector<std::byte> request_;
  std::atomic<bool> stop_ = false;
  Mutex mutex_;
  std::vector<size_t> answered_ CTXFS_GUARDED_BY(mutex_);
  std::vector<size_t> taken_;  // from answered_
  std::thread thread_;
};

}  // namespace ctxfs

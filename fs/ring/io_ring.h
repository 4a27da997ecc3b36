// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/io_uring.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/result.h"
#include "core/io/fd.h"

namespace ctxfs {

/// A mapping of memory that is shared with the kernel, or private.
class Mapping {
 public:
  Mapping() = default;
  /// Fails if the process may not map so much.
  static Result<Mapping> Of(int descriptor, uint64_t offset, size_t size);
  /// Pages that are nobody else's, and take no memory before they are used.
  static Result<Mapping> Private(size_t size);
  ~Mapping();
  Mapping(Mapping&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), size_(other.size_) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(size_, other.size_);
    return *this;
  }

  std::byte* at(size_t offset) const { return start_ + offset; }
  size_t size() const { return size_; }

 private:
  Mapping(std::byte* start, size_t size) : start_(start), size_(size) {}

  std::byte* start_ = nullptr;
  size_t size_ = 0;
};

/// An io_uring that the kernel restricts to two operations: commands on the
/// FUSE device, and reads of one eventfd. The restriction cannot be lifted. So
/// even an attacker who can write to its queue can open no file and no socket.
/// For one thread, apart from Make.
class IoRing {
 public:
  /// What io_uring_sqe::fd is to be.
  static constexpr int kDevice = 0;
  static constexpr int kWake = 1;

  /// A ring for up to `entries` requests at a time, at most 4,096. Fails where
  /// the kernel has no io_uring, or forbids it.
  static Result<IoRing> Make(unsigned entries, int device, int wake);

  int descriptor() const { return ring_.get(); }

  /// Lets the ring work. The thread that calls this is the one that may use it.
  Status Enable() const;

  /// A request for the next Enter, zeroed but for the flag that names its file
  /// by index; null if as many as the ring has room for are there already.
  io_uring_sqe* Add();

  /// The 80 bytes of such a request that are the device's.
  static std::byte* CommandOf(io_uring_sqe* request) {
    return reinterpret_cast<std::byte*>(request) +
           offsetof(io_uring_sqe, addr3);
  }

  /// Submits what was added, and waits until there are `least` completions.
  /// Returns an errno, 0 if that worked.
  int Enter(unsigned least);

  /// Takes the next completion into `done`; false if there is none.
  bool Take(io_uring_cqe& done);

 private:
  IoRing(Fd ring, Mapping queues, Mapping submissions,
         const io_uring_params& made);
  Status Restrict() const;

  Fd ring_;
  Mapping queues_;
  Mapping submissions_;
  uint32_t* head_;  // of submissions; written by the kernel
  uint32_t* tail_;
  uint32_t* slots_;
  uint32_t mask_;
  uint32_t* done_head_;
  uint32_t* done_tail_;  // written by the kernel
  io_uring_cqe* done_;
  uint32_t done_mask_;
  uint32_t added_ = 0;  // since the last Enter
};

}  // namespace ctxfs

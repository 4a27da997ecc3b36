// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/result.h"

namespace ctxfs {

class RequestQueue;

/// FUSE over io_uring (Linux 6.14): for each processor, a queue in which the
/// kernel puts the requests that are made there, and a thread on it that
/// answers them. A request and the answer to the one before it then take one
/// system call instead of two, and no other processor is woken. What the kernel
/// does not put there (FUSE_INTERRUPT, FUSE_FORGET) is still read from the
/// device.
class RequestRings {
 public:
  /// Works on a request, which is writable until that returns. Called by the
  /// thread of a queue; the answer may come later, from any thread.
  using Process = std::function<void(std::span<std::byte>)>;

  /// Rings for the session with the descriptor `device`, before its FUSE_INIT
  /// is answered. Fails where the kernel has no io_uring or forbids it.
  static Result<std::unique_ptr<RequestRings>> Make(int device);

  ~RequestRings();
  RequestRings(const RequestRings&) = delete;
  RequestRings& operator=(const RequestRings&) = delete;

  /// Makes room for answers of up to `bytes`. Called once, before Start.
  Status Reserve(size_t bytes);

  /// Starts the threads, once FUSE_INIT is answered. Until then the kernel lets
  /// all requests wait. Each thread calls `confine` with the descriptor of its
  /// ring, and after that makes no system calls of its own but io_uring_enter
  /// with that. If the kernel refuses a queue, `refused` is called: the session
  /// cannot go on.
  void Start(Process process, std::function<void(int ring)> confine,
             std::function<void()> refused);

  /// Ends the threads, once nobody answers requests any more, and closes the
  /// rings, so that the session can be unmounted. May be called twice.
  void Stop();

  /// Sends an answer: a fuse_out_header, and what follows it. Returns false if
  /// the request is none of these queues. May be called by any thread.
  bool Answer(std::span<const iovec> parts);

 private:
  explicit RequestRings(std::vector<std::unique_ptr<RequestQueue>> queues);

  std::vector<std::unique_ptr<RequestQueue>> queues_;
};

}  // namespace ctxfs

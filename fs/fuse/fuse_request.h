// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fuse_lowlevel.h>
#include <signal.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/base/caught.h"
#include "core/base/error_number.h"
#include "core/base/server_wait.h"
#include "core/content/read_context.h"
#include "fs/common/exit_code.h"
#include "fs/fuse/brief_interrupt.h"
#include "fs/fuse/request_pool.h"
#include "fs/mount/server.h"
#include "fs/mount/signal_watch.h"

namespace ctxfs {

/// The signals of the caller that cancel a request.
enum class EndedBy : uint8_t {
  /// Signals meant to end the caller, even if it handles them: a look-up may
  /// fail with EINTR.
  kEndingSignals,
  /// Only fatal signals, for reads. A read may belong to a page fault, which
  /// cannot fail with EINTR: the process would get SIGBUS.
  kDeath,
};

/// The right to answer a request of the kernel, which is used once (Take).
/// Empty after that, or after a move.
class Reply {
 public:
  explicit Reply(fuse_req_t req) : req_(req) {}
  Reply(Reply&& other) noexcept : req_(std::exchange(other.req_, nullptr)) {}
  Reply& operator=(Reply&&) = delete;

  fuse_req_t get() const { return req_; }
  bool is_sent() const { return req_ == nullptr; }
  /// Returns the request, which the caller must answer at once; libfuse then
  /// frees it.
  fuse_req_t Take() { return std::exchange(req_, nullptr); }

 private:
  fuse_req_t req_;
};

/// A request answered in two steps: `compute` makes a Result<T> from a
/// ReadContext, and `send` sends the T through a Reply. Logs an Error and
/// replies with its errno.
template <typename Compute, typename Send>
class FuseRequest final : public PendingRequest {
 public:
  FuseRequest(fuse_req_t req, Inode inode, EndedBy ended_by, Compute compute,
              Send send)
      : reply_(req),
        thread_(static_cast<uint64_t>(fuse_req_ctx(req)->pid)),
        ended_by_(ended_by),
        server_(*static_cast<Server*>(fuse_req_userdata(req))),
        inode_(inode),
        compute_(std::move(compute)),
        send_(std::move(send)) {}
  FuseRequest(FuseRequest&&) noexcept = default;
  FuseRequest& operator=(FuseRequest&&) = delete;
  // Answers with ENOMEM if memory ran out before any answer.
  ~FuseRequest() override {
    if (reply_.is_sent()) return;
    Unwatch();
    Fail(ENOMEM);
  }

  Server& server() const { return server_; }

  // Work and Answer catch exceptions: libraries throw, and memory can run out.
  void Work(const Interrupt& interrupt) override {
    ServerWait waits(began_);
    computed_.emplace(CatchAll<Computed>([&] {
      return compute_({server_.cache(), Request(interrupt, &waits, thread_)});
    }));
  }
  void Answer() override {
    server_.stats().NoteWait(ServerWait::Clock::now() - began_);
    if (*computed_) {
      TrySend(std::move(**computed_));
    } else {
      LogFailure(computed_->error());
      Fail(ErrnoOf(computed_->error()));
    }
    Drop();
  }
  void Drop() override { computed_.reset(); }
  void Refuse() override { Fail(EINTR); }
  bool MayRefuse() override {
    constexpr uint64_t kDeath = SignalBit(SIGKILL);
    constexpr uint64_t kEnding = kDeath | SignalBit(SIGHUP) |
                                 SignalBit(SIGINT) | SignalBit(SIGQUIT) |
                                 SignalBit(SIGTERM);
    SignalWatch* const signals = server_.signals();
    const auto pending =
        signals != nullptr ? signals->Pending(thread_) : std::nullopt;
    const bool only_death = ended_by_ == EndedBy::kDeath;
    // If the signal is unknown, it may be a timer's, which must not fail a
    // request.
    if (!pending) return false;
    // When a signal ends a process, the kernel sets SIGKILL for its threads.
    return (*pending & (only_death ? kDeath : kEnding)) != 0;
  }

  void Watch(Watcher* watcher) override {
    fuse_req_interrupt_func(reply_.get(), &OnInterrupt, watcher);
  }
  // Waits until a running OnInterrupt has returned.
  void Unwatch() override {
    fuse_req_interrupt_func(reply_.get(), nullptr, nullptr);
  }

 private:
  using Computed = std::invoke_result_t<const Compute&, const ReadContext&>;

  static constexpr uint64_t SignalBit(int number) {
    return uint64_t{1} << (number - 1);
  }
  template <typename T>
  void TrySend(T&& value) {
    const Status sent = CatchAll<Status>([&] {
      send_(reply_, std::forward<T>(value));
      return Status();
    });
    // An exception after the answer loses only a hint that saves work later.
    if (!sent && !reply_.is_sent()) Fail(ErrnoOf(sent.error()));
  }
  void Fail(int number) { fuse_reply_err(reply_.Take(), number); }
  void LogFailure(const Error& error) {
    try {
      server_.LogFailure(inode_, error);
    } catch (...) {
      // Without the log message, the caller still gets the errno.
    }
  }
  static void OnInterrupt(fuse_req_t /*req*/, void* watcher) {
    static_cast<Watcher*>(watcher)->CallerGaveUp();
  }

  Reply reply_;
  uint64_t thread_;  // of the caller; 0: not visible from here
  ServerWait::Clock::time_point began_ = ServerWait::Clock::now();
  EndedBy ended_by_;
  Server& server_;
  Inode inode_;
  Compute compute_;
  Send send_;
  std::optional<Computed> computed_;
};

/// Answers a request about `inode` in this thread if that is quick, else in the
/// pool. So `compute` may run twice. `compute` and `send` must own their data,
/// because they may outlive the caller. `file` identifies the open file that a
/// request reads; 0: the request reads none.
template <typename Compute, typename Send>
void Serve(fuse_req_t req, Inode inode, Compute compute, Send send,
           uint64_t file = 0) noexcept {
  const EndedBy ended_by =
      file == 0 ? EndedBy::kEndingSignals : EndedBy::kDeath;
  const auto thread = static_cast<uint64_t>(fuse_req_ctx(req)->pid);
  FuseRequest<Compute, Send> request(req, inode, ended_by, std::move(compute),
                                     std::move(send));
  const BriefInterrupt brief;
  request.Work(brief);
  if (!brief.gave_up()) {
    request.Answer();
    return;
  }
  request.Drop();
  try {
    Server& server = request.server();
    server.pool().Add(
        std::make_unique<FuseRequest<Compute, Send>>(std::move(request)),
        {file, thread},
        brief.is_large() ? RequestPool::Work::kLarge
                         : RequestPool::Work::kUnknown);
    ReaderWatch* const readers = server.readers();
    if (readers != nullptr && file != 0) readers->Watch(thread);
  } catch (...) {
    // The destructor has answered the request.
  }
}

}  // namespace ctxfs

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

/// Which signals of its caller end a request.
enum class EndedBy : uint8_t {
  /// Signals that are meant to end the caller, even if it handles them: a
  /// look-up may fail with EINTR.
  kEndingSignals,
  /// Signals that do end the caller. A page fault cannot fail with EINTR: the
  /// process would get a SIGBUS.
  kDeath,
};

/// A request of the kernel that has no answer yet.
class Reply {
 public:
  explicit Reply(fuse_req_t req) : req_(req) {}
  Reply(Reply&& other) noexcept : req_(std::exchange(other.req_, nullptr)) {}
  Reply& operator=(Reply&&) = delete;

  fuse_req_t get() const { return req_; }
  bool is_sent() const { return req_ == nullptr; }
  /// To be answered at once: libfuse frees a request when it is.
  fuse_req_t Take() { return std::exchange(req_, nullptr); }

 private:
  fuse_req_t req_;
};

/// A request that is answered in two steps: `compute` makes a Result<T> of a
/// ReadContext, and `send` replies with the T, by a Reply. An Error is logged,
/// and its errno sent.
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
  // Answers a request that had no answer yet because memory ran out.
  ~FuseRequest() override {
    if (reply_.is_sent()) return;
    Unwatch();
    Fail(ENOMEM);
  }

  Server& server() const { return server_; }

  // Exceptions are caught here and in Answer: nothing throws on purpose, but
  // libraries do, and memory can run out.
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
    // What is not known may be a timer's signal, for which no request may fail.
    if (!pending) return false;
    // When a signal ends a process, the kernel sets SIGKILL for its threads.
    return (*pending & (only_death ? kDeath : kEnding)) != 0;
  }

  void Watch(Watcher* watcher) override {
    fuse_req_interrupt_func(reply_.get(), &OnInterrupt, watcher);
  }
  // Waits until a running call of OnInterrupt has returned.
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
    // After the answer, only a note is lost that saves work later.
    if (!sent && !reply_.is_sent()) Fail(ErrnoOf(sent.error()));
  }
  void Fail(int number) { fuse_reply_err(reply_.Take(), number); }
  void LogFailure(const Error& error) {
    try {
      server_.LogFailure(inode_, error);
    } catch (...) {
      // The errno has to do.
    }
  }
  static void OnInterrupt(fuse_req_t /*req*/, void* watcher) {
    static_cast<Watcher*>(watcher)->CallerGaveUp();
  }

  Reply reply_;
  uint64_t thread_;  // the caller's; 0 if it cannot be seen from here
  ServerWait::Clock::time_point began_ = ServerWait::Clock::now();
  EndedBy ended_by_;
  Server& server_;
  Inode inode_;
  Compute compute_;
  Send send_;
  std::optional<Computed> computed_;
};

/// Answers a request about `inode` in this thread if that is quickly done, else
/// in the pool. `compute` may therefore run twice, and both must own what they
/// use: the caller of the request can be gone before they are. `file` is the
/// open file that a request reads.
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
  } catch (...) {
    // The request has been answered when it was destroyed.
  }
}

}  // namespace ctxfs

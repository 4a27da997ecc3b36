// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fuse_lowlevel.h>
#include <signal.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/base/error_number.h"
#include "core/base/interrupt_scope.h"
#include "core/base/server_wait.h"
#include "core/content/read_context.h"
#include "fs/brief_interrupt.h"
#include "fs/exit_code.h"
#include "fs/request_pool.h"
#include "fs/server.h"
#include "fs/signal_watch.h"

namespace ctxfs {

/// Which signals of its caller end a request.
enum class EndedBy : uint8_t {
  /// Those that are meant to end the caller, even if it handles them: EINTR is
  /// an error that a look-up may have.
  kEndingSignals,
  /// Those that do end it. A page fault has no such error: the process would
  /// get a SIGBUS.
  kDeath,
};

/// A request that is answered in two steps: `compute` makes a Result<T> of a
/// ReadContext, and `send` replies with the T. An Error is logged, and its
/// errno sent.
template <typename Compute, typename Send>
class FuseRequest final : public PendingRequest {
 public:
  FuseRequest(fuse_req_t req, Inode inode, EndedBy ended_by, Compute compute,
              Send send)
      : req_(req),
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
    if (req_ == nullptr) return;
    Unwatch();
    fuse_reply_err(Take(), ENOMEM);
  }

  Server& server() const { return server_; }

  // The one place where exceptions are caught: nothing here throws on purpose,
  // but memory can run out.
  void Work(const Interrupt& interrupt) override {
    const InterruptScope interrupts(interrupt);
    const ServerWait waits(began_);
    try {
      computed_.emplace(compute_(ReadContext(server_.cache(), interrupt)));
    } catch (const std::bad_alloc&) {
      computed_.emplace(Error{Code::kNoMemory, "out of memory"});
    } catch (const std::exception& /*unexpected*/) {
      computed_.emplace(Error{Code::kIo, "internal error"});
    }
  }
  void Answer() override {
    server_.stats().NoteWait(ServerWait::Clock::now() - began_);
    if (*computed_) {
      send_(Take(), std::move(**computed_));
    } else {
      LogFailure(computed_->error());
      fuse_reply_err(Take(), ErrnoOf(computed_->error()));
    }
    Drop();
  }
  void Drop() override { computed_.reset(); }
  void Refuse() override { fuse_reply_err(Take(), EINTR); }
  bool MayRefuse() override {
    constexpr uint64_t kDeath = SignalBit(SIGKILL);
    constexpr uint64_t kEnding = kDeath | SignalBit(SIGHUP) |
                                 SignalBit(SIGINT) | SignalBit(SIGQUIT) |
                                 SignalBit(SIGTERM);
    SignalWatch* const signals = server_.signals();
    const auto pending =
        signals != nullptr ? signals->Pending(thread_) : std::nullopt;
    const bool only_death = ended_by_ == EndedBy::kDeath;
    // When a signal ends a process, the kernel sets SIGKILL for its threads.
    if (!pending) return !only_death;
    return (*pending & (only_death ? kDeath : kEnding)) != 0;
  }

  void Watch(Watcher* watcher) override {
    fuse_req_interrupt_func(req_.get(), &OnInterrupt, watcher);
  }
  // Waits until a running call of OnInterrupt has returned.
  void Unwatch() override {
    fuse_req_interrupt_func(req_.get(), nullptr, nullptr);
  }

 private:
  static constexpr uint64_t SignalBit(int number) {
    return uint64_t{1} << (number - 1);
  }
  fuse_req_t Take() { return req_.release(); }
  void LogFailure(const Error& error) {
    try {
      server_.LogFailure(inode_, error);
    } catch (const std::bad_alloc&) {
      // The errno has to do.
    }
  }
  static void OnInterrupt(fuse_req_t /*req*/, void* watcher) {
    static_cast<Watcher*>(watcher)->CallerGaveUp();
  }

  /// libfuse frees a request when it is answered.
  struct FreedByLibfuse {
    void operator()(fuse_req_t /*req*/) const {}
  };
  std::unique_ptr<std::remove_pointer_t<fuse_req_t>, FreedByLibfuse> req_;
  uint64_t thread_;  // the caller's; 0 if it cannot be seen from here
  ServerWait::Clock::time_point began_ = ServerWait::Clock::now();
  EndedBy ended_by_;
  Server& server_;
  Inode inode_;
  Compute compute_;
  Send send_;
  std::optional<std::invoke_result_t<const Compute&, const ReadContext&>>
      computed_;
};

/// Answers a request about `inode` in this thread if that is quickly done, else
/// in the pool. `compute` may therefore run twice, and both must own what they
/// use: the caller of the request can be gone before they are. `file` is the
/// open file that a request reads.
template <typename Compute, typename Send>
void Serve(fuse_req_t req, Inode inode, Compute compute, Send send,
           uint64_t file = 0) {
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
  } catch (const std::bad_alloc&) {
    // The request has been answered when it was destroyed.
  }
}

}  // namespace ctxfs

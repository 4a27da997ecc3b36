// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/heap/heap_allowance.h"
#include "core/base/interrupt.h"
#include "core/base/result.h"
#include "core/base/server_wait.h"
#include "core/base/work.h"

namespace ctxfs {

/// How many bytes after a read will be read as well: a remote source fetches
/// them along with it. They are counted from the end of that read, so a source
/// that reads from another one need not convert them.
struct Ahead {
  enum class Likelihood : uint8_t {
    kUnknown,   // nothing is known
    kIfOnward,  // they are read if the reader goes on
    kCertain,   // all of them are read
  };

  uint64_t bytes = 0;
  Likelihood likelihood = Likelihood::kUnknown;
};

/// The state of one request, passed to everything that may read for it: whether
/// the requester has given up, how long it may wait for servers, how much work
/// it may still cause, who its caller is, and what is read next. A value of a
/// few pointers to objects on the stack of the thread that serves; With returns
/// a narrower one. Must not be kept longer than the call that it is passed to.
class Request {
 public:
  /// A request of nobody: it is never interrupted, and its work has no bound.
  Request() : Request(NeverInterrupted()) {}
  explicit Request(const Interrupt& interrupt, ServerWait* wait = nullptr,
                   uint64_t caller = 0)
      : interrupt_(&interrupt), wait_(wait), caller_(caller) {}

  const Interrupt& interrupt() const { return *interrupt_; }

  /// The thread of another process that this request is of: what one request
  /// found can help its next one. 0 if it is not known.
  uint64_t caller() const { return caller_; }

  const Ahead& ahead() const { return ahead_; }

  /// This request, interrupted by `interrupt` instead.
  Request With(const Interrupt& interrupt) const {
    Request narrower = *this;
    narrower.interrupt_ = &interrupt;
    return narrower;
  }

  /// This request, whose waits for servers are those of `own` unless it has
  /// others already.
  Request WithWaitUnlessSet(ServerWait& own) const {
    Request narrower = *this;
    if (narrower.wait_ == nullptr) narrower.wait_ = &own;
    return narrower;
  }
  /// What has been waited for servers; there must be one.
  ServerWait& wait() const { return *wait_; }

  /// This request, limited to `work`.
  Request With(Work& work) const {
    Request narrower = *this;
    narrower.work_ = &work;
    return narrower;
  }

  /// This request, before a read that `ahead` is about. Within a request all of
  /// whose reads are certain, they stay so.
  Request With(Ahead ahead) const {
    Request narrower = *this;
    narrower.ahead_.bytes = ahead.bytes;
    if (ahead_.likelihood != Ahead::Likelihood::kCertain) {
      narrower.ahead_.likelihood = ahead.likelihood;
    }
    return narrower;
  }

  /// This request, whose work is not counted.
  Request WithoutWork() const {
    Request wider = *this;
    wider.work_ = nullptr;
    return wider;
  }

  /// kInterrupted if the requester has given up. Every loop that may run for
  /// more than a few milliseconds calls it.
  Status Check() const { return interrupt_->Check(); }

  /// Like Check, before work of about `bytes` bytes outside of a Block.
  Status CheckFor(uint64_t bytes) const { return interrupt_->CheckFor(bytes); }

  /// Like Check, before `bytes` bytes are allocated in one piece. Also fails if
  /// there is no memory for them, or if the work has taken too much already.
  Status CheckMemory(uint64_t bytes = 0) const {
    CTXFS_TRY(HeapAllowance::Admit(bytes));
    return Check();
  }

  /// Counts bytes that are about to be decoded, computed, rendered or scanned.
  /// kLimit if they are more than the request may cause.
  Status Charge(uint64_t bytes) const {
    return work_ == nullptr ? Status() : work_->Charge(bytes);
  }

  /// kLimit if Charge(bytes) would fail: refuses work before it begins.
  Status CheckCharge(uint64_t bytes) const {
    return work_ == nullptr ? Status() : work_->CheckCharge(bytes);
  }

 private:
  const Interrupt* interrupt_;
  ServerWait* wait_;      // null: each fetch has a timeout of its own
  Work* work_ = nullptr;  // null: no bound
  uint64_t caller_;
  Ahead ahead_;
};

}  // namespace ctxfs

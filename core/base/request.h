// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/heap/heap_allowance.h"
#include "core/base/interrupt.h"
#include "core/base/result.h"
#include "core/base/server_wait.h"
#include "core/base/work.h"

namespace ctxfs {

/// How many bytes directly after a read will be read next. A remote source
/// fetches them together with the read. The count starts at the end of the
/// read, so a source that reads from another source passes it on unchanged.
struct Ahead {
  enum class Likelihood : uint8_t {
    kUnknown,   // nothing is known
    kIfOnward,  // all are read if the reader continues
    kCertain,   // all are read
  };

  uint64_t bytes = 0;
  Likelihood likelihood = Likelihood::kUnknown;
};

/// The state of one request, passed to everything that may read for it:
/// interruption, the time to wait for servers, the remaining work, the caller,
/// and the bytes that are read next. A Request is a few pointers to objects on
/// the stack of the serving thread, and is passed by value or reference. With
/// returns a changed copy. A Request must not outlive the call that receives
/// it.
class Request {
 public:
  /// A request without a requester: never interrupted, with unbounded work.
  Request() : Request(NeverInterrupted()) {}
  explicit Request(const Interrupt& interrupt, ServerWait* wait = nullptr,
                   uint64_t caller = 0)
      : interrupt_(&interrupt), wait_(wait), caller_(caller) {}

  const Interrupt& interrupt() const { return *interrupt_; }

  /// Identifies the thread, of another process, that made this request; 0 if
  /// unknown. Results of one request can help the next one of the same thread.
  uint64_t caller() const { return caller_; }

  const Ahead& ahead() const { return ahead_; }

  /// This request, interrupted by `interrupt` instead.
  Request With(const Interrupt& interrupt) const {
    Request narrower = *this;
    narrower.interrupt_ = &interrupt;
    return narrower;
  }

  /// This request, with `own` as its ServerWait unless it already has one.
  Request WithWaitUnlessSet(ServerWait& own) const {
    Request narrower = *this;
    if (narrower.wait_ == nullptr) narrower.wait_ = &own;
    return narrower;
  }
  /// Returns the ServerWait, which must be set.
  ServerWait& wait() const { return *wait_; }

  /// This request, limited to `work`.
  Request With(Work& work) const {
    Request narrower = *this;
    narrower.work_ = &work;
    return narrower;
  }

  /// This request for a read that is followed by `ahead`. If this request is
  /// kCertain, the result is kCertain, too.
  Request With(Ahead ahead) const {
    Request narrower = *this;
    narrower.ahead_.bytes = ahead.bytes;
    if (ahead_.likelihood != Ahead::Likelihood::kCertain) {
      narrower.ahead_.likelihood = ahead.likelihood;
    }
    return narrower;
  }

  /// This request with its work uncounted.
  Request WithoutWork() const {
    Request wider = *this;
    wider.work_ = nullptr;
    return wider;
  }

  /// Fails with kInterrupted if the requester has given up. Every loop that may
  /// run for more than a few milliseconds must call it.
  Status Check() const { return interrupt_->Check(); }

  /// Like Check, but also fails if this thread may not start work of about
  /// `bytes` bytes (Interrupt::MayTake).
  Status CheckFor(uint64_t bytes) const { return interrupt_->CheckFor(bytes); }

  /// Like Check, before `bytes` bytes are allocated in one piece. Also fails if
  /// the HeapAllowance of this thread does not cover them, or was exceeded
  /// before.
  Status CheckMemory(uint64_t bytes = 0) const {
    CTXFS_TRY(HeapAllowance::Admit(bytes));
    return Check();
  }

  /// Counts bytes before they are decoded, computed, rendered or scanned. Fails
  /// with kLimit if they exceed the bound of the request.
  Status Charge(uint64_t bytes) const {
    return work_ == nullptr ? Status() : work_->Charge(bytes);
  }

  /// Fails with kLimit if Charge(bytes) would fail: refuses work before it
  /// begins.
  Status CheckCharge(uint64_t bytes) const {
    return work_ == nullptr ? Status() : work_->CheckCharge(bytes);
  }

 private:
  const Interrupt* interrupt_;
  ServerWait* wait_;      // null: each fetch has its own timeout
  Work* work_ = nullptr;  // null: no bound
  uint64_t caller_;
  Ahead ahead_;
};

}  // namespace ctxfs

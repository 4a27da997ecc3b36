// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/eventfd.h>

#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/mutex.h"
#include "core/base/mutex_unlock.h"
#include "core/base/result.h"
#include "core/io/fd.h"
#include "core/io/io_error.h"

namespace ctxfs {

/// Questions of confined serving threads to a thread that is not confined; one
/// thread per kind, so that no kind waits for another.
class Questions {
 public:
  virtual ~Questions() = default;
  /// Readable while a question is pending.
  virtual int fd() const = 0;
  /// Answers all questions, in the thread that is not confined. Does not throw.
  virtual void Answer() = 0;
};

/// Pending questions of one kind. Thread-safe.
template <typename Question, typename Reply>
class QuestionQueue {
 public:
  /// Makes the eventfd of a queue. Fails if the process is out of descriptors.
  static Result<Fd> MakeWake() {
    Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake.ok()) return IoError("cannot create an eventfd");
    return wake;
  }

  explicit QuestionQueue(Fd wake) : wake_(std::move(wake)) {}

  int fd() const { return wake_.get(); }

  /// Waits for the reply; returns nothing after a second, or if computing the
  /// reply throws.
  std::optional<Reply> Ask(Question question) {
    const auto waiting = std::make_shared<Waiting>(std::move(question));
    const Clock::time_point end = Clock::now() + std::chrono::seconds(1);
    const MutexLock lock(mutex_);
    Add(waiting);
    while (!waiting->done && Clock::now() < end) {
      answered_.WaitUntil(mutex_, end);
    }
    waiting->given_up = !waiting->done;
    open_.remove(waiting);
    return std::move(waiting->reply);
  }

  /// Adds a question without waiting for its reply.
  void Post(Question question) {
    const auto waiting = std::make_shared<Waiting>(std::move(question));
    const MutexLock lock(mutex_);
    Add(waiting);
  }

  /// Answers each question by calling `answer`, and passes replies that no
  /// thread waits for to `unused`.
  template <typename Answer, typename Unused>
  void AnswerAll(const Answer& answer, const Unused& unused) {
    eventfd_t wakes = 0;
    (void)::eventfd_read(wake_.get(), &wakes);
    const MutexLock lock(mutex_);
    const std::list<std::shared_ptr<Waiting>> questions = std::move(open_);
    open_.clear();
    for (const std::shared_ptr<Waiting>& waiting : questions) {
      std::optional<Reply> reply;
      {
        const MutexUnlock unlocked(mutex_);
        reply = ReplyTo(waiting->question, answer);
      }
      waiting->done = true;
      if (reply && waiting->given_up) {
        unused(*reply);
        continue;
      }
      waiting->reply = std::move(reply);
      answered_.NotifyAll();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Waiting {
    explicit Waiting(Question of) : question(std::move(of)) {}

    const Question question;
    bool given_up = false;
    bool done = false;
    std::optional<Reply> reply;  // once done; nothing: `answer` threw
  };

  template <typename Answer>
  static std::optional<Reply> ReplyTo(const Question& question,
                                      const Answer& answer) {
    try {
      return answer(question);
    } catch (...) {
      return std::nullopt;
    }
  }

  void Add(const std::shared_ptr<Waiting>& waiting) CTXFS_REQUIRES(mutex_) {
    open_.push_back(waiting);
    (void)::eventfd_write(wake_.get(), 1);
  }

  const Fd wake_;  // an eventfd
  Mutex mutex_;
  CondVar answered_;
  std::list<std::shared_ptr<Waiting>> open_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs

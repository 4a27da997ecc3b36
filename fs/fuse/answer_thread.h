// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thread>

#include "fs/kernel/questions.h"

namespace ctxfs {

/// Answers one kind of Questions in a thread of its own.
class AnswerThread {
 public:
  /// The name of all helper threads, which are not confined.
  static constexpr char kName[] = "ctxfs-helper";

  /// Runs until the descriptor `stop` is readable. Throws std::system_error if
  /// the thread cannot start.
  AnswerThread(Questions& questions, int stop);
  /// Waits for the thread, which stops once `stop` is readable.
  ~AnswerThread() { thread_.join(); }
  AnswerThread(const AnswerThread&) = delete;
  AnswerThread& operator=(const AnswerThread&) = delete;

 private:
  std::thread thread_;
};

}  // namespace ctxfs

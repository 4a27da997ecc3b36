// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thread>

#include "fs/kernel/questions.h"

namespace ctxfs {

/// Answers the questions of one kind in a thread of its own.
class AnswerThread {
 public:
  /// The name of all threads that help those that are confined.
  static constexpr char kName[] = "ctxfs-helper";

  /// Until the descriptor `stop` is readable. Throws std::system_error if no
  /// thread can be had.
  AnswerThread(Questions& questions, int stop);
  /// Waits until it is, and the last question has been answered.
  ~AnswerThread() { thread_.join(); }
  AnswerThread(const AnswerThread&) = delete;
  AnswerThread& operator=(const AnswerThread&) = delete;

 private:
  std::thread thread_;
};

}  // namespace ctxfs

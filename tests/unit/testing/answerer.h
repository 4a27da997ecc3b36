// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <atomic>
#include <thread>

#include "fs/kernel/questions.h"

namespace ctxfs {

/// Answers questions, as the thread that is not confined does.
class Answerer {
 public:
  explicit Answerer(Questions& questions)
      : thread_([this, &questions] {
          while (!stop_) {
            pollfd ready{questions.fd(), POLLIN, 0};
            if (::poll(&ready, 1, 10) > 0) questions.Answer();
          }
        }) {}
  ~Answerer() {
    stop_ = true;
    thread_.join();
  }
  Answerer(const Answerer&) = delete;
  Answerer& operator=(const Answerer&) = delete;

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace ctxfs

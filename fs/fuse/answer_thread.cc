// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/answer_thread.h"

#include <poll.h>
#include <pthread.h>

#include <iterator>

namespace ctxfs {
namespace {

void AnswerUntil(Questions& questions, int stop) {
  pollfd ready[] = {{questions.fd(), POLLIN, 0}, {stop, POLLIN, 0}};
  while (ready[1].revents == 0) {
    if (::poll(ready, std::size(ready), -1) > 0) questions.Answer();
  }
}

}  // namespace

AnswerThread::AnswerThread(Questions& questions, int stop)
    : thread_([&questions, stop] { AnswerUntil(questions, stop); }) {
  (void)::pthread_setname_np(thread_.native_handle(), kName);
}

}  // namespace ctxfs

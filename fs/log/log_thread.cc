// SPDX-License-Identifier: Apache-2.0
#include "fs/log/log_thread.h"

#include <pthread.h>

#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include "fs/fuse/answer_thread.h"

namespace ctxfs {
namespace {

LogSink SinkOf(LogRelay& relay) {
  return [&relay](LogLevel level, const std::string& message) {
    return relay.Send(level, message);
  };
}

}  // namespace

LogThread::LogThread(std::shared_ptr<LogRelay> relay)
    : relay_(std::move(relay)), sink_(SetLogSink(SinkOf(*relay_))) {
  std::packaged_task<void()> run(
      [relay = relay_, sink = sink_] { relay->Run(sink); });
  ended_ = run.get_future();
  try {
    thread_ = std::thread(std::move(run));
    (void)::pthread_setname_np(thread_.native_handle(), AnswerThread::kName);
  } catch (const std::system_error&) {
    (void)SetLogSink(sink_);
    throw;
  }
}

LogThread::~LogThread() {
  constexpr std::chrono::seconds kPatience(1);
  relay_->Stop();
  if (ended_.wait_for(kPatience) == std::future_status::ready) {
    thread_.join();
    (void)SetLogSink(sink_);
    return;
  }
  thread_.detach();
  (void)SetLogSink(nullptr);
}

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#include "fs/log/relay.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/io/fd.h"
#include "fs/log/log_thread.h"
#include "fs/log/sinks.h"
#include "tests/unit/testing/threads.h"

namespace ctxfs {
namespace {

using std::chrono::milliseconds;

/// What a relay passed on: messages, and the sum of the counts it reported.
struct Received {
  std::vector<std::pair<LogLevel, std::string>> messages;
  uint64_t suppressed = 0;
  int reports = 0;

  LogSink Sink() {
    return [this](LogLevel level, const std::string& message) {
      if (message.starts_with("log messages suppressed")) {
        suppressed += std::stoull(message.substr(message.rfind(' ')));
        ++reports;
      } else {
        messages.emplace_back(level, message);
      }
      return true;
    };
  }
};

std::unique_ptr<LogRelay> MakeRelay(const LogRelay::Limits& limits = {}) {
  Result<std::unique_ptr<LogRelay>> relay = LogRelay::Make(limits);
  EXPECT_TRUE(relay);
  return std::move(*relay);
}

TEST(LogRelay, PassesMessagesOnWithTheirLevel) {
  const auto relay = MakeRelay();
  Received received;
  EXPECT_TRUE(relay->Send(LogLevel::kError, "'x': byte 3: wrong"));
  EXPECT_TRUE(relay->Send(LogLevel::kInfo, ""));
  relay->Stop();
  relay->Run(received.Sink());
  const decltype(received.messages) expected = {
      {LogLevel::kError, "'x': byte 3: wrong"}, {LogLevel::kInfo, ""}};
  EXPECT_EQ(received.messages, expected);
  EXPECT_EQ(received.reports, 0);
}

TEST(LogRelay, PassesMessagesOnWhileItRuns) {
  const auto relay = MakeRelay();
  Received received;
  std::thread runner([&] {
    relay->Run([&](LogLevel level, const std::string& message) {
      received.Sink()(level, message);
      // Only a message that arrived before Stop ends this test.
      relay->Stop();
      return true;
    });
  });
  EXPECT_TRUE(relay->Send(LogLevel::kWarning, "now"));
  runner.join();
  EXPECT_EQ(received.messages.size(), 1U);
}

TEST(LogRelay, KeepsAMessageOnOneLineAndInOnePiece) {
  const auto relay = MakeRelay();
  Received received;
  const std::string path(10'000, 'p');
  EXPECT_TRUE(relay->Send(LogLevel::kError, "a\nb\x1b[31m\x7f"));
  EXPECT_TRUE(relay->Send(LogLevel::kError, path + ": the reason"));
  relay->Stop();
  relay->Run(received.Sink());
  ASSERT_EQ(received.messages.size(), 2U);
  EXPECT_EQ(received.messages[0].second, "a?b?[31m?");
  const std::string& cut = received.messages[1].second;
  EXPECT_LE(cut.size(), 4000U);
  EXPECT_TRUE(cut.starts_with("pppp") && cut.ends_with("p: the reason"));
  EXPECT_NE(cut.find("[...]"), std::string::npos);
}

TEST(LogRelay, CountsWhatItSuppressesAndRecovers) {
  LogRelay::Limits limits;
  limits.burst = 5;
  limits.per_second = 100;
  limits.report_after = milliseconds(1);
  const auto relay = MakeRelay(limits);
  Received received;
  std::thread runner([&] { relay->Run(received.Sink()); });
  uint64_t sent = 0;
  uint64_t refused = 0;
  // Suppressed for the burst that came before, then sent again.
  for (int turn = 0; turn < 3; ++turn) {
    const uint64_t before = refused;
    while (refused == before) {
      ++(relay->Send(LogLevel::kError, "x") ? sent : refused);
    }
    while (!relay->Send(LogLevel::kError, "x")) {
      ++refused;
      std::this_thread::sleep_for(milliseconds(1));
    }
    ++sent;
  }
  relay->Stop();
  runner.join();
  EXPECT_EQ(received.messages.size(), sent);
  EXPECT_EQ(received.suppressed, refused);
  EXPECT_GE(sent, 5U);
}

TEST(LogRelay, ReportsWithoutAnotherMessage) {
  LogRelay::Limits limits;
  limits.burst = 0;
  limits.per_second = 0;
  limits.report_after = milliseconds(1);
  const auto relay = MakeRelay(limits);
  EXPECT_FALSE(relay->Send(LogLevel::kError, "x"));
  std::string reported;
  relay->Run([&](LogLevel level, const std::string& message) {
    EXPECT_EQ(level, LogLevel::kWarning);
    reported = message;
    relay->Stop();
    return true;
  });
  EXPECT_EQ(reported,
            "log messages suppressed, because there were too many: 1");
}

TEST(LogRelay, NeverWaitsForAReaderAndCountsWhatThePipeCannotHold) {
  LogRelay::Limits limits;
  limits.burst = 1e9;
  const auto relay = MakeRelay(limits);
  const std::string message(1000, 'x');
  uint64_t sent = 0;
  uint64_t refused = 0;
  for (int i = 0; i < 3000; ++i) {  // 3 MB; a pipe holds at most 1 MiB
    ++(relay->Send(LogLevel::kError, message) ? sent : refused);
  }
  EXPECT_GT(refused, 0U);
  Received received;
  relay->Stop();
  relay->Run(received.Sink());
  EXPECT_EQ(received.messages.size(), sent);
  EXPECT_EQ(received.suppressed, refused);
}

TEST(LogRelay, LosesNothingAmongThreads) {
  LogRelay::Limits limits;
  limits.burst = 2000;
  limits.per_second = 0;
  limits.report_after = milliseconds(1);
  const auto relay = MakeRelay(limits);
  Received received;
  std::thread runner([&] { relay->Run(received.Sink()); });
  InThreads(8, [&](int thread) {
    for (int i = 0; i < 1000; ++i) {
      (void)relay->Send(LogLevel::kError,
                        std::to_string(thread) + std::string(100, '.'));
    }
  });
  relay->Stop();
  runner.join();
  EXPECT_EQ(received.messages.size() + received.suppressed, 8000U);
  for (const auto& [level, message] : received.messages) {
    EXPECT_EQ(message.substr(1), std::string(100, '.'));
  }
}

TEST(LogRelay, Item41_14_CountsWhatItsTargetDrops) {
  const auto relay = MakeRelay();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(relay->Send(LogLevel::kError, "x"));
  relay->Stop();
  int calls = 0;
  std::string last;
  relay->Run([&](LogLevel, const std::string& message) {
    last = message;
    return ++calls > 3;
  });
  EXPECT_EQ(calls, 6);
  EXPECT_TRUE(last.ends_with(": 3")) << last;
}

/// Standard error is a full pipe that nobody reads, for as long as this lives.
class FullStderr {
 public:
  FullStderr() : before_(::dup(STDERR_FILENO)) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    read_end_ = Fd(ends[0]);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
    pollfd ready{STDERR_FILENO, POLLOUT, 0};
    const std::string page(4096, 'x');
    while (::poll(&ready, 1, 0) > 0) {
      EXPECT_EQ(::write(STDERR_FILENO, page.data(), page.size()), 4096);
    }
  }
  ~FullStderr() { ::dup2(before_.get(), STDERR_FILENO); }
  FullStderr(const FullStderr&) = delete;
  FullStderr& operator=(const FullStderr&) = delete;

  /// Takes what was written.
  std::string Read() const {
    std::string taken(1 << 20, 0);
    const ssize_t got = ::read(read_end_.get(), taken.data(), taken.size());
    taken.resize(got < 0 ? 0 : static_cast<size_t>(got));
    return taken;
  }

 private:
  const Fd before_;
  Fd read_end_{-1};
};

TEST(DroppingStderrSink, Item41_14_DropsWhatNobodyTakes) {
  const FullStderr full;
  const LogSink sink = DroppingStderrSink();
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(sink(LogLevel::kError, "lost"));
  full.Read();
  EXPECT_TRUE(sink(LogLevel::kError, "taken"));
  EXPECT_EQ(full.Read(), "ctxfs: taken\n");
}

TEST(LogThread, Item41_14_EndsWithoutASinkThatIsBlocked) {
  std::promise<void> unblock;
  const std::shared_future<void> unblocked = unblock.get_future().share();
  const LogSink before = SetLogSink([unblocked](LogLevel, const std::string&) {
    unblocked.wait();
    return true;
  });
  {
    const LogThread log{std::shared_ptr<LogRelay>(MakeRelay())};
    EXPECT_TRUE(Log(LogLevel::kError, "blocks"));
  }
  EXPECT_FALSE(Log(LogLevel::kError, "dropped"));
  unblock.set_value();
  (void)SetLogSink(before);
}

TEST(LogThread, PassesEverythingOnBeforeItEnds) {
  Received received;
  const LogSink before = SetLogSink(received.Sink());
  {
    const LogThread log{std::shared_ptr<LogRelay>(MakeRelay())};
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(Log(LogLevel::kError, "x"));
  }
  (void)SetLogSink(before);
  EXPECT_EQ(received.messages.size(), 100U);
}

}  // namespace
}  // namespace ctxfs

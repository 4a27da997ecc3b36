// SPDX-License-Identifier: Apache-2.0
#include "fs/mount/reader_watch.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace ctxfs {
namespace {

/// A process that waits for a signal.
class Sleeper {
 public:
  Sleeper() : process_(::fork()) {
    if (process_ != 0) return;
    for (;;) ::pause();
  }
  ~Sleeper() { End(); }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  uint64_t thread() const { return static_cast<uint64_t>(process_); }
  void End() const {
    ::kill(process_, SIGKILL);
    (void)::waitpid(process_, nullptr, 0);
  }

 private:
  const pid_t process_;
};

/// Lets `watch` answer until `ended` has an element.
void AnswerUntilEnded(ReaderWatch& watch, const std::vector<uint64_t>& ended) {
  while (ended.empty()) {
    pollfd ready{watch.fd(), POLLIN, 0};
    constexpr int kTooLongMs = 60'000;
    ASSERT_EQ(::poll(&ready, 1, kTooLongMs), 1);
    watch.Answer();
  }
}

TEST(ReaderWatch, Item44_1_TheEndOfAProcessIsNoticedOnce) {
  std::vector<uint64_t> ended;
  auto watch = ReaderWatch::Make([&](uint64_t one) { ended.push_back(one); });
  ASSERT_TRUE(watch) << watch.error().Text();
  const Sleeper lives;
  const Sleeper reader;
  (*watch)->Watch(lives.thread());
  (*watch)->Watch(reader.thread());
  (*watch)->Watch(reader.thread());
  (*watch)->Answer();
  EXPECT_TRUE(ended.empty());
  reader.End();
  AnswerUntilEnded(**watch, ended);
  EXPECT_EQ(ended, std::vector<uint64_t>{reader.thread()});
}

TEST(ReaderWatch, Item44_1_AProcessThatHasEndedIsNoticedAtOnce) {
  std::vector<uint64_t> ended;
  auto watch = ReaderWatch::Make([&](uint64_t one) { ended.push_back(one); });
  ASSERT_TRUE(watch) << watch.error().Text();
  const Sleeper reader;
  reader.End();
  (*watch)->Watch(reader.thread());
  AnswerUntilEnded(**watch, ended);
  EXPECT_EQ(ended, std::vector<uint64_t>{reader.thread()});
}

TEST(ReaderWatch, Item44_1_UnknownAndRepeatedThreadsAddNothing) {
  std::vector<uint64_t> ended;
  auto watch = ReaderWatch::Make([&](uint64_t one) { ended.push_back(one); });
  ASSERT_TRUE(watch) << watch.error().Text();
  const uint64_t own = static_cast<uint64_t>(::getpid());
  (*watch)->Watch(0);
  for (int i = 0; i < 3; ++i) (*watch)->Watch(own);
  (*watch)->Answer();
  EXPECT_TRUE(ended.empty());
}

}  // namespace
}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#include "fs/mount/signal_watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/testing/answerer.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

uint64_t Bit(int number) { return uint64_t{1} << (number - 1); }

TEST(SignalWatch, TellsWhatIsPending) {
  // Before there is another thread, which would take the signals.
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  for (const int number : {SIGUSR1, SIGTERM}) sigaddset(&blocked, number);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto watch = SignalWatch::Make();
  ASSERT_TRUE(Ok(watch));
  const Answerer answerer(**watch);
  const auto self = static_cast<uint64_t>(::syscall(SYS_gettid));
  EXPECT_EQ((*watch)->Pending(self), 0U);
  ::pthread_kill(::pthread_self(), SIGUSR1);
  EXPECT_EQ((*watch)->Pending(self), Bit(SIGUSR1));
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ((*watch)->Pending(self), Bit(SIGUSR1) | Bit(SIGTERM));
  int taken = 0;
  ::sigwait(&blocked, &taken);
  ::sigwait(&blocked, &taken);
  EXPECT_EQ((*watch)->Pending(self), 0U);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(SignalWatch, KnowsNothingOfThreadsThatItCannotSee) {
  const auto watch = SignalWatch::Make();
  ASSERT_TRUE(Ok(watch));
  const Answerer answerer(**watch);
  EXPECT_EQ((*watch)->Pending(0), std::nullopt);
  EXPECT_EQ((*watch)->Pending(UINT64_MAX), std::nullopt);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ((*watch)->Pending(static_cast<uint64_t>(child)), std::nullopt);
}

TEST(SignalWatch, DoesNotWaitForEverForAnAnswer) {
  const auto watch = SignalWatch::Make();
  ASSERT_TRUE(Ok(watch));
  EXPECT_EQ((*watch)->Pending(1), std::nullopt);
  // And the next answer goes to the next question.
  const Answerer answerer(**watch);
  EXPECT_NE((*watch)->Pending(static_cast<uint64_t>(::getpid())), std::nullopt);
}

}  // namespace
}  // namespace ctxfs

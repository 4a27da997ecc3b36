// SPDX-License-Identifier: Apache-2.0
//
// A wait that misses what it waits for, or its interrupt, never ends here.
#include "core/base/interruptible_wait.h"

#include <gtest/gtest.h>

#include <future>

#include "tests/unit/testing/interrupts.h"

namespace ctxfs {
namespace {

TEST(InterruptibleWait, Item42_2_AnInterruptBeforeTheWaitIsNotMissed) {
  Mutex mutex;
  CondVar changed;
  SettableInterrupt interrupt;
  const MutexLock lock(mutex);
  InterruptibleWait wait(changed, interrupt);
  ASSERT_FALSE(wait.IsInterrupted());
  interrupt.Set();
  wait.Wait(mutex);
  EXPECT_TRUE(wait.IsInterrupted());
}

TEST(InterruptibleWait, Item42_2_ANotificationBeforeTheWaitIsNotMissed) {
  Mutex mutex;
  CondVar changed;
  const MutexLock lock(mutex);
  InterruptibleWait wait(changed, NeverInterrupted());
  ASSERT_FALSE(wait.IsInterrupted());
  changed.NotifyAll();
  wait.Wait(mutex);
}

TEST(InterruptibleWait, Item42_2_AnInterruptEndsAWaitOfAnotherThread) {
  Mutex mutex;
  CondVar changed;
  SettableInterrupt interrupt;
  std::promise<void> waits;
  std::future<bool> waited = std::async(std::launch::async, [&] {
    const MutexLock lock(mutex);
    InterruptibleWait wait(changed, interrupt);
    waits.set_value();
    while (!wait.IsInterrupted()) wait.Wait(mutex);
    return true;
  });
  waits.get_future().wait();
  interrupt.Set();
  EXPECT_TRUE(waited.get());
}

TEST(InterruptibleWait, Item42_2_OneThatHasEndedIsNotTold) {
  SettableInterrupt interrupt;
  {
    CondVar changed;
    const InterruptibleWait wait(changed, interrupt);
  }
  interrupt.Set();
  EXPECT_TRUE(interrupt.interrupted());
}

}  // namespace
}  // namespace ctxfs

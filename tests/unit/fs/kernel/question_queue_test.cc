// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <poll.h>

#include <future>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "fs/kernel/questions.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

TEST(QuestionQueue, Item41_10_AnExceptionOfAnyTypeIsNoReply) {
  Result<Fd> wake = QuestionQueue<int, int>::MakeWake();
  ASSERT_TRUE(Ok(wake));
  QuestionQueue<int, int> queue(*std::move(wake));
  const auto answer = [](int question) -> int {
    if (question == 1) throw std::bad_alloc();
    if (question == 2) throw std::runtime_error("of a library");
    if (question == 3) throw question;
    return 10 * question;
  };
  for (const int question : {1, 2, 3, 4}) {
    auto reply =
        std::async(std::launch::async, [&] { return queue.Ask(question); });
    pollfd asked{queue.fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&asked, 1, -1), 1);
    queue.AnswerAll(answer, [](int) {});
    EXPECT_EQ(reply.get(), question == 4 ? std::optional(40) : std::nullopt);
  }
}

}  // namespace
}  // namespace ctxfs

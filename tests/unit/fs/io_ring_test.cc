// SPDX-License-Identifier: Apache-2.0
#include "fs/ring/io_ring.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <optional>

#include "core/io/fd.h"

namespace ctxfs {
namespace {

class IoRings : public testing::Test {
 protected:
  void SetUp() override {
    Result<IoRing> made = IoRing::Make(4, null_.get(), wake_.get());
    if (!made) GTEST_SKIP() << made.error().Text();
    ring_.emplace(std::move(*made));
    ASSERT_TRUE(ring_->Enable());
  }

  /// What the kernel says to a request: io_uring_cqe::res.
  int Try(const std::function<void(io_uring_sqe&)>& fill) {
    io_uring_sqe* const request = ring_->Add();
    if (request == nullptr) return -ENOBUFS;
    fill(*request);
    request->user_data = 7;
    const int failed = ring_->Enter(1);
    io_uring_cqe done{};
    if (failed != 0 || !ring_->Take(done)) return -EIO;
    EXPECT_EQ(done.user_data, 7U);
    return done.res;
  }

  int TryRead(int file, uint8_t flags, void* to) {
    return Try([=](io_uring_sqe& request) {
      request.opcode = IORING_OP_READ;
      request.flags = flags;
      request.fd = file;
      request.addr = reinterpret_cast<uint64_t>(to);
      request.len = sizeof(uint64_t);
    });
  }

  Fd null_{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  Fd wake_{::eventfd(3, EFD_CLOEXEC)};
  std::optional<IoRing> ring_;
};

TEST_F(IoRings, ReadsItsEventfd) {
  uint64_t value = 0;
  EXPECT_EQ(TryRead(IoRing::kWake, IOSQE_FIXED_FILE, &value), 8);
  EXPECT_EQ(value, 3U);
}

TEST_F(IoRings, ReadsNoOtherFile) {
  uint64_t value = 0;
  EXPECT_EQ(TryRead(wake_.get(), 0, &value), -EACCES);
  EXPECT_EQ(TryRead(2, IOSQE_FIXED_FILE, &value), -EBADF);
}

TEST_F(IoRings, DoesNothingElse) {
  for (int call = 0; call <= IORING_OP_SENDMSG_ZC; ++call) {
    if (call == IORING_OP_READ || call == IORING_OP_URING_CMD) continue;
    EXPECT_EQ(Try([call](io_uring_sqe& request) {
                request.opcode = static_cast<uint8_t>(call);
              }),
              -EACCES)
        << call;
  }
}

TEST_F(IoRings, LearnsNoOtherFileAndIsNotReleased) {
  const int more = null_.get();
  for (unsigned call = 0; call < IORING_REGISTER_LAST; ++call) {
    errno = 0;
    EXPECT_EQ(
        ::syscall(SYS_io_uring_register, ring_->descriptor(), call, &more, 1),
        -1)
        << call;
  }
}

TEST_F(IoRings, HoldsAsManyRequestsAsItWasMadeFor) {
  for (int i = 0; i < 4; ++i) {
    io_uring_sqe* const request = ring_->Add();
    ASSERT_NE(request, nullptr);
    request->opcode = IORING_OP_NOP;
  }
  EXPECT_EQ(ring_->Add(), nullptr);
  EXPECT_EQ(ring_->Enter(4), 0);
  io_uring_cqe done{};
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ring_->Take(done));
  EXPECT_FALSE(ring_->Take(done));
  EXPECT_NE(ring_->Add(), nullptr);
}

TEST(IoRing, IsNotMadeOfNoFile) {
  EXPECT_FALSE(IoRing::Make(4, -2, -2));
  EXPECT_FALSE(IoRing::Make(0, STDIN_FILENO, STDOUT_FILENO));
}

}  // namespace
}  // namespace ctxfs

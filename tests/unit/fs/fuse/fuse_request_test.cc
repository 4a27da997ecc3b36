// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/fuse_request.h"

#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <gtest/gtest.h>
#include <linux/fuse.h>
#include <sys/uio.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>

#include "fs/fuse/ops.h"
#include "fs/mount/options.h"
#include "fs/mount/server.h"
#include "tests/unit/testing/heap.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs {
namespace {

/// The kernel's side of a session: sends requests, and takes the answers.
class FakeKernel {
 public:
  FakeKernel(const fuse_lowlevel_ops& operations, Server& server) {
    char name[] = "ctxfs";
    char* words[] = {name, nullptr};
    fuse_args args = FUSE_ARGS_INIT(1, words);
    session_ =
        fuse_session_new(&args, &operations, sizeof(operations), &server);
    fuse_opt_free_args(&args);
    // libfuse passes the data of the session, which is the server's.
    current_ = this;
    fuse_custom_io io{};
    io.writev = &TakeAnswer;
    io.read = &ReadNothing;
    EXPECT_EQ(fuse_session_custom_io(session_, &io,
                                     ::open("/dev/null", O_RDWR | O_CLOEXEC)),
              0);
    fuse_init_in init{};
    init.major = FUSE_KERNEL_VERSION;
    init.minor = 38;
    EXPECT_EQ(Ask(FUSE_INIT, 0, BytesOf(init)), 0);
  }
  ~FakeKernel() { fuse_session_destroy(session_); }
  FakeKernel(const FakeKernel&) = delete;
  FakeKernel& operator=(const FakeKernel&) = delete;

  template <typename T>
  static std::string BytesOf(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof(value)};
  }

  /// Sends a request and returns the errno of its answer, whose bytes are then
  /// in `answer`. More answers than one are failures.
  int Ask(uint32_t operation, uint64_t inode, const std::string& arguments) {
    const std::string request = Request(operation, inode, arguments);
    Send(request);
    std::unique_lock lock(mutex_);
    answered_.wait(lock, [this] { return answers_ > 0; });
    EXPECT_EQ(answers_, 1) << "operation " << operation;
    return error_;
  }

  /// The same with a heap that fails after `allocations`. Sets `failed` unless
  /// the request took fewer.
  int AskWithout(int64_t allocations, uint32_t operation, uint64_t inode,
                 const std::string& arguments, bool* failed) {
    const std::string request = Request(operation, inode, arguments);
    {
      const FailingNew heap(allocations);
      Send(request);
      *failed = heap.fired();
    }
    std::unique_lock lock(mutex_);
    answered_.wait(lock, [this] { return answers_ > 0; });
    EXPECT_EQ(answers_, 1) << "operation " << operation;
    return error_;
  }

  /// Closes what the last answer opened.
  void Release(uint32_t operation, uint64_t inode) {
    fuse_open_out opened{};
    std::memcpy(&opened, answer_.data(), sizeof(opened));
    fuse_release_in release{};
    release.fh = opened.fh;
    EXPECT_EQ(Ask(operation, inode, BytesOf(release)), 0);
  }

  const std::string& answer() const { return answer_; }

 private:
  std::string Request(uint32_t operation, uint64_t inode,
                      const std::string& arguments) {
    const std::lock_guard lock(mutex_);
    answers_ = 0;
    fuse_in_header header{};
    header.len = static_cast<uint32_t>(sizeof(header) + arguments.size());
    header.opcode = operation;
    header.unique = ++unique_;
    header.nodeid = inode;
    return BytesOf(header) + arguments;
  }

  void Send(const std::string& request) {
    fuse_buf buffer{};
    buffer.size = request.size();
    buffer.mem = const_cast<char*>(request.data());
    fuse_session_process_buf(session_, &buffer);
  }

  static ssize_t TakeAnswer(int /*fd*/, iovec* slices, int count,
                            void* /*server*/) {
    return current_->Take(slices, count);
  }
  static ssize_t ReadNothing(int, void*, size_t, void*) { return 0; }

  // Of a thread whose heap may fail.
  ssize_t Take(const iovec* slices, int count) {
    fuse_out_header header{};
    std::memcpy(&header, slices[0].iov_base, sizeof(header));
    const std::lock_guard lock(mutex_);
    error_ = -header.error;
    size_t size = 0;
    for (int i = 1; i < count; ++i) {
      const size_t room = std::min(slices[i].iov_len, answer_.size() - size);
      std::memcpy(answer_.data() + size, slices[i].iov_base, room);
      size += room;
    }
    ++answers_;
    answered_.notify_all();
    return static_cast<ssize_t>(header.len);
  }

  static inline FakeKernel* current_ = nullptr;
  fuse_session* session_;
  uint64_t unique_ = 0;
  std::mutex mutex_;
  std::condition_variable answered_;
  int answers_ = 0;
  int error_ = 0;
  std::string answer_ = std::string(1 << 16, 0);
};

class FuseRequestTest : public testing::Test {
 protected:
  FuseRequestTest() {
    dir_.Write("a file with a name that is not short", std::string(9000, 'x'));
    options_.sources = {dir_.Path("")};
    Sources sources;
    sources.directory = dir_.Path("");
    server_ = std::make_unique<Server>(std::move(sources), options_,
                                       OpenOptions{}, "", nullptr);
  }

  const TempDir dir_;
  MountOptions options_;
  std::unique_ptr<Server> server_;
};

TEST_F(FuseRequestTest, Item41_17_EachRequestIsAnsweredOnceWithoutMemory) {
  FakeKernel kernel(ops::Operations(), *server_);
  const std::string name("a file with a name that is not short", 37);
  ASSERT_EQ(kernel.Ask(FUSE_LOOKUP, 1, name), 0);
  fuse_entry_out entry{};
  std::memcpy(&entry, kernel.answer().data(), sizeof(entry));
  const fuse_open_in open{};
  fuse_getattr_in getattr{};
  fuse_getxattr_in getxattr{};
  getxattr.size = 100;
  const struct {
    uint32_t operation;
    uint64_t inode;
    std::string arguments;
  } requests[] = {
      {FUSE_LOOKUP, 1, name},
      {FUSE_LOOKUP, 1, std::string("no file has this name, nor anything", 36)},
      {FUSE_GETATTR, entry.nodeid, FakeKernel::BytesOf(getattr)},
      {FUSE_OPEN, entry.nodeid, FakeKernel::BytesOf(open)},
      {FUSE_OPENDIR, 1, FakeKernel::BytesOf(open)},
      {FUSE_STATFS, 1, ""},
      {FUSE_GETXATTR, entry.nodeid,
       FakeKernel::BytesOf(getxattr) +
           std::string("user.ctxfs.a_long_name_of_an_attribute", 39)},
  };
  for (const auto& [operation, inode, arguments] : requests) {
    bool failed = true;
    for (int64_t i = 0; failed; ++i) {
      const int error =
          kernel.AskWithout(i, operation, inode, arguments, &failed);
      if (error != 0) continue;
      if (operation == FUSE_OPEN) kernel.Release(FUSE_RELEASE, inode);
      if (operation == FUSE_OPENDIR) kernel.Release(FUSE_RELEASEDIR, inode);
    }
  }
}

/// Operations of which LOOKUP throws a T when it has an answer, before it sends
/// that or after.
template <bool before, typename T>
void Throw(fuse_req_t req, fuse_ino_t inode, const char* /*name*/) {
  Serve(
      req, inode, [](const ReadContext&) -> Result<int> { return 1; },
      [](Reply& to, int) {
        if (before) throw T();
        fuse_reply_err(to.Take(), ENOENT);
        throw T();
      });
}

/// LOOKUP throws a T while it makes an answer.
template <typename T>
void ThrowEarly(fuse_req_t req, fuse_ino_t inode, const char* /*name*/) {
  Serve(
      req, inode, [](const ReadContext&) -> Result<int> { throw T(); },
      [](Reply& to, int) { fuse_reply_err(to.Take(), ENOENT); });
}

TEST_F(FuseRequestTest, Item41_17_WhatThrowsWhileItAnswersIsAnsweredOnce) {
  fuse_lowlevel_ops operations{};
  operations.lookup = &Throw<true, std::bad_alloc>;
  EXPECT_EQ(FakeKernel(operations, *server_).Ask(FUSE_LOOKUP, 1, {"x", 2}),
            ENOMEM);
  operations.lookup = &Throw<false, std::bad_alloc>;
  EXPECT_EQ(FakeKernel(operations, *server_).Ask(FUSE_LOOKUP, 1, {"x", 2}),
            ENOENT);
}

TEST_F(FuseRequestTest, Item41_10_AnExceptionOfAnyTypeIsAnsweredOnce) {
  struct Unknown {};
  const auto ask = [this](auto* lookup) {
    fuse_lowlevel_ops operations{};
    operations.lookup = lookup;
    return FakeKernel(operations, *server_).Ask(FUSE_LOOKUP, 1, {"x", 2});
  };
  EXPECT_EQ(ask(&Throw<true, Unknown>), EIO);
  EXPECT_EQ(ask(&Throw<false, Unknown>), ENOENT);
  EXPECT_EQ(ask(&ThrowEarly<Unknown>), EIO);
  EXPECT_EQ(ask(&ThrowEarly<std::bad_alloc>), ENOMEM);
}

}  // namespace
}  // namespace ctxfs

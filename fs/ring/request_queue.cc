// SPDX-License-Identifier: Apache-2.0
#include "fs/ring/request_queue.h"

#include <linux/fuse.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "core/base/processors.h"
#include "core/io/io_error.h"
#include "core/vfs/log.h"

namespace ctxfs {

// As in linux/fuse.h of Linux 6.14, which may be newer than the header.
struct RequestQueue::Header {  // fuse_uring_req_header
  std::byte in_out[128];
  std::byte operation[128];
  uint64_t flags;
  uint64_t commit;
  uint32_t payload;
  uint32_t padding;
  uint64_t reserved;
};

namespace {

constexpr uint32_t kRegister = 1;        // FUSE_IO_URING_CMD_REGISTER
constexpr uint32_t kCommitAndFetch = 2;  // FUSE_IO_URING_CMD_COMMIT_AND_FETCH

struct Command {  // fuse_uring_cmd_req
  uint64_t flags;
  uint64_t commit;
  uint16_t queue;
  uint8_t padding[6];
};

constexpr size_t kHeaderRoom = 4096;  // the kernel wants it at a page
constexpr uint64_t kWoken = 0;        // user_data; of an entry: its index and 1

// The queue of the calling thread; null if it has none.
thread_local RequestQueue* own_queue = nullptr;

size_t SizeOf(std::span<const iovec> parts) {
  size_t size = 0;
  for (const iovec& part : parts) size += part.iov_len;
  return size;
}

bool IsTemporary(int error) { return error == EAGAIN || error == EINTR; }

/// Whether the kernel has ended the connection: the mount is gone.
bool IsEnd(int error) {
  return error == ENOTCONN || error == ENODEV || error == ECONNABORTED ||
         error == ECANCELED;
}

}  // namespace

Result<std::unique_ptr<RequestQueue>> RequestQueue::Make(unsigned number,
                                                         unsigned depth,
                                                         int device) {
  Fd wake(::eventfd(0, EFD_CLOEXEC));
  if (!wake.ok()) return IoError("cannot create an eventfd");
  IoRing ring = CTXFS_TRY(IoRing::Make(depth + 1, device, wake.get()));
  return std::unique_ptr<RequestQueue>(
      new RequestQueue(number, depth, std::move(ring), std::move(wake)));
}

Status RequestQueue::Reserve(size_t bytes) {
  const size_t each = kHeaderRoom + bytes;
  memory_ = CTXFS_TRY(Mapping::Private(each * entries_.size()));
  payload_size_ = bytes;
  size_t at = 0;
  for (Entry& entry : entries_) {
    entry.header = reinterpret_cast<Header*>(memory_.at(at));
    entry.payload = memory_.at(at + kHeaderRoom);
    at += each;
  }
  const MutexLock lock(mutex_);
  answered_.reserve(entries_.size());
  taken_.reserve(entries_.size());
  return {};
}

void RequestQueue::Start(Calls calls) {
  calls_ = std::move(calls);
  thread_ = std::thread([this] { Run(); });
}

void RequestQueue::Stop() {
  stop_ = true;
  const uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof(one));
  if (thread_.joinable()) thread_.join();
  ring_.reset();
}

void RequestQueue::Run() {
  (void)::prctl(PR_SET_NAME, "ctxfs-ring");
  own_queue = this;
  // Its caches have the request, and it is idle while the caller waits.
  StayOnProcessor(number_);
  if (const Status enabled = ring_->Enable(); !enabled) {
    Log(LogLevel::kError, enabled.error().Text());
    calls_.refused();
    return;
  }
  calls_.confine(ring_->descriptor());
  WatchWake();
  for (size_t i = 0; i < entries_.size(); ++i) Ask(i, kRegister);
  while (ServeCompletions()) {
    CommitOthers();
    const int failed = ring_->Enter(1);
    if (failed == 0 || failed == EINTR || failed == EAGAIN || failed == EBUSY) {
      continue;
    }
    Log(LogLevel::kError, SystemError("io_uring fails", failed).Text());
    calls_.refused();
    return;
  }
  CommitOthers();
  (void)ring_->Enter(0);
}

void RequestQueue::Ask(size_t entry, uint32_t command) {
  io_uring_sqe* const request = ring_->Add();
  if (request == nullptr) return;  // never: each entry is asked for once
  Entry& one = entries_[entry];
  request->opcode = IORING_OP_URING_CMD;
  request->fd = IoRing::kDevice;
  request->cmd_op = command;
  request->user_data = entry + 1;
  if (command == kRegister) {
    one.places[0] = {one.header, kHeaderRoom};
    one.places[1] = {one.payload, payload_size_};
    request->addr = reinterpret_cast<uint64_t>(one.places);
    request->len = 2;
  }
  const Command what{.flags = 0,
                     .commit = command == kRegister ? 0 : one.commit,
                     .queue = static_cast<uint16_t>(number_),
                     .padding = {}};
  std::memcpy(IoRing::CommandOf(request), &what, sizeof(what));
}

void RequestQueue::WatchWake() {
  io_uring_sqe* const request = ring_->Add();
  if (request == nullptr) return;  // never
  request->opcode = IORING_OP_READ;
  request->fd = IoRing::kWake;
  request->addr = reinterpret_cast<uint64_t>(&woken_);
  request->len = sizeof(woken_);
  request->user_data = kWoken;
}

bool RequestQueue::ServeCompletions() {
  io_uring_cqe done{};
  while (ring_->Take(done)) {
    if (done.user_data != kWoken) {
      Complete(done.user_data - 1, done.res);
    } else if (!stop_) {
      WatchWake();
    } else {
      return false;
    }
  }
  return true;
}

void RequestQueue::Complete(size_t entry, int result) {
  Entry& one = entries_[entry];
  if (result == 0) {
    one.commit = one.header->commit;
    Receive(entry);
  } else if (IsTemporary(-result)) {
    Ask(entry, one.commit == 0 ? kRegister : kCommitAndFetch);
  } else if (!IsEnd(-result) && one.commit == 0) {
    Log(LogLevel::kError,
        SystemError("the kernel refuses io_uring", -result).Text());
    calls_.refused();
  }
}

void RequestQueue::Receive(size_t entry) {
  Entry& one = entries_[entry];
  const Header& header = *one.header;
  fuse_in_header in{};
  std::memcpy(&in, header.in_out, sizeof(in));
  // What follows the header of the protocol's messages lies in two places.
  const size_t payload = std::min<size_t>(header.payload, payload_size_);
  const size_t parts = sizeof(in) + payload;
  const size_t operation =
      in.len < parts ? 0 : std::min(in.len - parts, sizeof(header.operation));
  request_.resize(parts + operation);
  std::byte* const to = request_.data();
  std::memcpy(to, header.in_out, sizeof(in));
  std::memcpy(to + sizeof(in), header.operation, operation);
  std::memcpy(to + sizeof(in) + operation, one.payload, payload);
  one.unique = in.unique;
  calls_.process(request_);
}

void RequestQueue::Write(Entry& entry, std::span<const iovec> parts) const {
  fuse_out_header out{};
  std::memcpy(&out, parts[0].iov_base, sizeof(out));
  std::span<const iovec> rest = parts.subspan(1);
  if (SizeOf(rest) > payload_size_) {  // never: the kernel asked for less
    out.error = -EIO;
    rest = {};
  }
  size_t at = 0;
  for (const iovec& part : rest) {
    std::memcpy(entry.payload + at, part.iov_base, part.iov_len);
    at += part.iov_len;
  }
  out.len = static_cast<uint32_t>(sizeof(out) + at);
  std::memcpy(entry.header->in_out, &out, sizeof(out));
  entry.header->payload = static_cast<uint32_t>(at);
}

bool RequestQueue::Answer(uint64_t unique, std::span<const iovec> parts) {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(),
                   [unique](const Entry& one) { return one.unique == unique; });
  if (found == entries_.end()) return false;
  Write(*found, parts);
  found->unique = 0;
  const auto entry = static_cast<size_t>(found - entries_.begin());
  if (own_queue == this) {
    Ask(entry, kCommitAndFetch);
    return true;
  }
  {
    const MutexLock lock(mutex_);
    answered_.push_back(entry);
  }
  const uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof(one));
  return true;
}

void RequestQueue::CommitOthers() {
  {
    const MutexLock lock(mutex_);
    taken_.swap(answered_);
  }
  for (const size_t entry : taken_) Ask(entry, kCommitAndFetch);
  taken_.clear();
}

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#include "fs/ring/io_ring.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "core/io/io_error.h"

namespace ctxfs {
namespace {

constexpr size_t kSubmission = 128;  // bytes, with IORING_SETUP_SQE128

uint32_t Acquired(uint32_t* place) {
  return std::atomic_ref(*place).load(std::memory_order_acquire);
}

void Publish(uint32_t* place, uint32_t value) {
  std::atomic_ref(*place).store(value, std::memory_order_release);
}

int Register(int ring, unsigned operation, const void* what, unsigned count) {
  return static_cast<int>(
      ::syscall(SYS_io_uring_register, ring, operation, what, count));
}

uint32_t* WordAt(const Mapping& queues, uint32_t offset) {
  return reinterpret_cast<uint32_t*>(queues.at(offset));
}

io_uring_restriction Allow(uint16_t kind, uint8_t what) {
  io_uring_restriction rule{};
  rule.opcode = kind;
  rule.sqe_op = what;
  return rule;
}

}  // namespace

Result<Mapping> Mapping::Of(int descriptor, uint64_t offset, size_t size) {
  void* const start =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
             descriptor, static_cast<off_t>(offset));
  if (start == MAP_FAILED) return IoError("cannot map an io_uring");
  return Mapping(static_cast<std::byte*>(start), size);
}

Result<Mapping> Mapping::Private(size_t size) {
  void* const start =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return IoError("cannot map memory");
  return Mapping(static_cast<std::byte*>(start), size);
}

Mapping::~Mapping() {
  if (start_ != nullptr) ::munmap(start_, size_);
}

IoRing::IoRing(Fd ring, Mapping queues, Mapping submissions,
               const io_uring_params& made)
    : ring_(std::move(ring)),
      queues_(std::move(queues)),
      submissions_(std::move(submissions)),
      head_(WordAt(queues_, made.sq_off.head)),
      tail_(WordAt(queues_, made.sq_off.tail)),
      slots_(WordAt(queues_, made.sq_off.array)),
      mask_(*WordAt(queues_, made.sq_off.ring_mask)),
      done_head_(WordAt(queues_, made.cq_off.head)),
      done_tail_(WordAt(queues_, made.cq_off.tail)),
      done_(reinterpret_cast<io_uring_cqe*>(queues_.at(made.cq_off.cqes))),
      done_mask_(*WordAt(queues_, made.cq_off.ring_mask)) {}

Result<IoRing> IoRing::Make(unsigned entries, int device, int wake) {
  io_uring_params made{};
  made.flags = IORING_SETUP_SQE128 | IORING_SETUP_R_DISABLED |
               IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER |
               IORING_SETUP_COOP_TASKRUN;
  Fd ring(static_cast<int>(::syscall(SYS_io_uring_setup, entries, &made)));
  if (!ring.ok()) return IoError("cannot make an io_uring");
  const size_t size = std::max<size_t>(
      made.sq_off.array + made.sq_entries * sizeof(uint32_t),
      made.cq_off.cqes + made.cq_entries * sizeof(io_uring_cqe));
  Mapping queues = CTXFS_TRY(Mapping::Of(ring.get(), IORING_OFF_SQ_RING, size));
  Mapping submissions = CTXFS_TRY(
      Mapping::Of(ring.get(), IORING_OFF_SQES, made.sq_entries * kSubmission));
  const int files[] = {device, wake};
  if (Register(ring.get(), IORING_REGISTER_FILES, files, 2) != 0) {
    return IoError("cannot give an io_uring its files");
  }
  IoRing one(std::move(ring), std::move(queues), std::move(submissions), made);
  CTXFS_TRY(one.Restrict());
  return one;
}

Status IoRing::Restrict() const {
  const io_uring_restriction rules[] = {
      Allow(IORING_RESTRICTION_SQE_OP, IORING_OP_URING_CMD),
      Allow(IORING_RESTRICTION_SQE_OP, IORING_OP_READ),
      Allow(IORING_RESTRICTION_SQE_FLAGS_REQUIRED, IOSQE_FIXED_FILE)};
  if (Register(ring_.get(), IORING_REGISTER_RESTRICTIONS, rules,
               std::size(rules)) != 0) {
    return IoError("cannot restrict an io_uring");
  }
  return {};
}

Status IoRing::Enable() const {
  if (Register(ring_.get(), IORING_REGISTER_ENABLE_RINGS, nullptr, 0) != 0) {
    return IoError("cannot enable an io_uring");
  }
  return {};
}

io_uring_sqe* IoRing::Add() {
  const uint32_t tail = *tail_;
  if (tail - Acquired(head_) > mask_) return nullptr;
  const uint32_t slot = tail & mask_;
  std::byte* const place = submissions_.at(slot * kSubmission);
  std::memset(place, 0, kSubmission);
  auto* const request = reinterpret_cast<io_uring_sqe*>(place);
  request->flags = IOSQE_FIXED_FILE;
  slots_[slot] = slot;
  // The kernel looks at it in Enter, which this thread calls.
  Publish(tail_, tail + 1);
  ++added_;
  return request;
}

int IoRing::Enter(unsigned least) {
  const long done = ::syscall(SYS_io_uring_enter, ring_.get(), added_, least,
                              IORING_ENTER_GETEVENTS, nullptr, 0);
  if (done < 0) return errno;
  added_ -= static_cast<uint32_t>(done);
  return 0;
}

bool IoRing::Take(io_uring_cqe& done) {
  const uint32_t head = *done_head_;
  if (head == Acquired(done_tail_)) return false;
  std::memcpy(&done, &done_[head & done_mask_], sizeof(done));
  Publish(done_head_, head + 1);
  return true;
}

}  // namespace ctxfs

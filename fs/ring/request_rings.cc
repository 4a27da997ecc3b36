// SPDX-License-Identifier: Apache-2.0
#include "fs/ring/request_rings.h"

#include <linux/fuse.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "fs/ring/request_queue.h"

namespace ctxfs {
namespace {

// Each takes as much memory as the largest answer, about a megabyte.
constexpr unsigned kMostEntries = 32;
constexpr unsigned kMostDepth = 8;

}  // namespace

RequestRings::RequestRings(std::vector<std::unique_ptr<RequestQueue>> queues)
    : queues_(std::move(queues)) {}

RequestRings::~RequestRings() { Stop(); }

Result<std::unique_ptr<RequestRings>> RequestRings::Make(int device) {
  // The kernel waits for the queues of all processors, running or not.
  const auto processors =
      static_cast<unsigned>(std::max(1, ::get_nprocs_conf()));
  const unsigned depth = std::clamp(kMostEntries / processors, 1U, kMostDepth);
  std::vector<std::unique_ptr<RequestQueue>> queues;
  for (unsigned number = 0; number < processors; ++number) {
    queues.push_back(CTXFS_TRY(RequestQueue::Make(number, depth, device)));
  }
  return std::unique_ptr<RequestRings>(new RequestRings(std::move(queues)));
}

Status RequestRings::Reserve(size_t bytes) {
  for (const auto& queue : queues_) CTXFS_TRY(queue->Reserve(bytes));
  return {};
}

void RequestRings::Start(Process process, std::function<void(int ring)> confine,
                         std::function<void()> refused) {
  for (const auto& queue : queues_) queue->Start({process, confine, refused});
}

void RequestRings::Stop() {
  for (const auto& queue : queues_) queue->Stop();
}

bool RequestRings::Answer(std::span<const iovec> parts) {
  fuse_out_header header{};
  if (parts.empty() || parts[0].iov_len != sizeof(header)) return false;
  std::memcpy(&header, parts[0].iov_base, sizeof(header));
  // 0 is that of a notification.
  return header.unique != 0 &&
         std::ranges::any_of(queues_, [&](const auto& queue) {
           return queue->Answer(header.unique, parts);
         });
}

}  // namespace ctxfs

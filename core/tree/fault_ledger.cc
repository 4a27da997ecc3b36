// SPDX-License-Identifier: Apache-2.0
#include "core/tree/fault_ledger.h"

namespace ctxfs {

void FaultLedger::Record(const std::string& path, const Error& error) {
  // A later failure at this byte has the same cause, even if its text differs.
  const std::string key = path + '\0' + std::to_string(error.offset);
  const size_t size = key.size() + error.what.size();
  const MutexLock lock(mutex_);
  if (const auto found = known_.find(key); found != known_.end()) {
    latest_[path] = found->second;
    return;
  }
  if (faults_.size() >= kMaxFaults || bytes_ + size > kMaxBytes) {
    ++left_out_;
    return;
  }
  bytes_ += size;
  known_.emplace(key, faults_.size());
  latest_[path] = faults_.size();
  faults_.push_back({path, error});
  any_.store(true, std::memory_order_release);
}

std::optional<Error> FaultLedger::LatestOf(const std::string& path) const {
  const MutexLock lock(mutex_);
  const auto found = latest_.find(path);
  if (found == latest_.end()) return std::nullopt;
  return faults_[found->second].error;
}

std::vector<FaultLedger::Fault> FaultLedger::All() const {
  const MutexLock lock(mutex_);
  return faults_;
}

uint64_t FaultLedger::left_out() const {
  const MutexLock lock(mutex_);
  return left_out_;
}

}  // namespace ctxfs

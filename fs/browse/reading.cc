// SPDX-License-Identifier: Apache-2.0
#include "fs/browse/reading.h"

#include <utility>

namespace ctxfs {

void Reading::Start(const DetailRoom& room, size_t page) {
  Stop();
  details_.reset();
  page_ = page;
  const SourceTree::File* const selected = browser_.selection();
  const SourceTree::File file =
      selected == nullptr ? browser_.directory() : *selected;
  pending_ = std::async(std::launch::async, [this, file, room] {
    return DetailsOf(tree_, file, room, tree_.context());
  });
}

void Reading::StartMeasuring() {
  std::vector<Browser::Measured> files = browser_.Unmeasured(page_);
  if (files.empty()) return;
  const auto measure = [this, files = std::move(files)]() mutable {
    for (Browser::Measured& one : files) {
      if (interrupt_.interrupted()) return std::vector<Browser::Measured>();
      if (const auto size = tree_.CheapSize(one.file)) one.size = *size;
    }
    return std::move(files);
  };
  measuring_ = std::async(std::launch::async, measure);
}

void Reading::Stop() {
  if (!pending_.valid() && !measuring_.valid()) return;
  interrupt_.Stop();
  if (pending_.valid()) details_ = pending_.get();
  if (measuring_.valid()) browser_.Take(measuring_.get());
  interrupt_.Reset();
}

bool Reading::pending() {
  if (pending_.valid()) {
    if (!IsReady(pending_)) return true;
    details_ = pending_.get();
    StartMeasuring();
  }
  if (!measuring_.valid()) return false;
  if (!IsReady(measuring_)) return true;
  browser_.Take(measuring_.get());
  return false;
}

}  // namespace ctxfs

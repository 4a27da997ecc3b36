// SPDX-License-Identifier: Apache-2.0
//
// Pages of listings, by the client of the fetcher.
#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/remote/client/fetch_client.h"

namespace ctxfs::remote {

FetchClient::PendingPtr FetchClient::PageAhead::Take(
    const std::string& directory, const std::string& token) {
  if (pending_ == nullptr || pending_->request.url != directory ||
      pending_->request.page != token) {
    return nullptr;
  }
  return std::exchange(pending_, nullptr);
}

FetchClient::PageAhead FetchClient::RequestPage(const std::string& directory,
                                                const std::string& token) {
  FetchRequest request;
  request.url = directory;
  request.page = token;
  const MutexLock lock(mutex_);
  return {this, SendIfRoom(std::move(request), kPageGranules)};
}

void FetchClient::DropPage(const PendingPtr& pending) {
  const MutexLock lock(mutex_);
  Abandon(pending);
}

Result<PageText> FetchClient::ListPage(const std::string& directory,
                                       const std::string& token,
                                       const Request& reader, PageAhead ahead) {
  CTXFS_TRY(CheckLength(directory));
  ServerWait own;
  const Request request = reader.WithWaitUnlessSet(own);
  // Checks before the request is sent, because a thread that must not wait
  // would not use the reply.
  CTXFS_TRY(request.CheckFor(Interrupt::kUnknownWork));
  CTXFS_TRY(HeapAllowance::Admit(kMaxPageBytes));
  const MutexLock lock(mutex_);
  Awaited awaited(*this, ahead.Take(directory, token));
  if (awaited.pending() == nullptr) {
    Unsent unsent(*this, kPageGranules);
    unsent.request().url = directory;
    unsent.request().page = token;
    CTXFS_TRY(TakeSlots(unsent.pending(), kPageGranules, request));
    awaited.Await(unsent.pending());
    Send(unsent);
  }
  const PendingPtr& pending = awaited.pending();
  CTXFS_TRY(Await(pending, request));
  PageText page{"", std::move(pending->reply.link)};
  uint64_t left = std::min<uint64_t>(pending->reply.page_bytes, kMaxPageBytes);
  page.body.reserve(static_cast<size_t>(left));
  request.wait().NoteArrival(left);
  for (const uint16_t slot : pending->request.slots) {
    const auto n = static_cast<size_t>(std::min(left, kGranuleBytes));
    page.body += AsText(shared_.At(slot).first(n));
    left -= n;
  }
  return page;
}

}  // namespace ctxfs::remote

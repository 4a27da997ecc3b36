// SPDX-License-Identifier: Apache-2.0
//
// Pages of listings, by the client of the fetcher.
#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/heap_allowance.h"
#include "core/base/server_wait.h"
#include "core/remote/fetch_client.h"

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
                                       const Interrupt& interrupt,
                                       PageAhead ahead) {
  const ServerWait wait;
  // Before the request: a thread that must not wait would waste it.
  CTXFS_TRY(interrupt.CheckFor(Interrupt::kUnknownWork));
  CTXFS_TRY(HeapAllowance::Admit(kMostPageBytes));
  const MutexLock lock(mutex_);
  PendingPtr pending = ahead.Take(directory, token);
  if (pending == nullptr) {
    pending = std::make_shared<Pending>();
    pending->request.url = directory;
    pending->request.page = token;
    CTXFS_TRY(TakeSlots(pending, kPageGranules, interrupt));
    Send(pending);
  }
  if (Status listed = Await(pending, interrupt); !listed) {
    Abandon(pending);
    return listed.error();
  }
  PageText page{"", std::move(pending->reply.link)};
  uint64_t left = std::min<uint64_t>(pending->reply.page_bytes, kMostPageBytes);
  page.body.reserve(static_cast<size_t>(left));
  ServerWait::OfThread().NoteArrival(left);
  for (const uint16_t slot : pending->request.slots) {
    const auto n = static_cast<size_t>(std::min(left, kGranuleBytes));
    page.body += AsText(shared_.At(slot).first(n));
    left -= n;
    Forget(slot);
  }
  return page;
}

}  // namespace ctxfs::remote

// SPDX-License-Identifier: Apache-2.0
#include "core/remote/client/fetch_errors.h"

#include <fmt/core.h>

#include <cerrno>

#include "core/remote/stores/scheme.h"
#include "core/remote/stores/url.h"

namespace ctxfs::remote {

Status CheckLength(const std::string& url) {
  if (url.size() <= kMaxUrlBytes) return {};
  return Refused("it is too long");
}

Error FetcherEnded() {
  return {Code::kIo, "the process that fetches URLs has ended"};
}

Error FetcherEndedAgain(unsigned times) {
  return {
      Code::kIo,
      fmt::format(
          "the process that fetches URLs ended {} times while it was at this",
          times)};
}

Error NoAnswer(std::chrono::milliseconds timeout) {
  return {Code::kIo,
          fmt::format("the server has not sent all that was asked for within "
                      "{:g} s (-o remote_timeout=, CTXFS_REMOTE_TIMEOUT)",
                      std::chrono::duration<double>(timeout).count()),
          kNoOffset, EAGAIN};
}

bool MayBePart(const Error& error, const FetchRequest& request) {
  return error.sys_errno == ENETDOWN && request.slots.size() > 1;
}

}  // namespace ctxfs::remote

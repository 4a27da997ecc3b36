// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/remote/fetcher/curl.h"
#include "core/remote/fetcher/settings.h"
#include "core/remote/stores/response.h"
#include "core/remote/stores/secrets.h"

namespace ctxfs::remote {

/// One HTTP request for a range of an object or for a page of a listing, and
/// its result. The caller runs it by adding handle() to a multi handle of
/// libcurl.
class Transfer {
 public:
  /// The body is written to the buffers of `out`, one for each granule, which
  /// together have `asked.length` bytes. A page of a listing may be shorter.
  /// All arguments must outlive the transfer.
  Transfer(const Location& location, const Settings& settings,
           const std::string& certificates, const Asked& asked,
           const std::vector<MutableBytes>& out,
           std::chrono::milliseconds timeout);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  CURL* handle() const { return easy_.get(); }

  /// Returns the promise of the head if the body matched it; for a page, the
  /// promise has the actual length. `result` is libcurl's result. An Error with
  /// EAGAIN is transient; others are permanent.
  Result<Promise> Finish(CURLcode result);

  uint64_t received() const { return received_; }
  /// Microseconds from the request to the first byte of the response.
  uint32_t first_us() const;
  std::optional<uint64_t> retry_after() const;
  const std::string& last_modified() const { return head_.last_modified; }
  const std::string& link() const { return head_.link; }

 private:
  static size_t OnHead(char* line, size_t size, size_t count, void* self);
  static size_t OnBody(char* bytes, size_t size, size_t count, void* self);
  bool TakeBody(Bytes bytes);
  /// Whether the received page contains a secret.
  bool EchoesSecrets() const;
  void SetTarget(std::chrono::milliseconds timeout,
                 const std::string& certificates);
  void SetRange();
  void SetCredentials();
  /// Adds the request's credentials to `secrets_`, so that no message shows the
  /// credentials.
  void NoteSecrets();
  /// Restricts redirects to https once one has led to https.
  void StaySecure();
  Error FromCurl(CURLcode result) const;

  const Location& location_;
  const Settings& settings_;
  const Asked& asked_;
  const std::vector<MutableBytes>& out_;
  CurlList headers_;
  CurlEasy easy_;
  ResponseHead head_;
  Secrets secrets_;
  std::optional<Result<Promise>> promise_;  // set at the body's first byte
  std::string explanation_;                 // the body of an error response
  uint64_t received_ = 0;
  uint64_t stored_ = 0;
};

}  // namespace ctxfs::remote

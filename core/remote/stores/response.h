// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/remote/stores/secrets.h"

namespace ctxfs::remote {

/// Identifies the bytes of an object at open. Two objects with the same
/// identity have the same bytes, provided that the server is truthful.
struct Identity {
  std::string etag;           // verbatim, with quotes; or empty
  std::string last_modified;  // set only if there is no ETag
  uint64_t size = 0;          // bytes

  bool operator==(const Identity&) const = default;
  /// Whether the ETag is valid in If-Match: it has the syntax of a strong one
  /// (RFC 9110, sections 8.8.3 and 8.8.3.2), so it cannot end a header line.
  bool strong() const;
};

/// The head of a response, reduced to the relevant fields.
struct ResponseHead {
  int status = 0;
  std::string content_range;
  std::string content_encoding;
  std::string content_length;
  std::string content_type;
  std::string etag;
  std::string last_modified;
  std::string retry_after;
  std::string bucket_region;  // x-amz-bucket-region
  std::string link;
  std::string explanation;  // x-error-message, the hub's explanation of an
                            // error

  /// Adds a line of the head. A status line begins a new head, as after a
  /// redirect. Lines longer than 2 KiB and unknown fields are ignored. The
  /// values of a repeated field are joined with commas, so a field that must
  /// have one value then fails its check.
  void Add(std::string_view line);
};

/// The requested bytes: [offset, offset + length) of an object; or its last
/// `length` bytes, or all if it has fewer; or a page of a listing of at most
/// `length` bytes.
struct Asked {
  uint64_t offset = 0;
  uint64_t length = 0;               // at least 1
  std::optional<Identity> identity;  // nullopt: this request opens the object
  bool page = false;
  bool tail = false;
};

/// The range and identity of the body, as a response's head states them.
struct Promise {
  Identity identity;
  uint64_t length = 0;  // of the body, in bytes
};

/// Compares the head with the request. Fails with
///   kStale        the object changed, or was removed, since it was opened
///   kIo           sys_errno EACCES for 401 and 403, ENOENT for 404 and 410,
///                 EAGAIN for transient errors (408, 425, 429, 5xx), else 0
///   kUnsupported  the server ignores Range, encodes bytes, returns another
///                 range or a wrong Content-Length, or sends neither ETag nor
///                 Last-Modified
/// For a page, the promised length is an upper bound. Messages do not show
/// `secrets`.
Result<Promise> CheckHead(const ResponseHead& head, const Asked& asked,
                          const Secrets& secrets = {});

/// Parses a Retry-After field to seconds: a number, or a date compared with
/// `now`, in seconds since 1970. nullopt if malformed.
std::optional<uint64_t> RetryAfter(const std::string& text, int64_t now);

/// Parses an HTTP date to nanoseconds since 1970; 0 if malformed.
int64_t DateOf(const std::string& text);

/// Returns the server's explanation of an error, without `secrets`: ": CODE:
/// MESSAGE" from the XML body of S3, or ": MESSAGE" from the head of the hub;
/// empty if there is neither.
std::string Explanation(const ResponseHead& head, std::string_view body,
                        const Secrets& secrets = {});

}  // namespace ctxfs::remote

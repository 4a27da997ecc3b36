// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/remote/stores/secrets.h"

namespace ctxfs::remote {

/// Which bytes an object had when it was opened. Two objects with the same
/// identity have the same bytes, as far as the server tells the truth.
struct Identity {
  std::string etag;           // as the server writes it, with quotes; or empty
  std::string last_modified;  // used if there is no ETag
  uint64_t size = 0;          // bytes

  bool operator==(const Identity&) const = default;
  /// Whether the ETag may stand in If-Match: it is a strong one by its syntax
  /// (RFC 9110, sections 8.8.3 and 8.8.3.2), so it ends no line of a head.
  bool strong() const;
};

/// The head of a response, of which only fields that matter are kept.
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
  std::string explanation;  // x-error-message, as the hub explains an error

  /// Adds a line of the head. A status line begins a new head, as after a
  /// redirect. Lines longer than 2 KiB and unknown fields are ignored; of a
  /// field that comes twice, both values are kept, which no check accepts.
  void Add(std::string_view line);
};

/// Bytes [offset, offset + length) of an object, as a request asks for them; or
/// its last `length` bytes, or all if it has fewer; or a page of a listing,
/// which has at most `length` bytes.
struct Asked {
  uint64_t offset = 0;
  uint64_t length = 0;               // at least 1
  std::optional<Identity> identity;  // nullopt: the object is opened now
  bool page = false;
  bool tail = false;
};

/// What the head of a response promises.
struct Promise {
  Identity identity;
  uint64_t length = 0;  // of the body, in bytes
};

/// Compares the head with what was asked for. Fails with
///   kStale        the object changed, or is gone, since it was opened
///   kIo           sys_errno EACCES for 401 and 403, ENOENT for 404 and 410,
///                 EAGAIN for what is transient (408, 429, 5xx), else 0
///   kUnsupported  the server ignores Range, encodes bytes, lies about the
///                 range, or tells neither ETag nor Last-Modified
/// What is promised of a page is its greatest length. Messages do not show
/// `secrets`.
Result<Promise> CheckHead(const ResponseHead& head, const Asked& asked,
                          const Secrets& secrets = {});

/// Returns the seconds of a Retry-After field: a number, or a date compared
/// with `now`, in seconds since 1970. nullopt if it is neither.
std::optional<uint64_t> RetryAfter(const std::string& text, int64_t now);

/// Returns the nanoseconds since 1970 of an HTTP date; 0 if it is none.
int64_t DateOf(const std::string& text);

/// Returns what the server says of an error, without `secrets`: ": CODE:
/// MESSAGE" from the XML body of S3, or ": MESSAGE" from the head of the hub;
/// empty if there is neither.
std::string Explanation(const ResponseHead& head, std::string_view body,
                        const Secrets& secrets = {});

}  // namespace ctxfs::remote

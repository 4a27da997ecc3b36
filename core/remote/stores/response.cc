// SPDX-License-Identifier: Apache-2.0
#include "core/remote/stores/response.h"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <utility>

#include "core/base/text/whole_number.h"
#include "core/remote/stores/trimmed.h"

namespace ctxfs::remote {
namespace {

constexpr size_t kMaxLineBytes = 2048;
constexpr size_t kMaxExplained = 200;

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return lower;
}

constexpr std::pair<std::string_view, std::string ResponseHead::*> kFields[] = {
    {"content-range", &ResponseHead::content_range},
    {"content-encoding", &ResponseHead::content_encoding},
    {"content-length", &ResponseHead::content_length},
    {"content-type", &ResponseHead::content_type},
    {"etag", &ResponseHead::etag},
    {"last-modified", &ResponseHead::last_modified},
    {"retry-after", &ResponseHead::retry_after},
    {"x-amz-bucket-region", &ResponseHead::bucket_region},
    {"link", &ResponseHead::link},
    {"x-error-message", &ResponseHead::explanation}};

struct ContentRange {
  uint64_t first;
  uint64_t last;
  uint64_t size;
};

/// "bytes FIRST-LAST/SIZE".
std::optional<ContentRange> ParseContentRange(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  if (!text.starts_with(kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  const size_t dash = text.find('-');
  const size_t slash = text.find('/');
  if (dash == text.npos || slash == text.npos || dash > slash) {
    return std::nullopt;
  }
  const auto first = WholeNumber<uint64_t>(text.substr(0, dash));
  const auto last =
      WholeNumber<uint64_t>(text.substr(dash + 1, slash - dash - 1));
  const auto size = WholeNumber<uint64_t>(text.substr(slash + 1));
  if (!first || !last || !size || *first > *last || *last >= *size ||
      *size > INT64_MAX) {
    return std::nullopt;
  }
  return ContentRange{*first, *last, *size};
}

Error Lies(std::string how) {
  return {Code::kUnsupported, "the server " + std::move(how)};
}

Error Changed() {
  return {Code::kStale, "the object changed on the server since it was opened"};
}

Error FromStatus(const ResponseHead& head, bool opened,
                 const Secrets& secrets) {
  const std::string text = "HTTP status " + std::to_string(head.status);
  switch (head.status) {
    case 401:
    case 403:
      return {Code::kIo, "access denied (" + text + ")", kNoOffset, EACCES};
    case 404:
    case 410:
      if (opened) return {Code::kStale, "the object is gone from the server"};
      return {Code::kIo, "there is no such object (" + text + ")", kNoOffset,
              ENOENT};
    case 408:
    case 425:
    case 429:
      return {Code::kIo, "the server refused for now (" + text + ")", kNoOffset,
              EAGAIN};
    case 412:
      return Changed();
    default:
      break;
  }
  if (head.status >= 500) {
    return {Code::kIo, "the server failed (" + text + ")", kNoOffset, EAGAIN};
  }
  std::string what = "unexpected " + text;
  if (!head.bucket_region.empty()) {
    what += "; the bucket is in the region " +
            secrets.Shown(head.bucket_region) + ": set AWS_REGION";
  }
  return {Code::kIo, std::move(what)};
}

Identity IdentityOf(const ResponseHead& head, uint64_t size) {
  Identity identity{head.etag, {}, size};
  if (identity.etag.empty()) identity.last_modified = head.last_modified;
  return identity;
}

Status CheckEncoding(const ResponseHead& head, const Secrets& secrets) {
  if (head.content_encoding.empty() ||
      LowerCase(head.content_encoding) == "identity") {
    return {};
  }
  return Lies("encodes the object, which was not asked for: " +
              secrets.Shown(head.content_encoding));
}

Result<Promise> CheckPage(const ResponseHead& head, const Asked& asked,
                          const Secrets& secrets) {
  if (head.status != 200) return FromStatus(head, /*opened=*/false, secrets);
  CTXFS_TRY(CheckEncoding(head, secrets));
  return Promise{{}, asked.length};
}

/// The promise for an empty object, of which no range can be requested.
Result<Promise> Empty(const ResponseHead& head, const Asked& asked) {
  if (asked.identity) return Changed();
  return Promise{IdentityOf(head, 0), 0};
}

}  // namespace

bool Identity::strong() const {
  const auto is_etagc = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > ' ' && byte != '"' && byte != 0x7F;
  };
  const std::string_view whole = etag;
  return whole.size() >= 2 && whole.front() == '"' && whole.back() == '"' &&
         std::ranges::all_of(whole.substr(1, whole.size() - 2), is_etagc);
}

void ResponseHead::Add(std::string_view line) {
  if (line.size() > kMaxLineBytes) return;
  if (line.starts_with("HTTP/")) {
    *this = {};
    const size_t space = line.find(' ');
    if (space == line.npos) return;
    const auto code = WholeNumber<uint64_t>(line.substr(space + 1, 3));
    status = code && *code >= 100 ? static_cast<int>(*code) : 0;
    return;
  }
  const size_t colon = line.find(':');
  if (colon == line.npos) return;
  const std::string name = LowerCase(line.substr(0, colon));
  for (const auto& [field, member] : kFields) {
    if (name != field) continue;
    std::string& value = this->*member;
    if (!value.empty()) value += ", ";
    value += Trimmed(line.substr(colon + 1));
    if (value.size() > kMaxLineBytes) value.resize(kMaxLineBytes);
  }
}

Result<Promise> CheckHead(const ResponseHead& head, const Asked& asked,
                          const Secrets& secrets) {
  if (asked.page) return CheckPage(head, asked, secrets);
  if (head.status == 416 && head.content_range == "bytes */0") {
    return Empty(head, asked);
  }
  if (head.status == 416 && asked.identity) return Changed();
  if (head.status == 200 && head.content_length == "0") {
    return Empty(head, asked);
  }
  if (head.status == 200) {
    return Lies("ignores Range: it sends whole objects only");
  }
  if (head.status != 206) {
    return FromStatus(head, asked.identity.has_value(), secrets);
  }
  CTXFS_TRY(CheckEncoding(head, secrets));
  const auto range = ParseContentRange(head.content_range);
  if (!range) {
    return Lies("sends no valid Content-Range: '" +
                secrets.Shown(head.content_range) + "'");
  }
  Promise promise{IdentityOf(head, range->size),
                  range->last - range->first + 1};
  if (asked.identity && promise.identity != *asked.identity) return Changed();
  const uint64_t offset =
      asked.tail ? range->size - std::min(asked.length, range->size)
                 : asked.offset;
  const uint64_t left = range->size > offset ? range->size - offset : 0;
  if (range->first != offset ||
      promise.length != std::min(asked.length, left)) {
    return Lies(fmt::format("sends bytes {} to {} in place of {} to {}",
                            range->first, range->last, offset,
                            offset + asked.length - 1));
  }
  if (!head.content_length.empty() &&
      WholeNumber<uint64_t>(head.content_length) != promise.length) {
    return Lies("sends a Content-Length that is not that of the range");
  }
  if (promise.identity.etag.empty() && promise.identity.last_modified.empty()) {
    return Lies(
        "sends neither ETag nor Last-Modified, so a change could not be "
        "noticed");
  }
  return promise;
}

int64_t DateOf(const std::string& text) {
  struct tm parts {};
  const char* const end =
      ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != '\0') return 0;
  const time_t seconds = ::timegm(&parts);
  constexpr int64_t kMax = INT64_MAX / 1'000'000'000;
  if (seconds <= 0 || seconds > kMax) return 0;
  return int64_t{seconds} * 1'000'000'000;
}

std::optional<uint64_t> RetryAfter(const std::string& text, int64_t now) {
  if (const auto seconds = WholeNumber<uint64_t>(text)) return seconds;
  const int64_t at = DateOf(text) / 1'000'000'000;
  if (at == 0) return std::nullopt;
  return at > now ? static_cast<uint64_t>(at - now) : 0;
}

namespace {

std::string_view Element(std::string_view body, const std::string& name) {
  const size_t from = body.find("<" + name + ">");
  if (from == body.npos) return {};
  body.remove_prefix(from + name.size() + 2);
  const size_t end = body.find("</");
  return end == body.npos ? std::string_view() : body.substr(0, end);
}

}  // namespace

std::string Explanation(const ResponseHead& head, std::string_view body,
                        const Secrets& secrets) {
  const std::string_view code = Element(body, "Code");
  const std::string_view message =
      code.empty() ? head.explanation : Element(body, "Message");
  std::string explanation;
  for (const std::string_view part : {code, message}) {
    if (part.empty()) continue;
    explanation += ": " + secrets.Shown(part, kMaxExplained);
  }
  return explanation;
}

}  // namespace ctxfs::remote

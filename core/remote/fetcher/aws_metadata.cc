// SPDX-License-Identifier: Apache-2.0
#include "core/remote/fetcher/aws_metadata.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <new>

#include "core/base/json/json.h"
#include "core/remote/fetcher/curl.h"
#include "core/remote/stores/listing.h"
#include "core/remote/stores/trimmed.h"

namespace ctxfs::remote {
namespace {

// The limits of AWS's own clients: the service is on the machine, or there is
// none.
constexpr long kMetadataConnectMs = 1000;
constexpr long kAnswerMs = 2000;
constexpr unsigned kAttempts = 3;
constexpr size_t kMaxBytes = 64 * 1024;
// New keys are available this long before the old ones expire.
constexpr int64_t kEarlyNs = int64_t{300} * 1'000'000'000;
constexpr std::chrono::seconds kBetween(30);
constexpr std::chrono::seconds kBetweenFailures(1);

Error NoKeys(const std::string& why) {
  return {Code::kIo, "the metadata service gives no keys: " + why, kNoOffset,
          EACCES};
}

int64_t Now() { return int64_t{::time(nullptr)} * 1'000'000'000; }

/// Whether a text is valid in a header field: it is printable ASCII.
bool IsField(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char c) { return c >= ' ' && c < '\x7F'; });
}

using Headers = std::vector<std::string>;

/// A request to a metadata service, and its response.
class Question {
 public:
  Question(const std::string& url, const Headers& headers)
      : easy_(Curl::Get().easy_init()) {
    if (easy_ == nullptr) throw std::bad_alloc();
    for (const std::string& line : headers) headers_.Add(line);
    Set(CURLOPT_URL, url.c_str());
    Set(CURLOPT_PROTOCOLS_STR, "http,https");
    Set(CURLOPT_NOPROXY, "*");  // the service is on this machine
    Set(CURLOPT_NOSIGNAL, 1L);
    Set(CURLOPT_CONNECTTIMEOUT_MS, kMetadataConnectMs);
    Set(CURLOPT_TIMEOUT_MS, kAnswerMs);
    Set(CURLOPT_FAILONERROR, 1L);
    Set(CURLOPT_USERAGENT, "ctxfs");
    Set(CURLOPT_HTTPHEADER, headers_.get());
    Set(CURLOPT_WRITEFUNCTION, &OnBody);
    Set(CURLOPT_WRITEDATA, static_cast<void*>(&body_));
  }

  void UsePut() { Set(CURLOPT_CUSTOMREQUEST, "PUT"); }

  Result<std::string> Answer() {
    CURLcode result = CURLE_OK;
    for (unsigned attempt = 0; attempt < kAttempts; ++attempt) {
      body_.clear();
      result = Curl::Get().easy_perform(easy_.get());
      if (result == CURLE_OK) return std::move(body_);
      if (result == CURLE_HTTP_RETURNED_ERROR) break;
    }
    return NoKeys(Curl::Get().easy_strerror(result));
  }

 private:
  template <typename T>
  void Set(CURLoption option, T value) {
    (void)Curl::Get().easy_setopt(easy_.get(), option, value);
  }

  static size_t OnBody(char* bytes, size_t size, size_t count, void* body) {
    auto& text = *static_cast<std::string*>(body);
    if (text.size() + size * count > kMaxBytes) return 0;
    text.append(bytes, size * count);
    return size * count;
  }

  CurlList headers_;
  CurlEasy easy_;
  std::string body_;
};

}  // namespace

Result<ExpiringKeys> MetadataKeysIn(const std::string& body) {
  const Result<ParsedJson> parsed = ParseJson(body);
  if (!parsed) return NoKeys("its answer is no JSON");
  const Json& json = parsed->value;
  ExpiringKeys found{{TextAt(json, "AccessKeyId"),
                      TextAt(json, "SecretAccessKey"), TextAt(json, "Token")},
                     TimeOf(TextAt(json, "Expiration"))};
  if (found.keys.access_key.empty() || found.keys.secret_key.empty() ||
      found.expires_ns == 0) {
    return NoKeys("its answer has no keys with a time of expiration");
  }
  if (!IsField(found.keys.access_key) || !IsField(found.keys.session_token)) {
    return NoKeys("they have bytes that no key has");
  }
  return found;
}

// Version 2 of the service, whose token protects against request forgery.
Result<ExpiringKeys> AwsMetadata::AskInstance() {
  const std::string latest = service_.instance + "/latest/";
  Question token(latest + "api/token",
                 {"X-aws-ec2-metadata-token-ttl-seconds: 300"});
  token.UsePut();
  const std::string answer = CTXFS_TRY(token.Answer());
  const std::string_view field = Trimmed(answer);
  if (!IsField(field)) return NoKeys("its token has bytes that no token has");
  const Headers headers = {"X-aws-ec2-metadata-token: " + std::string(field)};
  const std::string roles = latest + "meta-data/iam/security-credentials/";
  const std::string names = CTXFS_TRY(Question(roles, headers).Answer());
  const std::string role(Trimmed(names.substr(0, names.find('\n'))));
  if (role.empty()) return NoKeys("the instance has no role");
  return MetadataKeysIn(CTXFS_TRY(Question(roles + role, headers).Answer()));
}

Result<ExpiringKeys> AwsMetadata::Ask() {
  if (service_.container.empty()) return AskInstance();
  Headers headers;
  if (!service_.container_token.empty()) {
    headers.push_back("Authorization: " + service_.container_token);
  }
  return MetadataKeysIn(
      CTXFS_TRY(Question(service_.container, headers).Answer()));
}

Status AwsMetadata::Renew(AwsKeys& keys) {
  if (Now() + kEarlyNs < expires_ns_) return {};
  const Clock::time_point now = Clock::now();
  const bool expired = expires_ns_ <= Now();
  if (now >= next_ || (expired && !error_)) {
    Result<ExpiringKeys> found = Ask();
    error_.reset();
    if (found && found->expires_ns <= Now()) {
      found = NoKeys("those that it gives have expired");
    }
    if (found) {
      keys = std::move(found->keys);
      expires_ns_ = found->expires_ns;
    } else {
      error_ = found.error();
    }
    next_ = Clock::now() + (found ? kBetween : kBetweenFailures);
  }
  // Without new keys, the old ones are used until they expire.
  if (expires_ns_ > Now()) return {};
  return *error_;
}

}  // namespace ctxfs::remote

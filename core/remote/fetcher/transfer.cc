// SPDX-License-Identifier: Apache-2.0
#include "core/remote/fetcher/transfer.h"

#include <fmt/core.h>
#include <strings.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>
#include <string_view>
#include <utility>

#include "core/base/text/text.h"
#include "core/remote/client/messages.h"
#include "core/remote/stores/percent.h"

namespace ctxfs::remote {
namespace {

constexpr long kMaxRedirects = 5;
constexpr long kConnectMs = 15'000;
// A connection that is slower for this long is considered dead.
constexpr long kLeastBytesPerSecond = 1024;
constexpr long kStalledSeconds = 15;
// Maximum bytes per receive. With this many, few calls fetch all available
// data, and the data are still in the processor's cache when they are copied.
constexpr long kReceiveBytes = 512 * 1024;
constexpr size_t kMaxExplanation = 4096;

template <typename T>
void Set(CURL* easy, CURLoption option, T value) {
  // Fails only for options that this libcurl lacks, and for lack of memory.
  if (Curl::Get().easy_setopt(easy, option, value) == CURLE_OUT_OF_MEMORY) {
    throw std::bad_alloc();
  }
}

/// The bytes before the first granule of a tail, which is the last `length`
/// bytes of an object of `size` bytes.
uint64_t BeforeTail(uint64_t size, uint64_t length) {
  return FirstOfTail(size) * kGranuleBytes - (size - length);
}

/// Whether an error is transient.
bool MayPass(CURLcode result) {
  switch (result) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_AGAIN:
      return true;
    default:
      return false;
  }
}

/// Adds a password, and its encoded form in requests, to `secrets`.
void AddUser(const WebUser& user, Secrets& secrets) {
  secrets.Add(user.password);
  std::string sent = Base64(user.name + ":" + user.password);
  while (sent.ends_with('=')) sent.pop_back();
  secrets.Add(sent);
}

}  // namespace

Transfer::Transfer(const Location& location, const Settings& settings,
                   const std::string& certificates, const Asked& asked,
                   const std::vector<MutableBytes>& out,
                   std::chrono::milliseconds timeout)
    : location_(location),
      settings_(settings),
      asked_(asked),
      out_(out),
      easy_(Curl::Get().easy_init()) {
  if (easy_ == nullptr) throw std::bad_alloc();
  SetTarget(timeout, certificates);
  SetRange();
  SetCredentials();
  NoteSecrets();
  Set(handle(), CURLOPT_HTTPHEADER, headers_.get());
}

void Transfer::SetTarget(std::chrono::milliseconds timeout,
                         const std::string& certificates) {
  CURL* const easy = handle();
  Set(easy, CURLOPT_PRIVATE, static_cast<void*>(this));
  Set(easy, CURLOPT_URL, location_.url.c_str());
  // Does not set PATH_AS_IS for S3, because libcurl 8.14 then does not sign the
  // path. Without it, libcurl changes nothing in the path of a key, because
  // Locate refuses '.' and '..'.
  Set(easy, CURLOPT_PATH_AS_IS, location_.service == Service::kS3 ? 0L : 1L);
  Set(easy, CURLOPT_NOSIGNAL, 1L);
  Set(easy, CURLOPT_BUFFERSIZE, kReceiveBytes);
  Set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  // Follows no redirect to other schemes, and none from https back to http: see
  // StaySecure.
  const bool secure = location_.url.starts_with("https:");
  Set(easy, CURLOPT_REDIR_PROTOCOLS_STR, secure ? "https" : "http,https");
  // Follows no redirect of S3. S3 redirects a request that went to the wrong
  // region, but the signature covers the host, so it would be invalid.
  Set(easy, CURLOPT_FOLLOWLOCATION,
      location_.service == Service::kS3 ? 0L : 1L);
  Set(easy, CURLOPT_MAXREDIRS, kMaxRedirects);
  Set(easy, CURLOPT_CONNECTTIMEOUT_MS,
      std::min(kConnectMs, static_cast<long>(timeout.count())));
  Set(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
  Set(easy, CURLOPT_LOW_SPEED_LIMIT, kLeastBytesPerSecond);
  Set(easy, CURLOPT_LOW_SPEED_TIME, kStalledSeconds);
  Set(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  Set(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  Set(easy, CURLOPT_USERAGENT, "ctxfs");
  Set(easy, CURLOPT_HEADERFUNCTION, &OnHead);
  Set(easy, CURLOPT_HEADERDATA, static_cast<void*>(this));
  Set(easy, CURLOPT_WRITEFUNCTION, &OnBody);
  Set(easy, CURLOPT_WRITEDATA, static_cast<void*>(this));
  // Certificates come from memory, because the confined process cannot open
  // files.
  Set(easy, CURLOPT_CAINFO, static_cast<char*>(nullptr));
  Set(easy, CURLOPT_CAPATH, static_cast<char*>(nullptr));
  if (!certificates.empty()) {
    curl_blob blob{const_cast<char*>(certificates.data()), certificates.size(),
                   CURL_BLOB_NOCOPY};
    Set(easy, CURLOPT_CAINFO_BLOB, &blob);
  }
}

void Transfer::SetRange() {
  headers_.Add("Accept-Encoding: identity");
  if (asked_.page) return;
  const std::string range =
      asked_.tail ? fmt::format("-{}", asked_.length)
                  : fmt::format("{}-{}", asked_.offset,
                                asked_.offset + asked_.length - 1);
  // libcurl copies the string.
  Set(handle(), CURLOPT_RANGE, range.c_str());
  if (!asked_.identity) return;
  if (asked_.identity->strong()) {
    headers_.Add("If-Match: " + asked_.identity->etag);
  } else if (DateOf(asked_.identity->last_modified) != 0) {
    headers_.Add("If-Unmodified-Since: " + asked_.identity->last_modified);
  }
}

// libcurl sends no credentials to another host after a redirect.
void Transfer::SetCredentials() {
  CURL* const easy = handle();
  const AwsKeys& aws = settings_.aws;
  if (location_.service == Service::kS3) {
    if (aws.access_key.empty()) return;
    const std::string signer = "aws:amz:" + settings_.endpoints.region + ":s3";
    Set(easy, CURLOPT_AWS_SIGV4, signer.c_str());
    Set(easy, CURLOPT_USERNAME, aws.access_key.c_str());
    Set(easy, CURLOPT_PASSWORD, aws.secret_key.c_str());
    headers_.Add("x-amz-content-sha256: UNSIGNED-PAYLOAD");
    if (!aws.session_token.empty()) {
      headers_.Add("x-amz-security-token: " + aws.session_token);
    }
    return;
  }
  if (location_.service == Service::kHub) {
    if (settings_.hub_token.empty()) return;
    Set(easy, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BEARER));
    Set(easy, CURLOPT_XOAUTH2_BEARER, settings_.hub_token.c_str());
    return;
  }
  const auto user =
      std::ranges::find_if(settings_.users, [this](const WebUser& one) {
        return one.host.empty() || one.host == location_.host;
      });
  if (user == settings_.users.end()) return;
  Set(easy, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
  Set(easy, CURLOPT_USERNAME, user->name.c_str());
  Set(easy, CURLOPT_PASSWORD, user->password.c_str());
}

void Transfer::NoteSecrets() {
  const AwsKeys& aws = settings_.aws;
  for (const std::string* const secret :
       {&aws.access_key, &aws.secret_key, &aws.session_token,
        &settings_.hub_token}) {
    secrets_.Add(*secret);
  }
  for (const WebUser& user : settings_.users) {
    if (!user.host.empty() && user.host != location_.host) continue;
    AddUser(user, secrets_);
  }
  for (const WebUser& user : settings_.proxy_users) {
    AddUser(user, secrets_);
  }
  if (location_.service != Service::kWeb) return;
  // Values of a query count as secrets, because they are often signatures.
  constexpr size_t kLeast = 6;
  const size_t query = std::min(location_.url.find('?'), location_.url.size());
  std::string_view rest = std::string_view(location_.url).substr(query);
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view one = rest.substr(0, rest.find('&'));
    const std::string value = Decoded(one.substr(one.find('=') + 1));
    if (value.size() >= kLeast) secrets_.Add(value);
    rest.remove_prefix(one.size());
  }
}

// libcurl compares REDIR_PROTOCOLS with the next URL when it follows the
// redirect, after the head: the scheme of this hop is known by then.
void Transfer::StaySecure() {
  const char* url = nullptr;  // of this hop
  (void)Curl::Get().easy_getinfo(handle(), CURLINFO_EFFECTIVE_URL, &url);
  constexpr std::string_view kPlain = "http:";
  if (url == nullptr || ::strncasecmp(url, kPlain.data(), kPlain.size()) != 0) {
    Set(handle(), CURLOPT_REDIR_PROTOCOLS_STR, "https");
  }
}

size_t Transfer::OnHead(char* line, size_t size, size_t count, void* self) {
  const std::string_view text(line, size * count);
  auto* const transfer = static_cast<Transfer*>(self);
  if (text.starts_with("HTTP/")) transfer->StaySecure();
  transfer->head_.Add(text);
  return text.size();
}

size_t Transfer::OnBody(char* bytes, size_t size, size_t count, void* self) {
  const Bytes body = std::as_bytes(std::span(bytes, size * count));
  return static_cast<Transfer*>(self)->TakeBody(body) ? body.size() : 0;
}

bool Transfer::TakeBody(Bytes bytes) {
  received_ += bytes.size();
  if (head_.status >= 400 && head_.status != 416) {
    const size_t room = kMaxExplanation - explanation_.size();
    explanation_ += AsText(bytes.first(std::min(room, bytes.size())));
    return explanation_.size() < kMaxExplanation;
  }
  if (!promise_) promise_ = CheckHead(head_, asked_, secrets_);
  // Stops if there are more bytes than promised.
  if (!*promise_ || bytes.size() > (*promise_)->length - stored_) return false;
  // Skips the bytes of a granule that the tail contains only in part.
  const uint64_t skipped =
      asked_.tail ? BeforeTail((*promise_)->identity.size, (*promise_)->length)
                  : 0;
  if (stored_ < skipped) {
    const size_t n = std::min<uint64_t>(bytes.size(), skipped - stored_);
    stored_ += n;
    bytes = bytes.subspan(n);
  }
  while (!bytes.empty()) {
    const uint64_t place = stored_ - skipped;
    const MutableBytes granule =
        out_[static_cast<size_t>(place / out_.front().size())];
    const auto at = static_cast<size_t>(place % out_.front().size());
    const size_t n = std::min(bytes.size(), granule.size() - at);
    std::memcpy(granule.data() + at, bytes.data(), n);
    stored_ += n;
    bytes = bytes.subspan(n);
  }
  return true;
}

bool Transfer::EchoesSecrets() const {
  std::string page;
  for (const MutableBytes granule : out_) {
    const uint64_t left = stored_ - page.size();
    page += AsText(granule.first(
        static_cast<size_t>(std::min<uint64_t>(left, granule.size()))));
  }
  // Does not search for the access key, which at some stores is an owner's name
  // and no secret.
  Secrets secrets;
  secrets.Add(settings_.aws.secret_key);
  secrets.Add(settings_.aws.session_token);
  secrets.Add(settings_.hub_token);
  return secrets.AreIn(page);
}

Error Transfer::FromCurl(CURLcode result) const {
  std::string what = "the server cannot be reached: ";
  if (result == CURLE_TOO_MANY_REDIRECTS) {
    what = "the server redirects too often: ";
  } else if (result == CURLE_UNSUPPORTED_PROTOCOL && head_.status / 100 == 3) {
    what = "the server redirects to a URL that is not allowed: ";
  } else if (result == CURLE_PARTIAL_FILE) {
    what = "the server sent less than it promised: ";
  }
  // Shows only the fixed text, because libcurl's detailed message may contain
  // the URL.
  what += Curl::Get().easy_strerror(result);
  return {Code::kIo, std::move(what), kNoOffset, MayPass(result) ? EAGAIN : 0};
}

Result<Promise> Transfer::Finish(CURLcode result) {
  // If the body was refused, `result` is CURLE_WRITE_ERROR, and the promise has
  // the reason.
  if (promise_ && !*promise_) return promise_->error();
  if (result == CURLE_WRITE_ERROR && promise_) {
    return Error{Code::kUnsupported,
                 asked_.page ? "the server sends a page of a listing that is "
                               "longer than 4 MiB"
                             : "the server sends more bytes than it promised"};
  }
  if (result != CURLE_OK && head_.status < 400) return FromCurl(result);
  if (!promise_) promise_ = CheckHead(head_, asked_, secrets_);
  if (!*promise_) {
    Error error = promise_->error();
    if (error.code == Code::kIo) {
      error.what += Explanation(head_, explanation_, secrets_);
    }
    return error;
  }
  if (asked_.page && EchoesSecrets()) {
    return Error{Code::kUnsupported,
                 "the server sends the credential of the request back in a "
                 "listing"};
  }
  if (asked_.page) return Promise{{}, stored_};
  if (stored_ != (*promise_)->length) {
    return Error{Code::kIo, "the server sent less than it promised", kNoOffset,
                 EAGAIN};
  }
  return *promise_;
}

uint32_t Transfer::first_us() const {
  curl_off_t asked = 0;
  curl_off_t first = 0;
  const Curl& curl = Curl::Get();
  (void)curl.easy_getinfo(easy_.get(), CURLINFO_PRETRANSFER_TIME_T, &asked);
  (void)curl.easy_getinfo(easy_.get(), CURLINFO_STARTTRANSFER_TIME_T, &first);
  return static_cast<uint32_t>(
      std::clamp<curl_off_t>(first - asked, 0, UINT32_MAX));
}

std::optional<uint64_t> Transfer::retry_after() const {
  if (head_.retry_after.empty()) return std::nullopt;
  return RetryAfter(head_.retry_after, ::time(nullptr));
}

}  // namespace ctxfs::remote

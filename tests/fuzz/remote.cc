// SPDX-License-Identifier: Apache-2.0
//
// What users and servers write about objects: URLs, heads of responses, files
// of credentials, listings, and the fetcher's messages. A build without
// CTXFS_REMOTE has no_remote.cc instead.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "core/remote/client/messages.h"
#include "core/remote/fetcher/aws_metadata.h"
#include "core/remote/fetcher/settings.h"
#include "core/remote/stores/listing.h"
#include "core/remote/stores/response.h"
#include "core/remote/stores/secrets.h"
#include "core/remote/stores/url.h"
#include "tests/fuzz/target.h"
#include "tests/support/judge.h"

namespace ctxfs::fuzz {
namespace {

using remote::Asked;

void TryUrl(const std::string& url) {
  (void)remote::NameOf(url);
  for (const std::string& endpoint : {std::string(), "http://h:1/" + url}) {
    const auto location =
        remote::Locate(url, {.s3 = endpoint, .hub = "https://hub"});
    if (!location) {
      Require(!location.error().what.empty(), "a refusal says why");
      continue;
    }
    const std::string& located = location->url;
    Require(located.starts_with("http://") || located.starts_with("https://"),
            "only HTTP is spoken");
    Require(located.size() <= remote::kMaxUrlBytes &&
                std::all_of(located.begin(), located.end(),
                            [](char c) { return c > ' ' && c < '\x7F'; }),
            "a URL is printable ASCII");
    const size_t start = located.find("://") + 3;
    Require(
        !location->host.empty() &&
            located.compare(start, location->host.size(), location->host) == 0,
        "the host is that of the URL");
    const auto again = remote::Locate(located, {});
    Require(again && again->url == located, "a URL that is one stays so");
  }
}

void TryBeside(const std::string& url, const std::string& path) {
  const auto beside = remote::UrlBeside(url, path);
  if (!beside) return;
  const std::string directory = url.substr(0, url.find_first_of("?#"));
  Require(beside->starts_with(directory.substr(0, directory.rfind('/') + 1)),
          "what is beside an object is in its directory");
}

void TryHead(std::string_view lines) {
  remote::ResponseHead head;
  while (!lines.empty()) {
    const size_t line = std::min(lines.find('\n'), lines.size() - 1) + 1;
    head.Add(lines.substr(0, line));
    lines.remove_prefix(line);
  }
  (void)remote::RetryAfter(head.retry_after, 1'700'000'000);
  const remote::Identity known{"\"e\"", "", 1000};
  for (const Asked& asked :
       {Asked{0, 65536, std::nullopt}, Asked{100, 200, known}}) {
    const auto promise = remote::CheckHead(head, asked);
    if (!promise) continue;
    Require(promise->length <= asked.length &&
                promise->length <= promise->identity.size,
            "a body is not longer than what was asked for");
    Require(!asked.identity || promise->identity == known,
            "another object is never served");
    Require(promise->length == 0 || !promise->identity.etag.empty() ||
                !promise->identity.last_modified.empty(),
            "a change can be noticed");
  }
}

/// A server's text, and what a message shows of it.
void TryShown(const std::string& text) {
  const std::string secret = "s3cr+t/Key&7";
  remote::Secrets secrets;
  secrets.Add(secret);
  const std::string shown = secrets.Shown(text, 200);
  Require(shown.find(secret) == std::string::npos, "no secret is shown");
  Require(shown.size() <= 4 * 200, "a message has a bound");
  Require(secrets.AreIn(text + secret), "a secret is found");
}

/// Lines: a URL, a path, and the head of a response.
void TryRemote(Bytes input) {
  const std::string text(AsText(input));
  const size_t first = std::min(text.find('\n'), text.size());
  const size_t second =
      std::min(text.find('\n', std::min(first + 1, text.size())), text.size());
  const std::string url = text.substr(0, first);
  TryUrl(url);
  TryBeside(url, text.substr(std::min(first + 1, second), second - first));
  TryHead(std::string_view(text).substr(std::min(second + 1, text.size())));
  (void)remote::Explanation({}, text);
  TryShown(text);
  (void)remote::ProfileIn(text, "default");
  (void)remote::MetadataKeysIn(std::string(text));
  (void)remote::UsersIn(text);
  if (const auto request = remote::DecodeRequest(text)) {
    Require(remote::Encode(*request).size() == text.size(),
            "a message is all of its bytes");
  }
  (void)remote::DecodeReply(text);
}

void CheckListing(const std::string& directory, const StoreListing& listing) {
  for (const StoreName& name : listing.names) {
    Require(listing.Find(name.name, name.directory) == &name,
            "every name is there once and is found");
    Require(name.name.find('/') == std::string::npos && name.size <= INT64_MAX,
            "a name is one component");
    const std::string url =
        remote::UrlIn(directory, name.name, name.directory) +
        (name.directory ? "x" : "");
    Require(remote::Locate(url, {}).has_value(),
            "what is listed can be asked for");
  }
}

/// Pages of a listing, of which NUL bytes are the borders; before the first one
/// is the field Link.
void TryListing(Bytes input) {
  std::string_view text = AsText(input);
  const size_t end = std::min(text.find('\0'), text.size());
  const std::string link(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  for (const std::string directory :
       {"s3://bucket/", "s3://bucket/m/", "hf://org/model/", "hf://o/n/m/"}) {
    remote::ListingBuilder builder(directory);
    std::string_view pages = text;
    while (!pages.empty()) {
      const size_t cut = std::min(pages.find('\0'), pages.size());
      const std::string body(pages.substr(0, cut));
      pages.remove_prefix(std::min(cut + 1, pages.size()));
      auto page = directory.starts_with("hf://")
                      ? remote::ParseHubPage({body, link})
                      : remote::ParseS3Page(body);
      if (!page) {
        Require(!page.error().what.empty(), "a refusal says why");
        break;
      }
      if (!builder.Add(std::move(*page)) || builder.next().empty()) break;
    }
    CheckListing(directory, *builder.Finish());
  }
}

}  // namespace

void AddRemoteTarget(std::vector<Target>& targets) {
  targets.push_back({"remote", &TryRemote});
  targets.push_back({"listing", &TryListing});
}

}  // namespace ctxfs::fuzz

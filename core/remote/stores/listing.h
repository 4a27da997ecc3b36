// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/base/result.h"
#include "core/io/urls/url_store.h"

namespace ctxfs::remote {

/// Maximum bytes of a page of a listing: 1000 keys of 1024 bytes, each byte
/// written as %XX, with 1 KiB around each key.
constexpr size_t kMaxPageBytes = 4 << 20;

/// The raw text of a page of a listing.
struct PageText {
  std::string body;
  std::string link;  // the header field Link
};

/// The contents of a page. Names are whole keys; those of directories have no
/// trailing '/'.
struct ListingPage {
  std::vector<StoreName> keys;
  std::string next;  // the token of the next page; empty: last page
};

/// Parses the XML of ListObjectsV2 (Amazon S3 API Reference, "ListObjectsV2",
/// response syntax). Fails with kCorrupt and the offset for malformed XML; with
/// kUnsupported for a document type, which could define entities, and for any
/// other page that is wrong or contradicts itself.
Result<ListingPage> ParseS3Page(std::string_view body);

/// Guesses the token of the next page without parsing; empty: there is none, or
/// parsing is needed.
std::string LikelyNextS3Page(std::string_view body);

/// Parses the XML of ListBuckets, which has a single page. Buckets are
/// directories. Fails like ParseS3Page.
Result<ListingPage> ParseBuckets(std::string_view body);

/// Parses the JSON of the hub's tree API (huggingface.co/docs/hub/api), whose
/// next page is in the header field Link (RFC 8288). Fails with kCorrupt, or
/// with kLimit like ParseJson.
Result<ListingPage> ParseHubPage(const PageText& page);

/// Merges the pages of a directory's listing.
class ListingBuilder {
 public:
  /// `directory` is a URL that ends in '/'.
  explicit ListingBuilder(std::string directory);

  /// Fails with kUnsupported for a key outside the directory, for a repeated
  /// token and for too many pages or empty pages in a row, and with kLimit for
  /// too many names or bytes of names.
  Status Add(ListingPage page);

  /// Whether an added page named this token as that of its next page.
  bool HadToken(const std::string& token) const;

  /// The token of the page to add next; empty: none.
  const std::string& next() const { return next_; }

  /// Returns the listing, sorted and without repeated names.
  std::shared_ptr<StoreListing> Finish();

  uint64_t bytes() const { return bytes_; }

 private:
  Status AddKey(StoreName key);
  void LeaveOut(const std::string& name);

  const std::string directory_;
  const std::string prefix_;  // of the directory's keys
  std::shared_ptr<StoreListing> listing_ = std::make_shared<StoreListing>();
  std::string next_;
  std::unordered_set<size_t> tokens_;  // hashes of the tokens of all pages
  uint64_t bytes_ = 0;
  unsigned pages_ = 0;
  unsigned empty_pages_ = 0;  // in a row
};

/// Parses a time such as "2009-10-12T17:50:30.000Z" to nanoseconds since 1970;
/// 0 if malformed.
int64_t TimeOf(const std::string& text);

}  // namespace ctxfs::remote

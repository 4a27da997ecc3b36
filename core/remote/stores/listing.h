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

/// The most bytes of a page of a listing: 1000 keys of 1024 bytes, each written
/// as %XX, with 1 KiB around each.
constexpr size_t kMaxPageBytes = 4 << 20;

/// A page of a listing, as the server writes it.
struct PageText {
  std::string body;
  std::string link;  // the field Link of its head
};

/// What a page says. Names are whole keys, of directories without the '/' that
/// ends them.
struct ListingPage {
  std::vector<StoreName> keys;
  std::string next;  // the token of the next page; empty: it is the last
};

/// Parses the XML of ListObjectsV2 (Amazon S3 API Reference, "ListObjectsV2",
/// response syntax). Fails with kCorrupt and the offset for what is no XML or
/// has a document type, which could define entities; with kUnsupported for a
/// page that contradicts itself.
Result<ListingPage> ParseS3Page(std::string_view body);

/// The token that such a page likely has for the next one, found without
/// parsing it; empty: there is none, or it must be parsed.
std::string LikelyNextS3Page(std::string_view body);

/// Parses the XML of ListBuckets, which has no further pages. Buckets are
/// directories. Fails like ParseS3Page.
Result<ListingPage> ParseBuckets(std::string_view body);

/// Parses the JSON of the hub's tree API (huggingface.co/docs/hub/api), whose
/// next page is in the field Link (RFC 8288). Fails with kCorrupt.
Result<ListingPage> ParseHubPage(const PageText& page);

/// Puts the pages of the listing of a directory together.
class ListingBuilder {
 public:
  /// `directory` is a URL that ends in '/'.
  explicit ListingBuilder(std::string directory);

  /// Fails with kUnsupported for a key that is not in the directory, for a
  /// token that an earlier page had and for pages that have no end, and with
  /// kLimit for too many names.
  Status Add(ListingPage page);

  /// Whether a page that was added had this token.
  bool HadToken(const std::string& token) const;

  /// The token of the page to be added next; empty: there is none.
  const std::string& next() const { return next_; }

  /// Returns the listing, sorted and without repeated names.
  std::shared_ptr<StoreListing> Finish();

  /// Bytes that the listing takes.
  uint64_t bytes() const { return bytes_; }

 private:
  Status AddKey(StoreName key);
  void LeaveOut(const std::string& name);

  const std::string directory_;
  const std::string prefix_;  // of its keys
  std::shared_ptr<StoreListing> listing_ = std::make_shared<StoreListing>();
  std::string next_;
  std::unordered_set<size_t> tokens_;  // hashes of those of all pages
  uint64_t bytes_ = 0;
  unsigned pages_ = 0;
  unsigned empty_pages_ = 0;  // one after another
};

/// Returns the nanoseconds since 1970 of a time such as
/// "2009-10-12T17:50:30.000Z"; 0 if it is none.
int64_t TimeOf(const std::string& text);

}  // namespace ctxfs::remote

// SPDX-License-Identifier: Apache-2.0
//
// Pages of ListObjectsV2 and ListBuckets. They are parsed in the process that
// opens containers, which gets no credentials. The fetcher has credentials and
// the network, and a fault in this parser must not reach them.
#include <expat.h>
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "core/base/text/whole_number.h"
#include "core/remote/stores/listing.h"
#include "core/remote/stores/percent.h"
#include "core/remote/stores/secrets.h"

namespace ctxfs::remote {
namespace {

constexpr size_t kMaxTextBytes = 64 * 1024;
constexpr unsigned kMaxDepth = 8;
constexpr size_t kMaxToken = 4096;
constexpr std::string_view kObjectsRoot = "ListBucketResult";
constexpr std::string_view kBucketsRoot = "ListAllMyBucketsResult";

Error WrongPage(const std::string& how) {
  return {Code::kUnsupported, "the server sends a wrong listing: " + how};
}

/// Extracts the relevant data from the parser's events. Stops the parser at the
/// first error.
class S3Reader {
 public:
  S3Reader(XML_Parser parser, std::string_view root)
      : parser_(parser), root_(root) {
    XML_SetUserData(parser, this);
    XML_SetElementHandler(parser, &OnStart, &OnEnd);
    XML_SetCharacterDataHandler(parser, &OnText);
    // A document type could define entities, and serves no purpose here.
    XML_SetStartDoctypeDeclHandler(parser, &OnDoctype);
  }

  Result<ListingPage> Read(std::string_view body) {
    if (XML_Parse(parser_, body.data(), static_cast<int>(body.size()), 1) ==
            XML_STATUS_ERROR &&
        !fault_) {
      return Error{Code::kCorrupt,
                   std::string("the server sends a listing that is no XML: ") +
                       XML_ErrorString(XML_GetErrorCode(parser_)),
                   Offset()};
    }
    if (fault_) return *std::move(fault_);
    return root_ == kObjectsRoot ? Finish() : std::move(page_);
  }

 private:
  static S3Reader& Of(void* self) { return *static_cast<S3Reader*>(self); }
  static void OnStart(void* self, const char* name, const char** /*fields*/) {
    Of(self).Start(name);
  }
  static void OnEnd(void* self, const char* name) { Of(self).End(name); }
  static void OnText(void* self, const char* text, int size) {
    Of(self).Text({text, static_cast<size_t>(size)});
  }
  static void OnDoctype(void* self, const char* /*name*/,
                        const char* /*system*/, const char* /*public_id*/,
                        int /*internal*/) {
    Of(self).Fail("it has a document type");
  }

  uint64_t Offset() const {
#if XML_MAJOR_VERSION > 2 || (XML_MAJOR_VERSION == 2 && XML_MINOR_VERSION >= 9)
    const int64_t at = XML_GetCurrentByteIndex64(parser_);
#else
    const int64_t at = XML_GetCurrentByteIndex(parser_);
#endif
    return static_cast<uint64_t>(std::max<int64_t>(at, 0));
  }

  void Fail(const std::string& how) {
    if (fault_) return;
    fault_ = WrongPage(how);
    fault_->offset = Offset();
    (void)XML_StopParser(parser_, XML_FALSE);
  }

  void Start(std::string_view name) {
    if (fault_) return;
    text_.clear();
    if (++depth_ > kMaxDepth) return Fail("it is nested too deep");
    if (depth_ == 1 && name != root_) {
      return Fail("it is '" + Secrets().Shown(name) + "'");
    }
    if (depth_ == 2) group_ = name;
    if (depth_ == 2 && name == "Contents") object_ = Object{};
  }

  void Text(std::string_view text) {
    if (fault_) return;
    if (text_.size() + text.size() > kMaxTextBytes) {
      return Fail("a value has more than 64 KiB");
    }
    text_ += text;
  }

  void End(std::string_view name) {
    if (fault_) return;
    if (depth_ == 2) EndOfGroup(name);
    if (depth_ == 3 && group_ == "Contents") EndOfMember(name);
    if (depth_ == 3 && group_ == "CommonPrefixes" && name == "Prefix") {
      AddPrefix();
    }
    if (depth_ == 4 && group_ == "Buckets" && name == "Name") AddPrefix();
    --depth_;
    text_.clear();
  }

  void EndOfGroup(std::string_view name) {
    if (name == "Contents") return AddObject();
    if (name == "NextContinuationToken") Set(token_, name);
    if (name == "IsTruncated") Set(truncated_, name);
    if (name == "KeyCount") Set(count_, name);
    if (name == "EncodingType") Set(encoding_, name);
  }

  void EndOfMember(std::string_view name) {
    if (name == "Key") Set(object_.key, name);
    if (name == "Size") Set(object_.size, name);
    if (name == "ETag") Set(object_.etag, name);
    if (name == "LastModified") Set(object_.modified, name);
  }

  void Set(std::optional<std::string>& member, std::string_view name) {
    if (member) return Fail("it has two '" + std::string(name) + "'");
    member = text_;
  }

  void AddObject() {
    StoreName name;
    if (!object_.key) return Fail("an object has no key");
    const auto size = WholeNumber<uint64_t>(object_.size.value_or(""));
    if (!size || *size > INT64_MAX) return Fail("an object has no size");
    name.name = *std::move(object_.key);
    name.size = *size;
    // Takes only an ETag of printable ASCII, because it becomes a header field
    // of requests.
    const std::string etag = object_.etag.value_or("");
    if (etag.size() <= kMaxETag && std::ranges::all_of(etag, [](char c) {
          return c > ' ' && c < '\x7F';
        })) {
      name.version = etag;
    }
    name.modified_ns = TimeOf(object_.modified.value_or(""));
    page_.keys.push_back(std::move(name));
  }

  void AddPrefix() {
    StoreName name;
    name.directory = true;
    name.name = text_;
    page_.keys.push_back(std::move(name));
  }

  /// The bytes of a key, which pages encode like a query ('+': a blank).
  std::string Plain(std::string key) const {
    if (encoding_ != "url") return key;
    std::ranges::replace(key, '+', ' ');
    return Decoded(key);
  }

  Result<ListingPage> Finish() {
    // Versitygw does not encode, and reports that by an empty element.
    if (!encoding_.value_or("").empty() && encoding_ != "url") {
      return WrongPage("its keys are encoded in an unknown way");
    }
    if (count_ && WholeNumber<uint64_t>(*count_) != page_.keys.size()) {
      return WrongPage(fmt::format("it has {} names and says {}",
                                   page_.keys.size(),
                                   Secrets().Shown(*count_, 20)));
    }
    if (truncated_ != "true" && truncated_ != "false") {
      return WrongPage("it does not say whether it is the last page");
    }
    if (truncated_ == "true" && token_.value_or("").empty()) {
      return WrongPage("it has no token for its next page");
    }
    if (truncated_ == "true") page_.next = *std::move(token_);
    if (page_.next.size() > kMaxToken) {
      return WrongPage("the token for its next page is too long");
    }
    for (StoreName& name : page_.keys) {
      name.name = Plain(std::move(name.name));
      if (!name.directory) continue;
      if (!name.name.ends_with('/')) {
        return WrongPage("a prefix does not end in the delimiter");
      }
      name.name.pop_back();
    }
    return std::move(page_);
  }

  static constexpr size_t kMaxETag = 256;
  struct Object {
    std::optional<std::string> key;
    std::optional<std::string> size;
    std::optional<std::string> etag;
    std::optional<std::string> modified;
  };

  const XML_Parser parser_;
  const std::string_view root_;
  ListingPage page_;
  std::optional<Error> fault_;
  unsigned depth_ = 0;  // of the current element
  std::string group_;   // the element at depth 2
  std::string text_;    // since the last tag
  Object object_;
  std::optional<std::string> token_;
  std::optional<std::string> truncated_;
  std::optional<std::string> count_;
  std::optional<std::string> encoding_;
};

struct FreeParser {
  void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
};

Result<ListingPage> Parse(std::string_view body, std::string_view root) {
  if (body.size() > kMaxPageBytes) return WrongPage("it is too long");
  const std::unique_ptr<XML_ParserStruct, FreeParser> parser(
      XML_ParserCreate(nullptr));
  if (parser == nullptr) throw std::bad_alloc();
  return S3Reader(parser.get(), root).Read(body);
}

}  // namespace

Result<ListingPage> ParseS3Page(std::string_view body) {
  return Parse(body, kObjectsRoot);
}

std::string LikelyNextS3Page(std::string_view body) {
  constexpr std::string_view kTag = "<NextContinuationToken>";
  const size_t from = body.find(kTag);
  if (from == body.npos) return {};
  body.remove_prefix(from + kTag.size());
  const std::string_view token = body.substr(0, body.find('<'));
  const bool plain = token.size() <= kMaxToken && token.find('&') == token.npos;
  return plain ? std::string(token) : std::string();
}

Result<ListingPage> ParseBuckets(std::string_view body) {
  ListingPage page = CTXFS_TRY(Parse(body, kBucketsRoot));
  if (!std::ranges::all_of(page.keys, &StoreName::directory)) {
    return WrongPage("it has an object among its buckets");
  }
  return page;
}

}  // namespace ctxfs::remote

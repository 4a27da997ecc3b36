// SPDX-License-Identifier: Apache-2.0
#include "core/remote/stores/listing.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/testing/result.h"

namespace ctxfs::remote {
namespace {

std::string Page(const std::string& inner,
                 const std::string& truncated = "false") {
  return R"(<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
  <Name>bucket</Name><IsTruncated>)" +
         truncated + "</IsTruncated>" + inner + "</ListBucketResult>";
}

std::string Object(const std::string& key, const std::string& size = "5") {
  return "<Contents><Key>" + key +
         "</Key><LastModified>2009-10-12T17:50:30.125Z</LastModified>"
         "<ETag>&quot;fba9&quot;</ETag><Size>" +
         size + "</Size><Owner><ID>x</ID></Owner></Contents>";
}

std::string Prefix(const std::string& prefix) {
  return "<CommonPrefixes><Prefix>" + prefix + "</Prefix></CommonPrefixes>";
}

StoreName Key(const std::string& name, uint64_t size = 1) {
  StoreName key;
  key.name = name;
  key.size = size;
  return key;
}

StoreName DirectoryKey(const std::string& name) {
  StoreName key;
  key.name = name;
  key.directory = true;
  return key;
}

ListingPage PageOf(std::vector<StoreName> keys, std::string next = "") {
  return {std::move(keys), std::move(next)};
}

TEST(RemoteListing, Item30_4_TheNextTokenIsFoundWithoutParsing) {
  EXPECT_EQ(LikelyNextS3Page("<a><NextContinuationToken>t+/=</Next"), "t+/=");
  EXPECT_EQ(LikelyNextS3Page("<a><Key>NextContinuationToken</Key></a>"), "");
  EXPECT_EQ(LikelyNextS3Page("<NextContinuationToken>"), "");
  EXPECT_EQ(LikelyNextS3Page("<NextContinuationToken>a&amp;b</x>"), "");
  EXPECT_EQ(LikelyNextS3Page("<NextContinuationToken>" +
                             std::string(5000, 'a') + "<"),
            "");
}

TEST(RemoteListing, Item30_1_APageOfAStore) {
  const auto page =
      ParseS3Page(Page("<KeyCount>3</KeyCount>" + Object("m/a &amp; b") +
                       Object("m/c", "9223372036854775807") + Prefix("m/d/")));
  ASSERT_TRUE(Ok(page));
  EXPECT_EQ(page->next, "");
  ASSERT_EQ(page->keys.size(), 3U);
  EXPECT_EQ(page->keys[0].name, "m/a & b");
  EXPECT_EQ(page->keys[0].size, 5U);
  EXPECT_EQ(page->keys[0].version, "\"fba9\"");
  EXPECT_EQ(page->keys[0].modified_ns, 1255369830125000000);
  EXPECT_EQ(page->keys[1].size, uint64_t{INT64_MAX});
  EXPECT_EQ(page->keys[2].name, "m/d");
  EXPECT_TRUE(page->keys[2].directory);
}

TEST(RemoteListing, Item30_1_EncodedKeysAreDecoded) {
  const auto page =
      ParseS3Page(Page(Object("a+b%2Bc%00%C3%A4") + Prefix("%2E%2E/") +
                       "<EncodingType>url</EncodingType>"));
  ASSERT_TRUE(Ok(page));
  EXPECT_EQ(page->keys[0].name, std::string("a b+c\0\xC3\xA4", 8));
  EXPECT_EQ(page->keys[1].name, "..");
  // Otherwise they are as they stand there.
  for (const char* none : {"", "<EncodingType/>"}) {
    const auto plain = ParseS3Page(Page(Object("a+b%2B") + none));
    ASSERT_TRUE(Ok(plain));
    EXPECT_EQ(plain->keys[0].name, "a+b%2B");
  }
}

TEST(RemoteListing, Item30_7_BucketsAreListed) {
  const auto list = [](const std::string& inner) {
    return ParseBuckets(
        "<ListAllMyBucketsResult><Owner><ID>1</ID><Name>me</Name></Owner>"
        "<Buckets><Bucket><Name>models</Name><CreationDate>x</CreationDate>"
        "</Bucket><Bucket><Name>data</Name></Bucket></Buckets>" +
        inner + "</ListAllMyBucketsResult>");
  };
  const auto page = list("");
  ASSERT_TRUE(Ok(page));
  ASSERT_EQ(page->keys.size(), 2U);
  EXPECT_EQ(page->keys[0].name, "models");
  EXPECT_TRUE(page->keys[0].directory);
  EXPECT_EQ(page->keys[1].name, "data");
  EXPECT_EQ(page->next, "");
  EXPECT_TRUE(Fails(list(Object("x")), Code::kUnsupported));
  EXPECT_TRUE(Fails(ParseBuckets(Page("")), Code::kUnsupported));
  EXPECT_TRUE(
      Fails(ParseS3Page("<ListAllMyBucketsResult/>"), Code::kUnsupported));
  ListingBuilder builder("s3://");
  ASSERT_TRUE(Ok(builder.Add(*page)));
  EXPECT_NE(builder.Finish()->Find("data", true), nullptr);
}

TEST(RemoteListing, Item30_1_PagesFollowOneAnother) {
  const auto page = ParseS3Page(
      Page("<NextContinuationToken>1/x==</NextContinuationToken>", "true"));
  ASSERT_TRUE(Ok(page));
  EXPECT_EQ(page->next, "1/x==");
  // A token of the last page leads nowhere.
  EXPECT_EQ(
      ParseS3Page(Page("<NextContinuationToken>x</NextContinuationToken>"))
          ->next,
      "");
}

TEST(RemoteListing, Item30_BadInput_WrongPagesAreRefused) {
  const std::string long_text(70'000, 'x');
  for (const std::string& body : std::initializer_list<std::string>{
           Page("", "perhaps"),
           Page("", "true"),
           "<ListBucketResult></ListBucketResult>",
           "<Error><Code>AccessDenied</Code></Error>",
           Page("<KeyCount>2</KeyCount>" + Object("a")),
           Page("<KeyCount>-1</KeyCount>"),
           Page(Object("a", "-5")),
           Page(Object("a", "9223372036854775808")),
           Page(Object("a", "")),
           Page("<Contents><Size>1</Size></Contents>"),
           Page("<Contents><Key>a</Key></Contents>"),
           Page("<Contents><Key>a</Key><Key>b</Key></Contents>"),
           Page("<IsTruncated>true</IsTruncated>"),
           Page(Prefix("a")),
           Page(Prefix("")),
           Page(Object(long_text)),
           Page("<EncodingType>base64</EncodingType>"),
           Page("<NextContinuationToken>" + long_text.substr(0, 5000) +
                    "</NextContinuationToken>",
                "true"),
           "<!DOCTYPE x [<!ENTITY a \"b\">]>" + Page("").substr(39),
           Page("<a><b><c><d><e><f><g><h></h></g></f></e></d></c></b></a>")}) {
    EXPECT_TRUE(Fails(ParseS3Page(body), Code::kUnsupported)) << body;
  }
}

TEST(RemoteListing, Item30_BadInput_WhatIsNoXmlIsRefusedWithItsByte) {
  const std::string whole = Page(Object("a"));
  for (size_t n = 0; n < whole.size(); ++n) {
    EXPECT_FALSE(ParseS3Page(whole.substr(0, n))) << n;
  }
  EXPECT_TRUE(Fails(ParseS3Page("<a></b>"), Code::kUnsupported));
  EXPECT_TRUE(Fails(ParseS3Page("<ListBucketResult></b>"), Code::kCorrupt, 20));
  EXPECT_TRUE(Fails(ParseS3Page(whole + "<a/>"), Code::kCorrupt, whole.size()));
  EXPECT_TRUE(Fails(ParseS3Page(Page(Object("&unknown;"))), Code::kCorrupt));
  EXPECT_TRUE(Fails(ParseS3Page(Page(Object("\xFF"))), Code::kCorrupt));
  EXPECT_TRUE(Fails(ParseS3Page(""), Code::kCorrupt));
}

TEST(RemoteListing, Item30_1_APageOfTheHub) {
  const auto page = ParseHubPage(
      {R"([{"type":"directory","oid":"d1","size":0,"path":"data/x"},
          {"type":"file","oid":"f1","size":7,"path":"data/README.md"},
          {"type":"file","oid":"p1","size":9000,"path":"data/m.gguf",
           "lfs":{"oid":"sha","size":9000,"pointerSize":130}}])",
       "<https://evil/x?a=b>; rel=\"prev\", <https://hub/api?limit=2&"
       "cursor=ab%3D%3D&c=d>; rel=\"next\""});
  ASSERT_TRUE(Ok(page));
  EXPECT_EQ(page->next, "ab==");
  ASSERT_EQ(page->keys.size(), 3U);
  EXPECT_TRUE(page->keys[0].directory);
  EXPECT_EQ(page->keys[1].name, "data/README.md");
  EXPECT_EQ(page->keys[1].version, "f1");
  EXPECT_EQ(page->keys[2].size, 9000U);
  EXPECT_EQ(page->keys[2].version, "sha");
  for (const char* link :
       {"", "<", "<x>", "<x?cursor=1>", "<x?cursor=1>; rel=\"prev\"",
        "x?cursor=1; rel=\"next\"", "<x>; rel=\"next\""}) {
    EXPECT_EQ(ParseHubPage({"[]", link})->next, "") << link;
  }
}

TEST(RemoteListing, Item30_BadInput_WrongTreesAreRefused) {
  for (const char* body :
       {"", "{}", "[", "[1]", "[] x", "null", R"([{"type":"file"}])",
        R"([{"type":"file","path":"a"}])",
        R"([{"type":"file","path":"a","size":-1}])",
        R"([{"type":"file","path":"a","size":18446744073709551615}])",
        R"([{"type":"link","path":"a","size":1}])",
        R"([{"type":"file","path":5,"size":1}])"}) {
    EXPECT_TRUE(Fails(ParseHubPage({body, ""}), Code::kCorrupt)) << body;
  }
}

TEST(RemoteListing, Item30_1_PagesMakeAListing) {
  ListingBuilder builder("s3://bucket/m/");
  ASSERT_TRUE(
      Ok(builder.Add(PageOf({Key("m/", 0), Key("m/b"), Key("m/a")}, "t"))));
  EXPECT_EQ(builder.next(), "t");
  ASSERT_TRUE(Ok(builder.Add(PageOf(
      {Key("m/b", 9), DirectoryKey("m/b"), DirectoryKey("m/"), Key("m/z")}))));
  EXPECT_EQ(builder.next(), "");
  const auto listing = builder.Finish();
  ASSERT_EQ(listing->names.size(), 5U);
  EXPECT_EQ(listing->names[0].name, "");  // the prefix m//
  EXPECT_TRUE(listing->names[0].directory);
  EXPECT_EQ(listing->Find("b", false)->size, 1U);  // the first of its name
  EXPECT_TRUE(listing->Find("b", true)->directory);
  EXPECT_EQ(listing->Find("z", true), nullptr);
  EXPECT_EQ(listing->left_out, 0U);
}

TEST(RemoteListing, Item30_1_TheTopOfARepository) {
  ListingBuilder builder("hf://org/model@v1/");
  ASSERT_TRUE(Ok(builder.Add(PageOf({Key("a b"), DirectoryKey("d")}))));
  EXPECT_EQ(builder.Finish()->names.size(), 2U);
  ListingBuilder below("hf://org/model/a%20b/");
  EXPECT_TRUE(Ok(below.Add(PageOf({Key("a b/c")}))));
  EXPECT_TRUE(Fails(below.Add(PageOf({Key("a/c")})), Code::kUnsupported));
}

TEST(RemoteListing, Item30_BadInput_NamesThatNoUrlHasAreLeftOut) {
  ListingBuilder builder("s3://bucket/m/");
  const std::string nul("m/a\0b", 5);
  ASSERT_TRUE(Ok(builder.Add(
      PageOf({Key("m/.."), DirectoryKey("m/.."), DirectoryKey("m/."), Key(nul),
              Key("m/x\ny"), Key("m/" + std::string(4096, 'x')), Key("m/", 7),
              Key("m/k?versionId=v"), Key("m/%2e%2e"), Key("m/good"),
              Key("m/..good")}))));
  const auto listing = builder.Finish();
  ASSERT_EQ(listing->names.size(), 2U);
  EXPECT_EQ(listing->left_out, 9U);
  EXPECT_EQ(listing->first_left_out, "..");
}

TEST(RemoteListing, Item30_BadInput_KeysOfOtherDirectoriesAreAnError) {
  for (const char* key : {"n/a", "m", "", "m/a/b", "/m/a"}) {
    ListingBuilder builder("s3://bucket/m/");
    EXPECT_TRUE(Fails(builder.Add(PageOf({Key(key)})), Code::kUnsupported))
        << key;
  }
}

TEST(RemoteListing, Item30_BadInput_EndlessPagesEnd) {
  ListingBuilder same("s3://bucket/m/");
  ASSERT_TRUE(Ok(same.Add(PageOf({Key("m/a")}, "t"))));
  EXPECT_TRUE(Fails(same.Add(PageOf({Key("m/b")}, "t")), Code::kUnsupported));
  ListingBuilder empty("s3://bucket/m/");
  Status added;
  unsigned pages = 0;
  while (added && pages < 1000) {
    added = empty.Add(PageOf({}, std::to_string(++pages)));
  }
  EXPECT_TRUE(Fails(added, Code::kUnsupported));
  EXPECT_EQ(pages, 101U);
  ListingBuilder slow("s3://bucket/m/");
  added = {};
  for (pages = 0; added && pages < 100'000;) {
    const std::string number = std::to_string(++pages);
    added = slow.Add(PageOf({Key("m/" + number)}, number));
  }
  EXPECT_TRUE(Fails(added, Code::kUnsupported));
  EXPECT_EQ(pages, 10'000U);
}

TEST(RemoteListing, Item41_15_ATokenThatWasSeenBeforeIsAnError) {
  for (const unsigned length : {1U, 2U, 3U, 1000U}) {
    ListingBuilder builder("s3://bucket/m/");
    Status added;
    unsigned pages = 0;
    while (added && pages < 5000) {
      const std::string token = std::to_string(pages % length);
      added = builder.Add(
          PageOf({Key("m/" + std::to_string(pages++))}, "t" + token));
    }
    EXPECT_TRUE(Fails(added, Code::kUnsupported));
    EXPECT_EQ(pages, length + 1);
  }
}

TEST(RemoteListing, Item41_15_MessagesAboutKeysShowNoCredential) {
  ListingBuilder builder("s3://bucket/m/");
  const Status added = builder.Add(PageOf({Key("Authorization: Bearer hf_1")}));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().what.find("hf_1"), std::string::npos);
  const auto tree =
      ParseHubPage({"[{\"a\": \"Authorization: Bearer hf_1\n", ""});
  ASSERT_FALSE(tree);
  EXPECT_NE(tree.error().what.find("Authorization: ***"), std::string::npos);
}

TEST(RemoteListing, Item30_BadInput_AListingHasABound) {
  ListingBuilder builder("s3://bucket/m/");
  Status added;
  unsigned pages = 0;
  while (added && pages < 2000) {
    std::vector<StoreName> keys;
    for (unsigned i = 0; i < 1000; ++i) {
      keys.push_back(Key("m/" + std::to_string(pages * 1000 + i)));
    }
    added = builder.Add(PageOf(std::move(keys), std::to_string(++pages)));
  }
  EXPECT_TRUE(Fails(added, Code::kLimit));
  EXPECT_EQ(pages, 1001U);
}

TEST(RemoteListing, TimesOfOtherFormsAreNone) {
  EXPECT_EQ(TimeOf("2023-01-02T03:04:05Z"), 1672628645000000000);
  for (const char* text :
       {"", "2023", "2023-01-02T03:04:05", "x", "2023-01-02T03:04:05.Z more",
        "9999-01-02T03:04:05Z"}) {
    EXPECT_EQ(TimeOf(text), 0) << text;
  }
}

}  // namespace
}  // namespace ctxfs::remote

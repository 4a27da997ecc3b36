// SPDX-License-Identifier: Apache-2.0
#include "core/remote/stores/url.h"

#include <gtest/gtest.h>

#include <string>

#include "core/io/urls/url.h"
#include "tests/unit/testing/result.h"

namespace ctxfs::remote {
namespace {

const Endpoints kStore{.s3 = "http://127.0.0.1:9000/",
                       .hub = "http://hub.example/"};

std::string UrlOf(const std::string& url, const Endpoints& endpoints = {}) {
  const Result<Location> location = Locate(url, endpoints);
  return location ? location->url : "refused: " + location.error().what;
}

TEST(RemoteUrl, Item30_1_WebAddressesStayAsTheyAre) {
  for (const std::string url :
       {"http://h/a", "https://h:8443/a/b.npz", "https://h/a?x=1&y=%2F",
        "https://[::1]:80/a", "https://h/a%20b"}) {
    EXPECT_EQ(UrlOf(url), url);
  }
  EXPECT_EQ(UrlOf("https://h/a b"), "https://h/a%20b");
  EXPECT_EQ(UrlOf("https://h/\xC3\xA4#part"), "https://h/%C3%A4");
  EXPECT_EQ(Locate("https://h:1/a", {})->host, "h");
  EXPECT_EQ(Locate("https://[::1]:80/a", {})->host, "[::1]");
}

TEST(RemoteUrl, Item30_1_BucketsOfAwsAreHosts) {
  EXPECT_EQ(UrlOf("s3://models/a/b c.gguf", {.s3 = "", .region = "eu-west-1"}),
            "https://models.s3.eu-west-1.amazonaws.com/a/b%20c.gguf");
  EXPECT_EQ(UrlOf("s3://my.models/a"),
            "https://s3.us-east-1.amazonaws.com/my.models/a");
}

TEST(RemoteUrl, Item30_1_BucketsOfOtherStoresArePaths) {
  EXPECT_EQ(UrlOf("s3://models/a//b?c=d%2Fe#f", kStore),
            "http://127.0.0.1:9000/models/a//b%3Fc%3Dd%252Fe%23f");
  EXPECT_EQ(Locate("s3://models/a", kStore)->service, Service::kS3);
}

TEST(RemoteUrl, Item30_1_BucketsCanBeInFrontOfTheHostOrInThePath) {
  Endpoints store = kStore;
  store.addressing = Addressing::kVirtual;
  EXPECT_EQ(UrlOf("s3://models/a", store), "http://models.127.0.0.1:9000/a");
  store.s3 = "https://store.example/base/";
  EXPECT_EQ(UrlOf("s3://my.models/a", store),
            "https://my.models.store.example/base/a");
  EXPECT_EQ(LocatePage("s3://models/", "", store)
                ->url.find("https://models.store.example/base/?"),
            0U);
  EXPECT_EQ(LocatePage(kBuckets, "", store)->url,
            "https://store.example/base/");
  Endpoints aws;
  aws.addressing = Addressing::kPath;
  EXPECT_EQ(UrlOf("s3://models/a", aws),
            "https://s3.us-east-1.amazonaws.com/models/a");
}

TEST(RemoteUrl, Item30_1_TheHubHasRevisions) {
  EXPECT_EQ(UrlOf("hf://org/model/a/b.gguf"),
            "https://huggingface.co/org/model/resolve/main/a/b.gguf");
  EXPECT_EQ(UrlOf("hf://org/model@refs%2Fpr%2F1/b", kStore),
            "http://hub.example/org/model/resolve/refs%2Fpr%2F1/b");
  EXPECT_EQ(UrlOf("hf://datasets/org/name@v1/b", kStore),
            "http://hub.example/datasets/org/name/resolve/v1/b");
  EXPECT_EQ(Locate("hf://org/model/a", {})->service, Service::kHub);
}

TEST(RemoteUrl, Item30_BadInput_HostileUrlsAreRefused) {
  const std::string nul("https://h/a\0b", 13);
  for (const std::string& url : std::initializer_list<std::string>{
           "",
           "h/a",
           "ftp://h/a",
           "file:///etc/passwd",
           "https://",
           "https:///a",
           "https://h",
           "https://h/",
           "https://h?x/a",
           "https://u:p@h/a",
           "https://h\\@x/a",
           "https://h:/a",
           "https://h:1234567/a",
           "https://h:x/a",
           "https://[::1/a",
           "https://h/../a",
           "https://h/a/%2e%2E",
           "https://h/./a",
           "https://h/a\r\nHost: x",
           nul,
           "https://h" + std::string(300, 'h') + "/a",
           "https://h/" + std::string(9000, 'a'),
           "s3://",
           "s3://b",
           "s3://ab/k",
           "s3://bucket",
           "s3://bucket/",
           "s3://bucket/dir/",
           "s3://buck et/k",
           "s3://-bucket/k",
           "s3://bucket/../k",
           "s3://bucket/" + std::string(1025, 'k'),
           "hf://",
           "hf://org",
           "hf://org/model",
           "hf://org/model/",
           "hf:///model/a",
           "hf://org//a",
           "hf://org/model@/a",
           "hf://org/model/../../x/y/a"}) {
    EXPECT_TRUE(Fails(Locate(url, {}), Code::kNotFound)) << url;
  }
}

TEST(RemoteUrl, Item30_BadInput_MessagesHaveNoPassword) {
  const Result<Location> location = Locate("https://me:secret@h/a", {});
  ASSERT_FALSE(location);
  EXPECT_EQ(location.error().what.find("secret"), std::string::npos);
}

TEST(RemoteUrl, Item30_1_FilesBesideStayInTheirDirectory) {
  EXPECT_EQ(*UrlBeside("https://h/d/a.json?sig=1", "b c"), "https://h/d/b%20c");
  EXPECT_EQ(*UrlBeside("s3://b/d/a.json", "e/b c"), "s3://b/d/e/b c");
  for (const char* path :
       {"", "/etc/passwd", "../x", "a/../../x", "%2e%2e/x"}) {
    EXPECT_TRUE(Fails(UrlBeside("https://h/d/a", path), Code::kCorrupt))
        << path;
  }
}

TEST(RemoteUrl, Item30_2_AVersionIsPartOfAnS3Url) {
  EXPECT_EQ(UrlOf("s3://models/a b?versionId=x+/9=", kStore),
            "http://127.0.0.1:9000/models/a%20b?versionId=x%2B%2F9%3D");
  EXPECT_EQ(NameOf("s3://b/d/a?b?versionId=3"), "a?b");
  EXPECT_EQ(*UrlBeside("s3://b/d/a?versionId=3", "c"), "s3://b/d/c");
  EXPECT_EQ(WithoutVersion("s3://b/d/a?versionId=3"), "s3://b/d/a");
  EXPECT_TRUE(Fails(Locate("s3://b/a?versionId=", kStore), Code::kNotFound));
  EXPECT_TRUE(Fails(Locate("s3://b/d/?versionId=1", kStore), Code::kNotFound));
}

TEST(RemoteUrl, Item30_1_DirectoriesOfStores) {
  for (const char* url : {"s3://b", "s3://b/", "s3://b/d/", "hf://o/m",
                          "hf://o/m@v", "hf://o/m/d/", "hf://datasets/o/n"}) {
    EXPECT_TRUE(IsDirectoryUrl(url)) << url;
  }
  for (const char* url : {"s3://b/d", "hf://o/m/d", "hf://o", "http://h/d/",
                          "hf://datasets/o/n/f"}) {
    EXPECT_FALSE(IsDirectoryUrl(url)) << url;
  }
  EXPECT_EQ(UrlIn("s3://b/d/", "a b%", false), "s3://b/d/a b%");
  EXPECT_EQ(UrlIn("s3://b/d/", "", true), "s3://b/d//");
  EXPECT_EQ(UrlIn("hf://o/m/", "a b%", true), "hf://o/m/a%20b%25/");
  EXPECT_EQ(PathOfDirectory("s3://b/d/e/"), "d/e/");
  EXPECT_EQ(PathOfDirectory("s3://b/"), "");
  EXPECT_EQ(PathOfDirectory("s3://"), "");
  EXPECT_EQ(PathOfDirectory("hf://datasets/o/n@v/a%20b/"), "a b/");
}

TEST(RemoteUrl, Item30_BadInput_NamesThatNoUrlHasAreTold) {
  const std::string nul("a\0b", 3);
  for (const char* name : {"a", "a.b-c_d", "...", "..a", "a b", "a%", "\xFF"}) {
    EXPECT_TRUE(Ok(CheckName("s3://bucket/d/", name, false))) << name;
    EXPECT_TRUE(Ok(CheckName("s3://bucket/d/", name, true))) << name;
  }
  for (const std::string& name :
       {std::string("."), std::string(".."), nul, std::string("%2e."),
        std::string("a?versionId=1"), std::string(1023, 'x')}) {
    EXPECT_FALSE(CheckName("s3://bucket/d/", name, false)) << name;
  }
  EXPECT_TRUE(Ok(CheckName("s3://bucket/d/", std::string(1022, 'x'), false)));
  // An empty one is that of the prefix d//, and of no object.
  EXPECT_TRUE(Ok(CheckName("s3://bucket/d/", "", true)));
  EXPECT_FALSE(CheckName("s3://bucket/d/", "", false));
}

std::string PageUrl(const std::string& url, const std::string& token,
                    const Endpoints& endpoints) {
  const Result<Location> location = LocatePage(url, token, endpoints);
  return location ? location->url : "refused: " + location.error().what;
}

TEST(RemoteUrl, Item30_1_PagesOfListings) {
  const std::string common =
      "delimiter=%2F&encoding-type=url&list-type=2&max-keys=1000&prefix=";
  EXPECT_EQ(PageUrl("s3://models/a b/", "", kStore),
            "http://127.0.0.1:9000/models?" + common + "a%20b%2F");
  EXPECT_EQ(PageUrl("s3://models/", "t/+=", {}),
            "https://models.s3.us-east-1.amazonaws.com/"
            "?continuation-token=t%2F%2B%3D&" +
                common);
  EXPECT_EQ(PageUrl("s3://my.models/", "", {}),
            "https://s3.us-east-1.amazonaws.com/my.models?" + common);
  EXPECT_EQ(PageUrl("s3://", "", kStore), "http://127.0.0.1:9000/");
  EXPECT_EQ(PageUrl("s3://", "", {}), "https://s3.us-east-1.amazonaws.com/");
  EXPECT_EQ(PageUrl("hf://o/m@refs%2Fpr%2F1/a%20b/", "c=", kStore),
            "http://hub.example/api/models/o/m/tree/refs%2Fpr%2F1/a%20b"
            "?recursive=false&cursor=c%3D");
  EXPECT_EQ(PageUrl("hf://datasets/o/n/", "", kStore),
            "http://hub.example/api/datasets/o/n/tree/main?recursive=false");
  EXPECT_EQ(LocatePage("s3://models/", "", kStore)->service, Service::kS3);
  EXPECT_EQ(LocatePage("hf://o/m/", "", kStore)->service, Service::kHub);
  EXPECT_EQ(LocatePage(kBuckets, "", kStore)->service, Service::kS3);
  for (const char* url : {"http://h/d/", "s3://b/../", "s3:///", "hf://o/"}) {
    EXPECT_TRUE(Fails(LocatePage(url, "", kStore), Code::kNotFound)) << url;
  }
  EXPECT_TRUE(Fails(LocatePage("s3://bucket/", std::string(8192, 'x'), kStore),
                    Code::kNotFound));
}

TEST(RemoteUrl, Item30_1_NamesAreDecoded) {
  EXPECT_EQ(NameOf("https://h/d/a%20b.npz?x=/y"), "a b.npz");
  EXPECT_EQ(NameOf("s3://b/d/a?b"), "a?b");
}

TEST(RemoteUrl, Item30_6_QueriesAreNotShown) {
  EXPECT_EQ(WithoutQuery("https://h/a?X-Amz-Signature=1"), "https://h/a");
  EXPECT_EQ(WithoutQuery("dir/a?b"), "dir/a?b");
}

}  // namespace
}  // namespace ctxfs::remote

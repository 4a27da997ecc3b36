// SPDX-License-Identifier: Apache-2.0
#include "core/remote/client/messages.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

namespace ctxfs::remote {
namespace {

FetchRequest SomeRequest() {
  FetchRequest request;
  request.id = 7;
  request.epoch = 2;
  request.url = "s3://b/k";
  request.identity = Identity{"\"e\"", "date", 5 * kGranuleBytes + 1};
  request.first = 3;
  request.slots = {9, 1023, 0};
  return request;
}

TEST(RemoteMessages, Item30_3_RequestsComeBack) {
  const auto decoded = DecodeRequest(Encode(SomeRequest()));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->id, 7U);
  EXPECT_EQ(decoded->epoch, 2U);
  EXPECT_EQ(decoded->url, "s3://b/k");
  EXPECT_EQ(decoded->identity, SomeRequest().identity);
  EXPECT_EQ(decoded->first, 3U);
  EXPECT_EQ(decoded->slots, SomeRequest().slots);
}

TEST(RemoteMessages, Item44_3_OnlyAFlushHasNoSlots) {
  FetchRequest request;
  request.flush = true;
  const auto decoded = DecodeRequest(Encode(request));
  ASSERT_TRUE(decoded);
  EXPECT_TRUE(decoded->flush);
  request.flush = false;
  EXPECT_FALSE(DecodeRequest(Encode(request)));
  request.flush = true;
  request.slots = {1};
  EXPECT_FALSE(DecodeRequest(Encode(request)));
}

TEST(RemoteMessages, Item30_4_RequestsForTailsComeBack) {
  FetchRequest request;
  request.url = "https://host/a.zip";
  request.tail = true;
  request.slots = {4, 5};
  const auto decoded = DecodeRequest(Encode(request));
  ASSERT_TRUE(decoded);
  EXPECT_TRUE(decoded->tail);
  EXPECT_EQ(decoded->slots, request.slots);
  request.slots = {4};
  EXPECT_FALSE(DecodeRequest(Encode(request)));
  request.slots = {4, 5};
  request.identity = Identity{"\"e\"", "", 5};
  EXPECT_FALSE(DecodeRequest(Encode(request)));
}

TEST(RemoteMessages, Item30_4_ATailHasWholeGranules) {
  constexpr uint64_t kOne = kGranuleBytes;
  const std::vector<std::pair<uint64_t, uint64_t>> firsts = {{0, 0},
                                                             {1, 0},
                                                             {2 * kOne, 0},
                                                             {2 * kOne + 1, 1},
                                                             {3 * kOne - 1, 1},
                                                             {3 * kOne, 1},
                                                             {3 * kOne + 1, 2}};
  for (const auto& [size, first] : firsts) {
    EXPECT_EQ(FirstOfTail(size), first) << size;
    EXPECT_LE(Granules(size) - first, kTailGranules) << size;
  }
}

TEST(RemoteMessages, Item30_3_RepliesComeBack) {
  FetchReply reply;
  reply.id = 7;
  reply.error = Error{Code::kStale, "gone"};
  reply.error->sys_errno = EACCES;
  reply.identity = {"e", "d", 3};
  reply.last_modified = "date";
  reply.received = UINT64_MAX;
  reply.took_us = {1, UINT32_MAX};
  reply.timeout_ms = 3'600'000;
  reply.first_us = 20'000;
  reply.skipped = 3;
  const auto decoded = DecodeReply(Encode(reply));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->error->code, Code::kStale);
  EXPECT_EQ(decoded->error->what, "gone");
  EXPECT_EQ(decoded->error->sys_errno, EACCES);
  EXPECT_EQ(decoded->identity, reply.identity);
  EXPECT_EQ(decoded->received, UINT64_MAX);
  EXPECT_EQ(decoded->took_us, reply.took_us);
  EXPECT_EQ(decoded->timeout_ms, reply.timeout_ms);
  EXPECT_EQ(decoded->first_us, 20'000U);
  EXPECT_EQ(decoded->skipped, 3U);
}

TEST(RemoteMessages, Item30_3_PagesOfListingsComeBack) {
  FetchRequest request;
  request.url = "s3://b/d/";
  request.page = "token";
  request.slots.assign(kPageGranules, 5);
  const auto decoded = DecodeRequest(Encode(request));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->page, "token");
  EXPECT_EQ(decoded->slots.size(), kPageGranules);
  request.slots.push_back(5);
  EXPECT_FALSE(DecodeRequest(Encode(request)));
  request.slots.resize(kMaxGranules + 1);
  request.page.reset();
  EXPECT_FALSE(DecodeRequest(Encode(request)));
  request = SomeRequest();
  request.page = "";
  EXPECT_FALSE(DecodeRequest(Encode(request)));
  FetchReply reply;
  reply.page_bytes = 77;
  reply.link = "<x>";
  EXPECT_EQ(DecodeReply(Encode(reply))->page_bytes, 77U);
  EXPECT_EQ(DecodeReply(Encode(reply))->link, "<x>");
}

TEST(RemoteMessages, Item30_5_FilesOfTheCacheComeBack) {
  FetchReply reply;
  reply.digest = std::string(32, 'd');
  reply.files.assign(8, {UINT64_MAX, 64});
  const auto decoded = DecodeReply(Encode(reply));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->digest, reply.digest);
  ASSERT_EQ(decoded->files.size(), 8U);
  EXPECT_EQ(decoded->files[7].first, UINT64_MAX);
  EXPECT_EQ(decoded->files[7].count, 64U);
  for (const uint32_t count : {0U, 65U}) {
    reply.files[0].count = count;
    EXPECT_FALSE(DecodeReply(Encode(reply))) << count;
  }
  reply.files.assign(9, {0, 1});
  EXPECT_FALSE(DecodeReply(Encode(reply)));
  FetchRequest request = SomeRequest();
  EXPECT_FALSE(DecodeRequest(Encode(request))->takes_files);
  request.takes_files = true;
  EXPECT_TRUE(DecodeRequest(Encode(request))->takes_files);
}

TEST(RemoteMessages, Item30_BadInput_CutOnesAreRefused) {
  const std::string request = Encode(SomeRequest());
  const std::string reply = Encode(FetchReply{});
  for (size_t n = 0; n < request.size(); ++n) {
    EXPECT_FALSE(DecodeRequest(request.substr(0, n))) << n;
  }
  for (size_t n = 0; n < reply.size(); ++n) {
    EXPECT_FALSE(DecodeReply(reply.substr(0, n))) << n;
  }
  EXPECT_FALSE(DecodeRequest(request + "x"));
}

TEST(RemoteMessages, Item30_BadInput_GranulesLieInTheObject) {
  FetchRequest request = SomeRequest();
  request.first = 4;  // of 6
  EXPECT_FALSE(DecodeRequest(Encode(request)));
  request.first = UINT64_MAX;
  EXPECT_FALSE(DecodeRequest(Encode(request)));
  request = SomeRequest();
  request.slots.clear();
  EXPECT_FALSE(DecodeRequest(Encode(request)));
  request.slots.assign(kMaxGranules + 1, 0);
  EXPECT_FALSE(DecodeRequest(Encode(request)));
}

}  // namespace
}  // namespace ctxfs::remote

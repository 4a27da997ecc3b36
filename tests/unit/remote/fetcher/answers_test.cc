// SPDX-License-Identifier: Apache-2.0
#include "core/remote/fetcher/answers.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/testing/temp_dir.h"

namespace ctxfs::remote {
namespace {

TEST(RemoteAnswers, Item30_6_TheLastAnswerOfEachServerIsKept) {
  const TempDir dir;
  const auto cache = *BlockStore::Open(dir.Path("cache"), 1 << 20);
  FetchReply reply;
  reply.id = 7;
  reply.requests = 2;
  reply.identity = {"\"etag\"", "", 42};
  reply.last_modified = "date";
  cache->WriteRecord(AnswerKey("http://a/x"), AnswerRecord(reply));
  const auto last = LastAnswer(*cache, "http://a/x");
  ASSERT_TRUE(last);
  EXPECT_EQ(last->identity, reply.identity);
  EXPECT_EQ(last->last_modified, "date");
  EXPECT_EQ(last->requests, 0U) << "what it took says nothing of the object";
  EXPECT_FALSE(LastAnswer(*cache, "http://b/x"));
  reply.error = Error{Code::kIo, "no such object", kNoOffset, ENOENT};
  cache->WriteRecord(AnswerKey("http://a/x"), AnswerRecord(reply));
  const auto gone = LastAnswer(*cache, "http://a/x");
  ASSERT_TRUE(gone && gone->error);
  EXPECT_EQ(gone->error->sys_errno, ENOENT);
  EXPECT_EQ(gone->error->what, "no such object");
  cache->WriteRecord(AnswerKey("http://a/x"), "not a reply");
  EXPECT_FALSE(LastAnswer(*cache, "http://a/x"));
}

TEST(RemoteAnswers, Item30_6_AnIdentityOfAPageChangesWithItsBytes) {
  const std::string a = "one";
  const std::string b = "two";
  const Identity whole = IdentityOfPage({AsBytes(a), AsBytes(b)});
  const std::string both = a + b;
  EXPECT_EQ(whole, IdentityOfPage({AsBytes(both)}));
  EXPECT_EQ(whole.size, 6U);
  EXPECT_NE(whole.etag, IdentityOfPage({AsBytes(b), AsBytes(a)}).etag);
}

}  // namespace
}  // namespace ctxfs::remote

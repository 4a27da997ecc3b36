// SPDX-License-Identifier: Apache-2.0
#include "core/remote/fetcher/aws_metadata.h"

#include <gtest/gtest.h>

namespace ctxfs::remote {
namespace {

TEST(AwsMetadata, Item30_1_AnswersHaveKeysAndTheTimeOfTheirEnd) {
  const Result<ExpiringKeys> found =
      MetadataKeysIn(R"({"AccessKeyId":"A","SecretAccessKey":"S","Token":"T",)"
                     R"("Expiration":"2023-01-02T03:04:05Z"})");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->keys.access_key, "A");
  EXPECT_EQ(found->keys.secret_key, "S");
  EXPECT_EQ(found->keys.session_token, "T");
  EXPECT_EQ(found->expires_ns, 1672628645000000000);
}

TEST(AwsMetadata, Item30_BadInput_WrongAnswersAreErrors) {
  for (const char* body :
       {"", "<html>", "[]", R"({"Code":"Failed"})",
        R"({"AccessKeyId":"A","SecretAccessKey":"S","Token":"T"})",
        R"({"AccessKeyId":"A","Expiration":"2023-01-02T03:04:05Z"})",
        R"({"AccessKeyId":1,"SecretAccessKey":"S","Expiration":"soon"})"}) {
    const Result<ExpiringKeys> found = MetadataKeysIn(body);
    ASSERT_FALSE(found) << body;
    EXPECT_EQ(found.error().code, Code::kIo) << body;
  }
}

TEST(AwsMetadata, Item41_15_KeysThatEndALineOfAHeadAreNone) {
  for (const char* const token : {"t\\r\\nX-Inject: 1", "t\\u0000", "t\\n"}) {
    const auto keys = MetadataKeysIn(
        std::string(
            R"({"AccessKeyId": "a", "SecretAccessKey": "s", "Token": ")") +
        token + R"(", "Expiration": "2038-01-01T00:00:00Z"})");
    EXPECT_FALSE(keys) << token;
  }
}

}  // namespace
}  // namespace ctxfs::remote

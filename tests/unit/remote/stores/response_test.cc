// SPDX-License-Identifier: Apache-2.0
#include "core/remote/stores/response.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "tests/unit/testing/result.h"

namespace ctxfs::remote {
namespace {

ResponseHead Head(const std::vector<std::string>& lines) {
  ResponseHead head;
  for (const std::string& line : lines) head.Add(line + "\r\n");
  return head;
}

ResponseHead Partial(const std::string& range,
                     const std::string& more = "ETag: \"e\"") {
  return Head(
      {"HTTP/1.1 206 Partial Content", "Content-Range: " + range, more});
}

const Asked kOpening{0, 100, std::nullopt};
const Asked kLater{200, 100, Identity{"\"e\"", "", 250}};

TEST(RemoteResponse, Item30_2_ARangeIsWhatWasAskedFor) {
  const Result<Promise> opened = CheckHead(Partial("bytes 0-99/250"), kOpening);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->length, 100U);
  EXPECT_EQ(opened->identity, (Identity{"\"e\"", "", 250}));
  const Result<Promise> last = CheckHead(Partial("bytes 200-249/250"), kLater);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->length, 50U);
  EXPECT_EQ(CheckHead(Partial("bytes 0-9/10"), kOpening)->length, 10U);
}

TEST(RemoteResponse, Item30_4_ATailIsTheLastBytes) {
  Asked asked{0, 100, std::nullopt};
  asked.tail = true;
  const Result<Promise> last = CheckHead(Partial("bytes 150-249/250"), asked);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->length, 100U);
  EXPECT_EQ(last->identity.size, 250U);
  EXPECT_EQ(CheckHead(Partial("bytes 0-9/10"), asked)->length, 10U);
  for (const char* const other :
       {"bytes 0-99/250", "bytes 151-249/250", "bytes 150-248/250"}) {
    EXPECT_TRUE(Fails(CheckHead(Partial(other), asked), Code::kUnsupported))
        << other;
  }
}

TEST(RemoteResponse, Item30_1_APageIsAWholeBody) {
  Asked asked{0, 4096, std::nullopt, true};
  const ResponseHead head =
      Head({"HTTP/1.1 200 OK", "Link: <http://h/x?cursor=1>; rel=\"next\""});
  EXPECT_EQ(CheckHead(head, asked)->length, 4096U);
  EXPECT_EQ(head.link, "<http://h/x?cursor=1>; rel=\"next\"");
  EXPECT_TRUE(Fails(
      CheckHead(Head({"HTTP/1.1 200 OK", "Content-Encoding: gzip"}), asked),
      Code::kUnsupported));
  const auto missing = CheckHead(Head({"HTTP/1.1 404 Not Found"}), asked);
  ASSERT_TRUE(Fails(missing, Code::kIo));
  EXPECT_EQ(missing.error().sys_errno, ENOENT);
  EXPECT_FALSE(CheckHead(Partial("bytes 0-99/250"), asked));
}

TEST(RemoteResponse, Item30_2_ADateStandsForAMissingETag) {
  const std::string date = "Mon, 02 Jan 2023 03:04:05 GMT";
  const auto opened =
      CheckHead(Partial("bytes 0-99/250", "Last-Modified: " + date), kOpening);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->identity, (Identity{"", date, 250}));
  EXPECT_EQ(DateOf(date), 1672628645000000000);
  EXPECT_EQ(DateOf("yesterday"), 0);
}

TEST(RemoteResponse, Item30_2_AnotherObjectIsStale) {
  for (const ResponseHead& head :
       {Partial("bytes 200-249/250", "ETag: \"f\""),
        Partial("bytes 200-250/251"), Partial("bytes 200-249/250", "X: y"),
        Head({"HTTP/1.1 412 Precondition Failed"}),
        Head({"HTTP/1.1 404 Not Found"}),
        Head({"HTTP/1.1 416 Range", "Content-Range: bytes */100"}),
        Head({"HTTP/1.1 200 OK", "Content-Length: 0"})}) {
    EXPECT_TRUE(Fails(CheckHead(head, kLater), Code::kStale));
  }
}

TEST(RemoteResponse, Item30_BadInput_LiesAreSeen) {
  const std::string etag = "ETag: \"e\"";
  for (const ResponseHead& head :
       {Head({"HTTP/1.1 200 OK", "Content-Length: 250", etag}),
        Head({"HTTP/1.1 206 x", etag}), Partial("bytes 1-100/250"),
        Partial("bytes 0-98/250"), Partial("bytes 0-100/250"),
        Partial("bytes 0-99/*"), Partial("bytes 99-0/250"),
        Partial("bytes 0-99/50"), Partial("bytes 0-99/18446744073709551615"),
        Partial("bytes 0-99/99999999999999999999"), Partial("bytes -1-98/250"),
        Partial("octets 0-99/250"), Partial(""),
        Partial("bytes 0-99/250, bytes 0-99/250"),
        Partial("bytes 0-99/250", "X: y"),
        Head({"HTTP/1.1 206 x", "Content-Range: bytes 0-99/250", etag,
              "Content-Encoding: gzip"}),
        Head({"HTTP/1.1 206 x", "Content-Range: bytes 0-99/250", etag,
              "Content-Length: 99"})}) {
    EXPECT_TRUE(Fails(CheckHead(head, kOpening), Code::kUnsupported));
  }
}

TEST(RemoteResponse, Item30_6_StatusesHaveTheirErrors) {
  const auto error = [](int status) {
    return CheckHead(Head({"HTTP/1.1 " + std::to_string(status) + " x"}),
                     kOpening)
        .error();
  };
  EXPECT_EQ(error(401).sys_errno, EACCES);
  EXPECT_EQ(error(403).sys_errno, EACCES);
  EXPECT_EQ(error(404).sys_errno, ENOENT);
  for (const int status : {408, 429, 500, 503}) {
    EXPECT_EQ(error(status).sys_errno, EAGAIN) << status;
  }
  EXPECT_EQ(error(400).sys_errno, 0);
  EXPECT_EQ(error(0).code, Code::kIo);
}

TEST(RemoteResponse, Item30_1_AnEmptyObjectCanBeOpened) {
  for (const ResponseHead& head :
       {Head({"HTTP/1.1 200 OK", "Content-Length: 0"}),
        Head({"HTTP/1.1 416 Range", "Content-Range: bytes */0"})}) {
    const Result<Promise> opened = CheckHead(head, kOpening);
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->identity.size, 0U);
  }
}

TEST(RemoteResponse, Item30_6_ARedirectBeginsANewHead) {
  const ResponseHead head =
      Head({"HTTP/1.1 302 Found", "ETag: \"old\"", "HTTP/2 206",
            "content-range: bytes 0-99/250", "etag:  \"e\" "});
  EXPECT_EQ(head.etag, "\"e\"");
  EXPECT_EQ(head.status, 206);
  ResponseHead longer = head;
  longer.Add("ETag: " + std::string(3000, 'x'));
  EXPECT_EQ(longer.etag, "\"e\"");
}

TEST(RemoteResponse, Item30_6_RetryAfterIsANumberOrADate) {
  EXPECT_EQ(RetryAfter("7", 0), 7U);
  EXPECT_EQ(RetryAfter("Thu, 01 Jan 1970 00:01:40 GMT", 40), 60U);
  EXPECT_EQ(RetryAfter("Thu, 01 Jan 1970 00:01:40 GMT", 400), 0U);
  EXPECT_EQ(RetryAfter("soon", 0), std::nullopt);
}

TEST(RemoteResponse, Item30_6_S3ExplainsItself) {
  EXPECT_EQ(
      Explanation({}, "<Error><Code>NoSuchKey</Code><Message>no\n</Message>"),
      ": NoSuchKey: no\\x0a");
  EXPECT_EQ(Explanation({}, "<html>"), "");
  EXPECT_EQ(Explanation({}, "<Code>"), "");
}

TEST(RemoteResponse, Item30_6_TheHubExplainsItselfInTheHead) {
  ResponseHead head;
  head.Add("HTTP/1.1 403 Forbidden\r\n");
  head.Add("X-Error-Message: Access is restricted\x01\r\n");
  EXPECT_EQ(Explanation(head, "<html>"), ": Access is restricted\\x01");
  EXPECT_EQ(Explanation(head, "<Code>NoSuchKey</Code>"), ": NoSuchKey");
}

TEST(RemoteResponse, Item41_15_AnETagThatEndsALineIsNotSent) {
  const auto strong = [](const std::string& etag) {
    return Identity{etag, "", 1}.strong();
  };
  EXPECT_TRUE(strong("\"a-1_\xC3\xA9\""));
  EXPECT_TRUE(strong("\"\""));
  for (const char* const etag :
       {"\"a\rX-Inject: 1\"", "\"a\n\"", "\"a\x7F\"", "\"a\", \"b\"", "\"",
        "\"a", "a", "", "W/\"a\"", "\"a b\"", "\"\t\""}) {
    EXPECT_FALSE(strong(etag)) << etag;
  }
}

TEST(RemoteResponse, Item41_15_MessagesShowNoSecretOfTheHead) {
  Secrets secrets;
  secrets.Add("hf_SuPeR");
  const std::vector<std::string> heads[] = {
      {"HTTP/1.1 206 P", "ETag: \"e\"", "Content-Range: hf_SuPeR"},
      {"HTTP/1.1 206 P", "ETag: \"e\"", "Content-Encoding: hf_SuPeR"},
      {"HTTP/1.1 301 M", "x-amz-bucket-region: hf_SuPeR"}};
  for (const auto& lines : heads) {
    ResponseHead head;
    for (const std::string& line : lines) head.Add(line);
    const Result<Promise> promise = CheckHead(head, kOpening, secrets);
    ASSERT_FALSE(promise);
    EXPECT_EQ(promise.error().what.find("SuPeR"), std::string::npos);
    EXPECT_NE(promise.error().what.find("***"), std::string::npos);
  }
  ResponseHead head;
  head.explanation = "Authorization: Bearer hf_SuPeR";
  EXPECT_EQ(Explanation(head, "", secrets), ": Authorization: ***");
  EXPECT_EQ(
      Explanation({}, "<Code>No</Code><Message>hf_SuPeR?</Message>", secrets),
      ": No: ***?");
}

}  // namespace
}  // namespace ctxfs::remote

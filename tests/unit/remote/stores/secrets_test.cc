// SPDX-License-Identifier: Apache-2.0
#include "core/remote/stores/secrets.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/text/text.h"
#include "core/remote/stores/percent.h"

namespace ctxfs::remote {
namespace {

const std::string kSecret = "s3cr+t/Key&7";

Secrets Known() {
  Secrets secrets;
  secrets.Add(kSecret);
  return secrets;
}

/// Every byte as `before`, two hex digits, and `after`.
std::string Escaped(const std::string& before, const std::string& after = "") {
  std::string text;
  for (const char c : kSecret) text += before + Hex(std::string(1, c)) + after;
  return text;
}

TEST(RemoteSecrets, Item41_15_NoSpellingOfASecretIsShown) {
  const Secrets secrets = Known();
  for (const std::string& spelled :
       {kSecret, Encoded(kSecret, ""), Encoded(Encoded(kSecret, ""), ""),
        Escaped("%"), Escaped("%25"), Escaped("\\x"), Escaped("\\u00"),
        Escaped("&#x", ";"), std::string("s3cr+t/Key&amp;7"),
        std::string("s3cr+t\\/Key&7"), std::string("S3CR+T/KEY&7"),
        Hex(kSecret)}) {
    EXPECT_EQ(secrets.Shown("key " + spelled + " is wrong", 200),
              "key *** is wrong")
        << spelled;
    EXPECT_TRUE(secrets.AreIn("<Key>" + spelled + "</Key>")) << spelled;
  }
  EXPECT_EQ(secrets.Shown("key s3cr+t/Key is wrong", 200),
            "key s3cr+t/Key is wrong");
}

TEST(RemoteSecrets, Item41_15_Base64HidesASecretWhereverItBegins) {
  const Secrets secrets = Known();
  for (const std::string before : {"", "a", "ab", "abc", "user:"}) {
    for (const std::string after : {"", "z", "zy"}) {
      const std::string text = Base64(before + kSecret + after);
      const std::string shown = secrets.Shown(text, 200);
      EXPECT_NE(shown.find("***"), std::string::npos) << text;
      // Digits that others share with what is before and after.
      EXPECT_LE(shown.size(), 3 + 13U) << shown;
    }
  }
}

TEST(RemoteSecrets, Item41_15_ASecretIsHiddenBeforeTheTextIsCut) {
  const Secrets secrets = Known();
  const std::string dots(195, '.');
  EXPECT_EQ(secrets.Shown(dots + kSecret + kSecret, 200), dots + "***" + "**");
  // The server's text may have been cut before.
  EXPECT_EQ(secrets.Shown("x " + kSecret.substr(0, 7), 200), "x ***");
}

TEST(RemoteSecrets, Item41_15_WhatIsACredentialByItsFormIsHidden) {
  const Secrets none;
  for (const auto& [text, shown] :
       {std::pair("Authorization: Bearer hf_1 | X", "Authorization: ***"),
        std::pair("{\"authorization\": \"Basic bWU6eA==\"}",
                  "{\"authorization\": ***"),
        std::pair("x-amz-security-token: abc\nnext",
                  "x-amz-security-token: ***\\x0anext"),
        std::pair("got Bearer hf_1, no", "got Bearer ***, no"),
        std::pair("Basic bWU6eA==", "Basic ***"),
        std::pair("a basic error", "a basic error"),
        std::pair("AWS4-HMAC-SHA256 Credential=me/2026/s3, "
                  "SignedHeaders=host, Signature=0f0f",
                  "AWS4-HMAC-SHA256 Credential=***, SignedHeaders=host, "
                  "Signature=***"),
        std::pair("no http://h/a?x=1&X-Amz-Signature=abc&y here",
                  "no http://h/a?x=***&X-Amz-Signature=***&y here"),
        std::pair("to https://me:word@host/x", "to https://***@host/x"),
        std::pair("to https://host/x@y", "to https://host/x@y"),
        std::pair("id AKIAABCDEFGHIJKLMNOP no", "id *** no"),
        std::pair("got X-Amz-Signature%3Dabc%26y=z",
                  "got X-Amz-Signature=***&y=z"),
        std::pair("&#x41;uthorization%253A%20x y", "Authorization: ***"),
        std::pair("100%25 of a%2Fb", "100%25 of a%2Fb"),
        std::pair("the bucket a=b is away", "the bucket a=b is away"),
        std::pair("bell \a", "bell \\x07")}) {
    EXPECT_EQ(none.Shown(text, 200), shown);
  }
}

TEST(RemoteSecrets, Item41_15_AHeaderAtTheEndHidesNothing) {
  for (const char* text : {"no x-token:", "no x-token: "}) {
    EXPECT_EQ(Secrets().Shown(text, 200), text);
  }
}

TEST(RemoteSecrets, Item41_15_ShortSecretsAreHiddenInMessagesAlone) {
  Secrets secrets;
  secrets.Add("pw");
  EXPECT_EQ(secrets.Shown("it was pw", 200), "it was ***");
  EXPECT_FALSE(secrets.AreIn("it was pw"));
}

}  // namespace
}  // namespace ctxfs::remote

// SPDX-License-Identifier: Apache-2.0
#include "core/remote/fetcher/settings.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/unit/testing/temp_dir.h"

namespace ctxfs::remote {
namespace {

constexpr const char* kCredentials =
    "[default]\naws_access_key_id = A1\naws_secret_access_key=S1\n"
    "# [work]\n[work]\r\naws_access_key_id=A2\r\n"
    "aws_secret_access_key = S2=\naws_session_token = T2\nregion = eu-1\n";

using Variables = std::map<std::string, std::string>;

Settings From(const Variables& variables) {
  return SettingsFrom([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  });
}

TEST(RemoteSettings, Item30_1_ProfilesHaveKeys) {
  const auto work = ProfileIn(kCredentials, "work");
  ASSERT_TRUE(work);
  EXPECT_EQ(work->keys.access_key, "A2");
  EXPECT_EQ(work->keys.secret_key, "S2=");
  EXPECT_EQ(work->keys.session_token, "T2");
  EXPECT_EQ(work->region, "eu-1");
  EXPECT_FALSE(ProfileIn(kCredentials, "other"));
}

TEST(RemoteSettings, Item30_1_ProfilesSayWhereTheStoreIs) {
  const TempDir dir;
  Variables variables{
      {"AWS_CONFIG_FILE",
       dir.Write("config",
                 "[default]\nregion=eu-0\n"
                 "[profile work]\nendpoint_url = http://store:9\n"
                 "s3 =\n  addressing_style = virtual\nregion=eu-2\n")},
      {"AWS_SHARED_CREDENTIALS_FILE", dir.Write("credentials", kCredentials)}};
  EXPECT_EQ(From(variables).endpoints.region, "eu-0");
  EXPECT_EQ(From(variables).endpoints.s3, "");
  EXPECT_EQ(From(variables).endpoints.addressing, Addressing::kUsual);
  variables["AWS_PROFILE"] = "work";
  EXPECT_EQ(From(variables).endpoints.region, "eu-1");
  EXPECT_EQ(From(variables).endpoints.s3, "http://store:9");
  EXPECT_EQ(From(variables).endpoints.addressing, Addressing::kVirtual);
  variables["AWS_ENDPOINT_URL"] = "http://other";
  variables["CTXFS_S3_ADDRESSING"] = "path";
  EXPECT_EQ(From(variables).endpoints.s3, "http://other");
  EXPECT_EQ(From(variables).endpoints.addressing, Addressing::kPath);
}

TEST(RemoteSettings, Item30_1_CredentialsComeFromWhereTheClientsLook) {
  const TempDir dir;
  const std::string file = dir.Write("credentials", kCredentials);
  Variables variables{{"AWS_SHARED_CREDENTIALS_FILE", file},
                      {"AWS_CONFIG_FILE", dir.Path("none")}};
  EXPECT_EQ(From(variables).aws.access_key, "A1");
  variables["AWS_PROFILE"] = "work";
  EXPECT_EQ(From(variables).aws.access_key, "A2");
  EXPECT_EQ(From(variables).endpoints.region, "eu-1");
  variables["AWS_REGION"] = "us-9";
  EXPECT_EQ(From(variables).endpoints.region, "us-9");
  variables.erase("AWS_PROFILE");
  variables["AWS_ACCESS_KEY_ID"] = "A3";
  variables["AWS_SECRET_ACCESS_KEY"] = "S3";
  EXPECT_EQ(From(variables).aws.access_key, "A3");
  EXPECT_EQ(From(variables).aws.session_token, "");
  EXPECT_TRUE(From({}).aws.access_key.empty());
}

TEST(RemoteSettings, Item30_1_MetadataIsAskedWithTheOptionAlone) {
  EXPECT_FALSE(From({}).metadata);
  EXPECT_FALSE(From({{"CTXFS_AWS_METADATA", "0"}}).metadata);
  const Variables asked{{"CTXFS_AWS_METADATA", "1"}};
  EXPECT_EQ(From(asked).metadata->instance, "http://169.254.169.254");
  EXPECT_EQ(From(asked).metadata->container, "");
  Variables keys = asked;
  keys["AWS_ACCESS_KEY_ID"] = "A";
  EXPECT_FALSE(From(keys).metadata);
  Variables container = asked;
  container["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://localhost:9/x";
  EXPECT_EQ(From(container).metadata->container, "http://localhost:9/x");
  container["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2/role";
  EXPECT_EQ(From(container).metadata->container,
            "http://169.254.170.2/v2/role");
}

TEST(RemoteSettings, Item30_1_KeysAreAskedForOnThisMachineOrByHttps) {
  for (const auto& [url, allowed] :
       std::map<std::string, bool>{{"https://far.example.com/x", true},
                                   {"http://169.254.170.23/v1", true},
                                   {"http://[fd00:ec2::23]/v1", true},
                                   {"http://far.example.com/x", false},
                                   {"http://127.0.0.1.example.com/x", false},
                                   {"http://127.0.0.1@example.com/x", false},
                                   {"http://localhost:1@example.com/x", false},
                                   {"s3://bucket/x", false},
                                   {"file:///etc/passwd", false}}) {
    const Settings settings =
        From({{"CTXFS_AWS_METADATA", "1"},
              {"AWS_CONTAINER_CREDENTIALS_FULL_URI", url}});
    EXPECT_EQ(settings.metadata->container, allowed ? url : "") << url;
  }
}

TEST(RemoteSettings, Item30_1_TheHubHasAToken) {
  const TempDir dir;
  (void)dir.Write("token", "from-file\n");
  EXPECT_EQ(From({{"HF_HOME", dir.Path("")}}).hub_token, "from-file");
  EXPECT_EQ(From({{"HF_TOKEN", "t"}, {"HF_ENDPOINT", "http://h"}}).hub_token,
            "t");
  EXPECT_EQ(From({{"HF_ENDPOINT", "http://h"}}).endpoints.hub, "http://h");
}

TEST(RemoteSettings, Item30_1_NetrcHasUsers) {
  const auto users = UsersIn(
      "login lost machine a login u password p\nmachine b\n login v\n"
      "default login w password q macdef m\n machine c");
  ASSERT_EQ(users.size(), 3U);
  EXPECT_EQ(users[0].host, "a");
  EXPECT_EQ(users[0].password, "p");
  EXPECT_EQ(users[1].name, "v");
  EXPECT_EQ(users[2].host, "");
  EXPECT_TRUE(UsersIn("machine").empty());
}

TEST(RemoteSettings, Item30_6_TheTimeoutHasBounds) {
  EXPECT_EQ(From({{"CTXFS_REMOTE_TIMEOUT", "5"}}).timeout.count(), 5000);
  for (const char* text : {"", "0", "5s", "-1", "3601", "99999999999"}) {
    EXPECT_EQ(From({{"CTXFS_REMOTE_TIMEOUT", text}}).timeout.count(), 60000);
  }
}

TEST(RemoteSettings, Item30_6_OfflineIsAVariable) {
  EXPECT_FALSE(From({}).offline);
  EXPECT_FALSE(From({{"CTXFS_OFFLINE", "0"}}).offline);
  EXPECT_TRUE(From({{"CTXFS_OFFLINE", "1"}}).offline);
}

}  // namespace
}  // namespace ctxfs::remote

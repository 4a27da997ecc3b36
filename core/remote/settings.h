// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/remote/url.h"

namespace ctxfs::remote {

/// Keys of S3. Without an access key, requests are not signed.
struct AwsKeys {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // empty: none
};

/// Where a container or an instance of AWS gets keys. Of the two, the first
/// that is not empty is asked.
struct MetadataService {
  std::string container;        // URL
  std::string container_token;  // empty: none
  std::string instance;         // base of URLs
};

/// A user of a web server, from a netrc file.
struct WebUser {
  std::string host;  // empty: any other
  std::string name;
  std::string password;
};

/// How objects are fetched. Holds secrets: only the fetcher has it.
struct Settings {
  Endpoints endpoints;
  AwsKeys aws;
  std::optional<MetadataService> metadata;  // set: keys come from there
  std::string hub_token;
  std::vector<WebUser> users;
  std::string ca_file;  // PEM; empty: the system's certificates
  /// How long a request that fails is repeated before it fails for good.
  std::chrono::milliseconds timeout{60'000};
  bool offline = false;  // serve what the cache has, and make no request
};

/// Returns an environment variable; empty if it is not set.
using Environment = std::function<std::string(const char* name)>;

/// Reads the settings from environment variables, ~/.aws and netrc files, as
/// the usual clients do (docs/remote.md).
Settings SettingsFrom(const Environment& environment);

/// Returns the keys of `profile` in the text of a file such as
/// ~/.aws/credentials, or nullopt if it has no such profile; `region` is set if
/// the profile says one.
std::optional<AwsKeys> KeysIn(std::string_view text, std::string_view profile,
                              std::string* region);

/// Returns the users in the text of a netrc file.
std::vector<WebUser> UsersIn(std::string_view text);

}  // namespace ctxfs::remote

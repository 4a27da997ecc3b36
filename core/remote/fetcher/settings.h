// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/environment.h"
#include "core/remote/stores/url.h"

namespace ctxfs::remote {

/// Keys of S3. Without an access key, requests are not signed.
struct AwsKeys {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // empty: none
};

/// The source of keys in an AWS container or instance. `container` is preferred
/// unless it is empty.
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

/// The settings for fetching objects. They contain secrets, so only the fetcher
/// has them.
struct Settings {
  Endpoints endpoints;
  AwsKeys aws;
  std::optional<MetadataService> metadata;  // if set, keys come from it
  std::string hub_token;
  std::vector<WebUser> users;
  std::vector<WebUser> proxy_users;  // libcurl finds the proxies itself
  std::string ca_file;               // PEM; empty: the system's certificates
  /// The time for which a failing request is retried.
  std::chrono::milliseconds timeout{60'000};
  bool offline = false;  // serve only from the cache, without requests
};

/// Reads the settings from environment variables, ~/.aws and netrc files, like
/// the usual clients (docs/remote.md).
Settings SettingsFrom(const Environment& environment);

/// A profile of AWS; unset values are empty.
struct AwsProfile {
  AwsKeys keys;
  std::string region;
  std::string endpoint;
  std::string addressing;
};

/// Returns the profile in a section of the text of a file such as
/// ~/.aws/credentials, or nullopt if there is no such section.
std::optional<AwsProfile> ProfileIn(std::string_view text,
                                    std::string_view section);

/// Parses the users in the text of a netrc file.
std::vector<WebUser> UsersIn(std::string_view text);

}  // namespace ctxfs::remote

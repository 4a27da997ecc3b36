// SPDX-License-Identifier: Apache-2.0
#include "core/remote/fetcher/settings.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "core/base/text/whole_number.h"
#include "core/remote/stores/percent.h"
#include "core/remote/stores/trimmed.h"

namespace ctxfs::remote {
namespace {

/// The text of a small file; empty if it cannot be read.
std::string TextOf(const std::string& path) {
  constexpr size_t kMax = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

/// The value of the first variable among `names` that is set.
std::string FirstOf(const Environment& environment,
                    std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    std::string value = environment(name);
    if (!value.empty()) return value;
  }
  return {};
}

/// A profile from ~/.aws/config and ~/.aws/credentials; keys and region of the
/// latter take precedence.
AwsProfile ProfileOf(const Environment& environment, const std::string& name) {
  const std::string directory = environment("HOME") + "/.aws/";
  std::string file = environment("AWS_CONFIG_FILE");
  if (file.empty()) file = directory + "config";
  const std::string prefix = name == "default" ? "" : "profile ";
  AwsProfile profile =
      ProfileIn(TextOf(file), prefix + name).value_or(AwsProfile());
  file = environment("AWS_SHARED_CREDENTIALS_FILE");
  if (file.empty()) file = directory + "credentials";
  const auto secret = ProfileIn(TextOf(file), name);
  if (!secret) return profile;
  if (!secret->keys.access_key.empty()) profile.keys = secret->keys;
  if (!secret->region.empty()) profile.region = secret->region;
  return profile;
}

Addressing AddressingOf(const std::string& text) {
  if (text == "path") return Addressing::kPath;
  return text == "virtual" ? Addressing::kVirtual : Addressing::kUsual;
}

void SetAws(const Environment& environment, Settings& settings) {
  const std::string named = environment("AWS_PROFILE");
  AwsProfile profile =
      ProfileOf(environment, named.empty() ? "default" : named);
  const std::string access_key = environment("AWS_ACCESS_KEY_ID");
  // Like AWS's own clients, prefers keys of the environment unless a profile
  // was named.
  if (!access_key.empty() && named.empty()) {
    profile.keys = {access_key, environment("AWS_SECRET_ACCESS_KEY"),
                    environment("AWS_SESSION_TOKEN")};
  }
  settings.aws = std::move(profile.keys);
  const auto or_else = [](std::string value, const std::string& other) {
    return value.empty() ? other : value;
  };
  Endpoints& endpoints = settings.endpoints;
  endpoints.region = or_else(
      or_else(FirstOf(environment, {"AWS_REGION", "AWS_DEFAULT_REGION"}),
              profile.region),
      endpoints.region);
  endpoints.s3 =
      or_else(FirstOf(environment, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}),
              profile.endpoint);
  endpoints.addressing = AddressingOf(
      or_else(environment("CTXFS_S3_ADDRESSING"), profile.addressing));
}

bool IsSet(const Environment& environment, const char* name) {
  const std::string value = environment(name);
  return !value.empty() && value != "0";
}

/// Whether keys may be requested from this URL, by the rule of the AWS clients:
/// HTTPS, or this machine.
bool IsForKeys(const std::string& url) {
  constexpr std::string_view kHosts[] = {"127.0.0.1",      "localhost",
                                         "[::1]",          "169.254.170.2",
                                         "169.254.170.23", "[fd00:ec2::23]"};
  const Result<Location> location = Locate(url, {});
  return location && location->service == Service::kWeb &&
         (url.starts_with("https://") ||
          std::ranges::find(kHosts, location->host) != std::end(kHosts));
}

/// The metadata service of the container, if there is one, or of the instance.
MetadataService MetadataFrom(const Environment& environment) {
  MetadataService service;
  const std::string path =
      environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string url = environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (path.starts_with('/')) {
    service.container = "http://169.254.170.2" + path;
  } else if (IsForKeys(url)) {
    service.container = url;
  }
  service.container_token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  const std::string file =
      environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  if (!file.empty()) service.container_token = Trimmed(TextOf(file));
  service.instance = environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (service.instance.empty()) service.instance = "http://169.254.169.254";
  while (service.instance.ends_with('/')) service.instance.pop_back();
  return service;
}

/// The users in the URLs of proxies.
std::vector<WebUser> ProxyUsers(const Environment& environment) {
  std::vector<WebUser> users;
  for (const char* const name :
       {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}) {
    std::string url = environment(name);
    const size_t scheme = url.find("://");
    if (scheme != url.npos) url.erase(0, scheme + 3);
    const size_t at = url.substr(0, url.find('/')).rfind('@');
    if (at == url.npos) continue;
    url.resize(at);
    const size_t colon = std::min(url.find(':'), url.size());
    const size_t password = std::min(colon + 1, url.size());
    users.push_back(
        {"", Decoded(url.substr(0, colon)), Decoded(url.substr(password))});
  }
  return users;
}

void SetHub(const Environment& environment, Settings& settings) {
  const std::string endpoint = environment("HF_ENDPOINT");
  if (!endpoint.empty()) settings.endpoints.hub = endpoint;
  settings.hub_token = environment("HF_TOKEN");
  if (!settings.hub_token.empty()) return;
  std::string home = environment("HF_HOME");
  if (home.empty()) home = environment("HOME") + "/.cache/huggingface";
  const std::string text = TextOf(home + "/token");
  settings.hub_token = Trimmed(text.substr(0, text.find('\n')));
}

}  // namespace

std::optional<AwsProfile> ProfileIn(std::string_view text,
                                    std::string_view section) {
  std::optional<AwsProfile> profile;
  bool inside = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      inside = Trimmed(line.substr(1, line.find(']') - 1)) == section;
      if (inside && !profile) profile.emplace();
      continue;
    }
    const size_t equals = line.find('=');
    if (!inside || equals == line.npos) continue;
    const std::string_view name = Trimmed(line.substr(0, equals));
    std::string value(Trimmed(line.substr(equals + 1)));
    const std::pair<std::string_view, std::string*> fields[] = {
        {"aws_access_key_id", &profile->keys.access_key},
        {"aws_secret_access_key", &profile->keys.secret_key},
        {"aws_session_token", &profile->keys.session_token},
        {"region", &profile->region},
        {"endpoint_url", &profile->endpoint},
        {"addressing_style", &profile->addressing}};
    for (const auto& [known, field] : fields) {
      if (name == known) *field = value;
    }
  }
  return profile;
}

std::vector<WebUser> UsersIn(std::string_view text) {
  std::vector<WebUser> users;
  std::istringstream words{std::string(text)};
  std::string word;
  std::string value;
  while (words >> word) {
    if (word == "default") users.emplace_back();
    // Stops at a macro, which lasts to the next empty line and can contain any
    // word.
    if (word == "macdef") break;
    if (word == "machine" && words >> value) users.push_back({value, {}, {}});
    if (users.empty()) continue;
    if (word == "login" && words >> value) users.back().name = value;
    if (word == "password" && words >> value) users.back().password = value;
  }
  return users;
}

Settings SettingsFrom(const Environment& environment) {
  Settings settings;
  SetAws(environment, settings);
  if (settings.aws.access_key.empty() &&
      IsSet(environment, "CTXFS_AWS_METADATA")) {
    settings.metadata = MetadataFrom(environment);
  }
  SetHub(environment, settings);
  std::string netrc = environment("NETRC");
  if (netrc.empty()) netrc = environment("HOME") + "/.netrc";
  settings.users = UsersIn(TextOf(netrc));
  settings.proxy_users = ProxyUsers(environment);
  settings.ca_file = FirstOf(
      environment, {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"});
  const std::string seconds = environment("CTXFS_REMOTE_TIMEOUT");
  const std::optional<unsigned> number = WholeNumber<unsigned>(seconds);
  if (number && *number >= 1 && *number <= 3600) {
    settings.timeout = std::chrono::seconds(*number);
  }
  settings.offline = IsSet(environment, "CTXFS_OFFLINE");
  return settings;
}

}  // namespace ctxfs::remote

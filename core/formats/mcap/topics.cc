// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/formats/mcap/mcap.h"

namespace ctxfs::mcap {
namespace {

/// Whether each topic has a file or directory of this name.
bool IsFixedName(std::string_view component) {
  return component == "messages" || component == "log_time" ||
         component == "publish_time" || component == "sequence";
}

std::string_view PlainTopic(std::string_view topic) {
  if (topic.starts_with('/')) topic.remove_prefix(1);
  return topic;
}

/// Returns `topic` with "~2" after each component that has the name of a file
/// of the topic above it. `topics` are all topics, without leading slashes.
/// Looks at limits::kComponents components at most: a directory has no more,
/// but a topic may have millions.
std::string BesideFiles(std::string_view topic,
                        const std::unordered_set<std::string_view>& topics) {
  std::string path;
  size_t components = 0;
  for (size_t start = 0;;) {
    const size_t slash = topic.find('/', start);
    const std::string_view component = topic.substr(start, slash - start);
    path += component;
    if (start > 0 && ++components < limits::kComponents &&
        IsFixedName(component) && topics.contains(topic.substr(0, start - 1))) {
      path += "~2";
    }
    if (slash == std::string_view::npos) return path;
    path += '/';
    start = slash + 1;
  }
}

using Extension = std::pair<std::string_view, std::string_view>;

template <size_t kCount>
std::string_view ExtensionIn(const std::array<Extension, kCount>& extensions,
                             std::string_view encoding) {
  for (const auto& [name, extension] : extensions) {
    if (name == encoding) return extension;
  }
  return "bin";
}

}  // namespace

std::string WithSuffix(std::string_view path, std::string_view suffix) {
  const size_t base = path.rfind('/') + 1;  // 0 where there is no slash
  const std::string_view last = path.substr(base);
  std::string made(path.substr(0, base));
  if (last.empty()) {
    made += '%';
  } else if (last == "." || last == "..") {
    for (size_t i = 0; i < last.size(); ++i) made += "%2E";
  } else {
    made += last;
  }
  made += suffix;
  return made;
}

std::vector<std::string> TopicPaths(const std::vector<Channel>& channels) {
  std::unordered_set<std::string_view> topics;
  for (const Channel& one : channels) topics.insert(PlainTopic(one.name));
  // Taken paths, each with the last N for which "~N" was tried after the path;
  // 1: none was tried.
  std::unordered_map<std::string, uint32_t> taken;
  std::vector<std::string> paths;
  paths.reserve(channels.size());
  for (const Channel& channel : channels) {
    const std::string plain = BesideFiles(PlainTopic(channel.name), topics);
    std::string path = plain;
    uint32_t& mark = taken.try_emplace(plain, 0).first->second;
    while (mark++ > 0) {
      path = WithSuffix(plain, "~" + std::to_string(mark));
      if (taken.try_emplace(path, 1).second) break;
    }
    paths.push_back(std::move(path));
  }
  return paths;
}

std::string_view MessageExtension(std::string_view encoding) {
  static constexpr std::array<Extension, 7> kExtensions = {
      {{"json", "json"},
       {"cdr", "cdr"},
       {"ros1", "ros1"},
       {"protobuf", "pb"},
       {"flatbuffer", "fb"},
       {"cbor", "cbor"},
       {"msgpack", "msgpack"}}};
  return ExtensionIn(kExtensions, encoding);
}

std::string_view SchemaExtension(std::string_view encoding) {
  static constexpr std::array<Extension, 7> kExtensions = {
      {{"ros1msg", "msg"},
       {"ros2msg", "msg"},
       {"ros2idl", "idl"},
       {"omgidl", "idl"},
       {"jsonschema", "json"},
       {"protobuf", "binpb"},
       {"flatbuffer", "bfbs"}}};
  return ExtensionIn(kExtensions, encoding);
}

}  // namespace ctxfs::mcap

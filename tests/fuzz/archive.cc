// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/archive.h"

#include <string_view>

namespace ctxfs::fuzz {
namespace {

constexpr std::string_view kFileMark("\0FILE ", 6);
constexpr size_t kMaxFiles = 32;

}  // namespace

Archive Unpack(std::string_view input) {
  Archive archive;
  bool first = true;
  size_t at = input.find(kFileMark);
  while (at != std::string_view::npos && archive.files.size() < kMaxFiles) {
    at += kFileMark.size();
    const size_t next = input.find(kFileMark, at);
    const std::string_view file = input.substr(at, next - at);
    const size_t line = std::min(file.find('\n'), file.size());
    const std::string path(file.substr(0, line));
    if (path == ".") {
      // Says what is opened, and is no file.
    } else {
      if (first) archive.target = path;
      archive.files[path] = std::make_shared<const std::string>(
          file.substr(std::min(line + 1, file.size())));
    }
    first = false;
    at = next;
  }
  return archive;
}

std::string Pack(const Archive& archive) {
  std::string packed;
  const auto add = [&packed](const std::string& path, std::string_view bytes) {
    packed += kFileMark;
    packed += path + "\n";
    packed += bytes;
  };
  const auto target = archive.files.find(archive.target);
  if (target != archive.files.end()) {
    add(target->first, *target->second);
  } else {
    add(".", {});
  }
  for (const auto& [path, bytes] : archive.files) {
    if (path != archive.target) add(path, *bytes);
  }
  return packed;
}

}  // namespace ctxfs::fuzz

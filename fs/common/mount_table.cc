// SPDX-License-Identifier: Apache-2.0
#include "fs/common/mount_table.h"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace ctxfs {
namespace {

bool IsOctal(char c) { return c >= '0' && c <= '7'; }

/// Undoes the kernel's escapes: space, tab, newline, backslash and '#' are
/// written as a backslash and three octal digits.
std::string Unescape(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && IsOctal(text[i + 1]) &&
        IsOctal(text[i + 2]) && IsOctal(text[i + 3])) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 +
                                 (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

std::vector<MountEntry> ParseMountTable(std::istream& lines) {
  // Each line: id, parent, device, root, mount point, options, optional
  // fields, "-", type, source, options.
  constexpr int kPoint = 5;
  std::vector<MountEntry> mounts;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    for (int field = 0; field < kPoint; ++field) std::getline(words, word, ' ');
    MountEntry entry{Unescape(word), "", ""};
    while (std::getline(words, word, ' ') && word != "-") {
    }
    if (!std::getline(words, entry.type, ' ')) continue;
    std::getline(words, word, ' ');
    entry.source = Unescape(word);
    mounts.push_back(std::move(entry));
  }
  return mounts;
}

std::vector<MountEntry> MountTable() {
  std::ifstream file("/proc/self/mountinfo");
  return ParseMountTable(file);
}

std::vector<MountEntry> OwnMounts() {
  std::vector<MountEntry> mounts = MountTable();
  std::erase_if(
      mounts, [](const MountEntry& mount) { return mount.type != kMountType; });
  return mounts;
}

std::string AsMountPoint(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  fs::path point = fs::absolute(path, failed);
  if (!point.has_filename()) point = point.parent_path();  // "mnt/"
  const std::string name = point.filename().string();
  if (name == "." || name == "..") return fs::canonical(point, failed).string();
  return (fs::canonical(point.parent_path(), failed) / name).string();
}

}  // namespace ctxfs

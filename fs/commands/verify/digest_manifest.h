// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "fs/commands/verify/check_report.h"

namespace ctxfs {

/// The first line, the last line and the line of a file in a manifest of
/// `ctxfs digest` (docs/commands.md, section 7).
inline constexpr std::string_view kDigestManifestHead = "ctxfs-digest 1";
std::string DigestManifestEnd(uint64_t files);
std::string DigestManifestLine(const std::string& path, const FileDigest& file);

/// A manifest to compare containers with.
class DigestManifest {
 public:
  /// Parses a manifest. Fails with kCorrupt if `text` is none. Callers must not
  /// read a file of more than kMaxBytes.
  static Result<DigestManifest> Parse(Buffer text);

  static constexpr uint64_t kMaxBytes = 256 * 1024 * 1024;

  /// Adds a fault to `report` for each file that differs from the manifest. In
  /// the manifest, paths of the container start with `above`: "", or
  /// "a/b.gguf/".
  void Compare(const std::string& above, CheckReport& report);

  /// Adds a fault for each file of the manifest that was in no container.
  void AddMissing(CheckReport& report) const;

  uint64_t size() const { return files_.size(); }

 private:
  struct File {
    std::string_view path;  // escaped
    std::string_view sha256;
    bool seen = false;
  };

  explicit DigestManifest(Buffer text) : text_(std::move(text)) {}
  /// Finds a file by its escaped path; null if there is none.
  File* Find(std::string_view path);

  Buffer text_;
  std::vector<File> files_;  // by path
};

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/verify/digest_manifest.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/text/whole_number.h"
#include "fs/commands/text.h"

namespace ctxfs {
namespace {

constexpr size_t kManifestSha256Digits = 64;
constexpr size_t kManifestXxh3Digits = 16;
constexpr std::string_view kManifestEnd = "files ";

bool IsLowerHex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Removes and returns the word before the next blank, and removes the blank.
std::string_view TakeWord(std::string_view& line) {
  const size_t end = line.find(' ');
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  return word;
}

std::string EscapedPath(const std::string& path) {
  return Escaped(path, "\n\r");
}

}  // namespace

std::string DigestManifestEnd(uint64_t files) {
  return fmt::format("{}{}", kManifestEnd, files);
}

std::string DigestManifestLine(const std::string& path,
                               const FileDigest& file) {
  return fmt::format("{} {} {} {}", file.sha256, file.xxh3, file.size,
                     EscapedPath(path));
}

Result<DigestManifest> DigestManifest::Parse(Buffer bytes) {
  DigestManifest manifest(std::move(bytes));
  const std::string_view text = AsText(manifest.text_.span());
  if (!text.starts_with(kDigestManifestHead) ||
      text.substr(kDigestManifestHead.size(), 1) != "\n") {
    return Error{Code::kCorrupt, "not a manifest of ctxfs digest", 0};
  }
  for (size_t at = kDigestManifestHead.size() + 1; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.starts_with(kManifestEnd)) {
      if (WholeNumber<uint64_t>(line.substr(kManifestEnd.size())) !=
          manifest.files_.size()) {
        return Error{Code::kCorrupt, "the number of files is another", at};
      }
      std::ranges::sort(manifest.files_, {}, &File::path);
      const auto twice =
          std::ranges::adjacent_find(manifest.files_, {}, &File::path);
      if (twice == manifest.files_.end()) return manifest;
      return Error{Code::kCorrupt, "a path is there twice",
                   static_cast<uint64_t>(twice->path.data() - text.data())};
    }
    const std::string_view sha256 = TakeWord(line);
    const std::string_view xxh3 = TakeWord(line);
    const bool size = WholeNumber<uint64_t>(TakeWord(line)).has_value();
    if (sha256.size() != kManifestSha256Digits || !IsLowerHex(sha256) ||
        xxh3.size() != kManifestXxh3Digits || !IsLowerHex(xxh3) || !size ||
        line.empty()) {
      return Error{Code::kCorrupt, "not a line of SHA-256, XXH3, size and path",
                   at};
    }
    manifest.files_.push_back({line, sha256});
    at = end + 1;
  }
  return Error{Code::kCorrupt, "the manifest is cut: its last line is missing",
               text.size()};
}

DigestManifest::File* DigestManifest::Find(std::string_view path) {
  const auto found = std::ranges::lower_bound(files_, path, {}, &File::path);
  return found == files_.end() || found->path != path ? nullptr : &*found;
}

void DigestManifest::Compare(const std::string& above, CheckReport& report) {
  // A file that could not be read already has a fault, so it must not be
  // reported as missing.
  for (const Fault& fault : report.faults) {
    File* const known = Find(EscapedPath(above + fault.path));
    if (known != nullptr) known->seen = true;
  }
  report.as_in_manifest = !report.digests.empty();
  for (const FileDigest& file : report.digests) {
    File* const known = Find(EscapedPath(above + file.path));
    if (known != nullptr) known->seen = true;
    if (known != nullptr && known->sha256 == file.sha256) continue;
    report.as_in_manifest = false;
    Error error{Code::kCorrupt, "is not in the manifest"};
    if (known != nullptr) {
      error = {Code::kChecksum, fmt::format("SHA-256 is {}, expected {}",
                                            file.sha256, known->sha256)};
    }
    report.faults.push_back({file.path, std::nullopt, std::move(error)});
  }
}

void DigestManifest::AddMissing(CheckReport& report) const {
  for (const File& file : files_) {
    if (file.seen) continue;
    report.faults.push_back(
        {std::string(file.path),
         std::nullopt,
         {Code::kCorrupt, "is missing: only the manifest has it"}});
  }
}

}  // namespace ctxfs

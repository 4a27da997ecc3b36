// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/verify/commit_tree.h"

#include <utility>

#include "core/base/json/json.h"
#include "core/base/text/text.h"
#include "core/io/download_cache.h"

namespace ctxfs {
namespace {

/// Collects the files while WalkJson parses the text.
class TreeVisitor final : public JsonVisitor {
 public:
  bool Enter(const Path& path, bool is_array) override {
    if (path.empty()) return Expect(!is_array);
    if (path.front() != "files" || path.size() > 2) return false;
    if (path.size() == 1) {
      // Of duplicate keys, the last one counts.
      files_.clear();
      has_files_ = true;
      return Expect(!is_array);
    }
    entry_ = {};
    return Expect(!is_array);
  }

  void Leave(const Path& path) override {
    if (path.size() != 2 || path.front() != "files") return;
    if (!Expect(entry_.size && entry_.has_blob_id)) return;
    CommitFile file{*entry_.size};
    file.digest = entry_.has_sha256 ? entry_.sha256 : entry_.blob_id;
    files_.insert_or_assign(path.back(), std::move(file));
  }

  void Scalar(const Path& path, Json value) override {
    if (path.empty()) return (void)Expect(false);
    if (path.front() == "format_version" && path.size() == 1) {
      version_1_ = value.is_number_integer() && value == 1;
    }
    if (path.front() != "files") return;
    if (path.size() < 3) return (void)Expect(false);
    if (path.size() == 3) TakeField(path.back(), value);
  }

  /// The files; nullopt if the text is not a valid list.
  std::optional<CommitTree> Take() {
    if (!sound_ || !version_1_ || !has_files_) return std::nullopt;
    return std::move(files_);
  }

 private:
  struct Entry {
    std::optional<uint64_t> size = std::nullopt;
    bool has_blob_id = false;
    bool has_sha256 = false;
    std::optional<PublishedDigest> blob_id = std::nullopt;
    std::optional<PublishedDigest> sha256 = std::nullopt;
  };

  bool Expect(bool holds) {
    sound_ = sound_ && holds;
    return holds;
  }

  void TakeField(const std::string& key, const Json& value) {
    if (key == "size") {
      entry_.size.reset();
      if (value.is_number_unsigned()) entry_.size = value.get<uint64_t>();
    } else if (key == "blob_id") {
      entry_.has_blob_id = value.is_string();
      entry_.blob_id.reset();
      const std::string text = TextOf(value);
      if (IsCommit(text)) entry_.blob_id = {PublishedKind::kGitSha1, text};
    } else if (key == "lfs_sha256") {
      // With lfs_sha256, blob_id is the digest of the LFS pointer.
      entry_.has_sha256 = !value.is_null();
      entry_.sha256.reset();
      if (auto hex = AsSha256(TextOf(value))) {
        entry_.sha256 = {PublishedKind::kSha256, *std::move(hex)};
      }
    }
  }

  static std::string TextOf(const Json& value) {
    return value.is_string() ? value.get<std::string>() : std::string();
  }

  CommitTree files_;
  Entry entry_;
  bool version_1_ = false;
  bool has_files_ = false;
  bool sound_ = true;
};

}  // namespace

Result<CommitTree> ParseCommitTree(std::string_view text) {
  const Error none{Code::kCorrupt, "is no list of a commit's files"};
  if (text.size() > kMaxCommitTreeBytes) return none;
  TreeVisitor visitor;
  const size_t length =
      CTXFS_TRY(WalkJson(text, JsonDialect::kStandard, visitor));
  std::optional<CommitTree> files = visitor.Take();
  const bool rest = text.substr(length).find_first_not_of(" \t\r\n") !=
                    std::string_view::npos;
  if (!files || rest) return none;
  return *std::move(files);
}

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/io/source.h"
#include "fs/commands/verify/commit_trees.h"
#include "fs/commands/verify/published_digests.h"

namespace ctxfs {

/// The signature of the text that contains a digest.
enum class SignatureState : uint8_t { kNone, kNotVerified, kVerified };

/// The expected digest of a file, and its origin.
struct ExpectedDigest {
  PublishedDigest digest;
  std::string from;  // "--sha256", "its name" or a file's name
  SignatureState signature = SignatureState::kNone;
};

/// Finds the expected digests of files for a value of --sha256
/// (docs/commands.md, section 7). Thread-safe.
class ExpectedDigests {
 public:
  /// `value` is 64 hex digits, the path of a text for ParseDigests, or "auto".
  /// With `public_key` (PEM), only digests signed by it count.
  static Result<std::unique_ptr<ExpectedDigests>> Make(
      const std::string& value, const std::string& public_key);

  /// Whether there is one digest, for a file of any name.
  bool IsOfOneFile() const;

  /// The digest of the file at `path`. "auto" searches its ancestor directories
  /// up to `top`. Fails with kNotFound if there is none, and with other codes
  /// if a text cannot be used.
  Result<ExpectedDigest> Of(const std::string& path,
                            const std::string& top) const;

 private:
  struct Text {
    std::string from;    // its path
    std::string folder;  // absolute, without links
    PublishedDigests published;
    SignatureState signature = SignatureState::kNone;
    /// Indices of the digests by the last component of their names.
    std::unordered_map<std::string, std::vector<size_t>> by_name;
  };
  using TextPtr = std::shared_ptr<const Text>;

  ExpectedDigests() = default;

  Result<TextPtr> Read(const std::string& path) const;
  Status ReadManifests(Text& text) const;
  /// Like Read, cached by path.
  Result<TextPtr> ReadBeside(const std::string& path) const;
  Result<ExpectedDigest> FindAround(const std::string& path,
                                    const std::string& top) const;
  /// Searches the text `name`. A `shared` text may have digests of several
  /// files.
  Result<ExpectedDigest> FindBeside(const std::string& name,
                                    const std::string& path, bool shared) const;
  /// Searches huggingface_hub's metadata of the files in and below `folder`.
  std::optional<ExpectedDigest> FindOfClient(const std::string& path,
                                             const std::string& folder) const;
  static std::optional<ExpectedDigest> DigestIn(
      const CommitTrees::FolderPtr& commit, const std::string& path);
  static Result<ExpectedDigest> FindIn(const Text& text,
                                       const std::string& path);

  CommitTrees commits_;
  std::string public_key_;
  std::optional<ExpectedDigest> given_;
  TextPtr text_;  // null for "auto" and hex digits
  mutable Mutex mutex_;
  mutable std::map<std::string, Result<TextPtr>> beside_
      CTXFS_GUARDED_BY(mutex_);
};

/// Computes the digest of all of `source` as hex digits.
Result<std::string> DigestOfSource(const SourcePtr& source, PublishedKind kind,
                                   const ReadContext& context);

/// Returns "SHA-256" or "SHA-1 of git".
std::string_view NameOf(PublishedKind kind);

}  // namespace ctxfs

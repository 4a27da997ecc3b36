// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace ctxfs {

/// The kind of a published digest: SHA-256 of a file's bytes, or git's SHA-1 of
/// "blob SIZE\0" and the bytes.
enum class PublishedKind : uint8_t { kSha256, kGitSha1 };

struct PublishedDigest {
  PublishedKind kind = PublishedKind::kSha256;
  std::string hex;        // in lower case
  std::string name = {};  // normalised path; empty: unnamed
  std::optional<uint64_t> size = std::nullopt;  // bytes of the file
  bool is_model = false;  // a layer of an image: the model
};

struct PublishedDigests {
  std::vector<PublishedDigest> digests;
  /// SHA-256 of the manifests named by the index of an OCI layout, which are
  /// files of the layout.
  std::vector<std::string> manifests;
  /// The digests are of the layers of an image, so names are optional.
  bool is_image = false;
  /// A model's signature of `signed_text` (DSSE's pre-authentication encoding);
  /// empty if unsigned.
  std::string signature;
  std::string signed_text;

  /// Whether a digest applies to any file it is compared with.
  bool HasUnnamed() const;
};

/// Maximum bytes of a text with digests.
inline constexpr uint64_t kMaxDigestBytes = 16 * 1024 * 1024;

/// Parses a text with digests of files (docs/commands.md, section 7): a Git LFS
/// pointer, lines of sha256sum(1), metadata of the hub's client, a manifest of
/// ollama or OCI, an index of an OCI layout, or a model-signing signature.
/// Fails with kCorrupt for other texts.
Result<PublishedDigests> ParseDigests(std::string_view text);

/// The digest in a file's name, in the directories of ollama (sha256-HEX), of
/// an OCI layout (blobs/sha256/HEX), of the hub's cache (blobs/HEX) and of Git
/// LFS (objects/HE/XX/HEX).
std::optional<PublishedDigest> DigestInPath(std::string_view path);

/// Returns `text` in lower case if it consists of 64 hex digits, else nullopt.
std::optional<std::string> AsSha256(std::string_view text);

}  // namespace ctxfs

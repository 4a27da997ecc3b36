// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace ctxfs {

/// How a published digest was made: of the bytes of a file, or as git names an
/// object, by the SHA-1 of "blob SIZE\0" and the bytes.
enum class PublishedKind : uint8_t { kSha256, kGitSha1 };

/// A digest that somebody has published for a file.
struct PublishedDigest {
  PublishedKind kind = PublishedKind::kSha256;
  std::string hex;        // in lower case
  std::string name = {};  // path of the file, normal; empty: not named
  std::optional<uint64_t> size = std::nullopt;  // bytes of the file
  bool is_model = false;  // a layer of an image: the model itself
};

/// The digests in a text.
struct PublishedDigests {
  std::vector<PublishedDigest> digests;
  /// SHA-256 of the manifests that the index of an OCI layout names, which are
  /// files of the layout.
  std::vector<std::string> manifests;
  /// The digests are of the layers of an image: names are optional.
  bool is_image = false;
  /// A model's signature of `signed_text` (the pre-authentication encoding of
  /// DSSE); empty if it has none.
  std::string signature;
  std::string signed_text;

  /// Whether a digest is of whichever file it is compared with.
  bool HasUnnamed() const;
};

/// Bytes of such a text.
inline constexpr uint64_t kMaxDigestBytes = 16 * 1024 * 1024;

/// Reads a text with digests of files (docs/commands.md, section 7): a pointer
/// of Git LFS, lines of sha256sum(1), metadata of the hub's client, a manifest
/// of ollama or of OCI, an index of an OCI layout, or a signature of
/// model-signing. Fails with kCorrupt if it is none of these.
Result<PublishedDigests> ParseDigests(std::string_view text);

/// The digest that the name of a file is, in the directories of ollama
/// (sha256-HEX), of an OCI layout (blobs/sha256/HEX), of the hub's cache
/// (blobs/HEX) and of Git LFS (objects/HE/XX/HEX).
std::optional<PublishedDigest> DigestInPath(std::string_view path);

/// 64 hex digits in lower case; nullopt if `text` is not that many hex digits.
std::optional<std::string> AsSha256(std::string_view text);

}  // namespace ctxfs

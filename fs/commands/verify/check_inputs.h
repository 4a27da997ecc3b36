// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "fs/commands/arguments.h"
#include "fs/commands/verify/digest_manifest.h"
#include "fs/commands/verify/expected_digest.h"

namespace ctxfs {

/// The published digests or the manifest to compare files with, or neither.
struct Published {
  std::unique_ptr<ExpectedDigests> expected;  // of --sha256
  std::optional<DigestManifest> manifest;     // of --against
};

/// Reads the file at `path`, of at most `most` bytes.
Result<Buffer> ReadNamedFile(const std::string& path, uint64_t most);

/// Reads the texts of --sha256 and --against. `key` is the public key of
/// --signed-by. On failure, sets `failed` to the path that messages must name,
/// and returns the reason.
Result<Published> ReadPublished(const Arguments& arguments, Buffer key,
                                std::string* failed);

}  // namespace ctxfs

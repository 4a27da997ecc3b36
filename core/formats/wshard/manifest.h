// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json/json.h"

namespace ctxfs::wshard {

/// A chunk in the manifest of its episode.
struct ChunkRef {
  int64_t index = 0;
  std::string uri;                // of the file, relative to the manifest
  std::string sha256;             // hex, of the file; or empty
  std::string identity;           // hex, of a sealed chunk; or empty
  std::optional<uint64_t> start;  // first and last step within the episode
  std::optional<uint64_t> last;
  std::optional<uint64_t> length;  // steps
};

/// The contents of meta/manifest (docs/formats/wshard.md, section 9).
struct ChunkManifest {
  Json episode;                     // id, env_id, total_timesteps, total_chunks
  std::vector<ChunkRef> chunks;     // by index
  std::vector<std::string> faults;  // why the chunks are not one episode

  static ChunkManifest Parse(const Json& json, const Request& request);
};

/// Whether a relative path stays in its directory, judged by its text alone. A
/// link could still lead outside, so callers must open the path with
/// Source::OpenBeside, which refuses such links.
bool StaysInside(std::string_view path);

}  // namespace ctxfs::wshard

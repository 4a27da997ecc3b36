// SPDX-License-Identifier: Apache-2.0
#include "core/formats/wshard/manifest.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/heap/heap_allowance.h"

namespace ctxfs::wshard {
namespace {

std::optional<uint64_t> Count(const Json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  return value.get<uint64_t>();
}

ChunkRef ParseChunk(const Json& json) {
  ChunkRef chunk;
  const Json* index = MemberAt(json, "chunk_index");
  chunk.index = index != nullptr && index->is_number_integer()
                    ? index->get<int64_t>()
                    : -1;
  chunk.uri = TextAt(json, "uri");
  chunk.sha256 = TextAt(json, "sha256");
  chunk.identity = TextAt(json, "identity");
  const Json* range = MemberAt(json, "timestep_range");
  if (range != nullptr && range->is_array() && range->size() == 2) {
    chunk.start = Count((*range)[0]);
    chunk.last = Count((*range)[1]);
  }
  chunk.length = CountAt(json, "length_T");
  return chunk;
}

std::vector<std::string> Discontinuities(const std::vector<ChunkRef>& chunks,
                                         std::optional<uint64_t> total,
                                         const Request& request) {
  std::vector<std::string> faults;
  for (size_t i = 0; i < chunks.size(); ++i) {
    if (chunks[i].index != static_cast<int64_t>(i)) {
      faults.emplace_back("chunk_index has gaps or duplicates");
      break;
    }
  }
  std::optional<uint64_t> sum = 0;
  for (size_t i = 0; i < chunks.size(); ++i) {
    sum = sum && chunks[i].length ? CheckedAdd(*sum, *chunks[i].length)
                                  : std::nullopt;
    if (i == 0 || !chunks[i].start || !chunks[i - 1].last) continue;
    if (CheckedAdd(*chunks[i - 1].last, 1) != chunks[i].start) {
      if (!request.CheckMemory()) break;
      faults.push_back(fmt::format("timestep gap between chunk {} and {}",
                                   chunks[i - 1].index, chunks[i].index));
    }
  }
  if (total && !chunks.empty() && sum != total) {
    faults.emplace_back("sum of length_T is not total_timesteps");
  }
  for (const ChunkRef& chunk : chunks) {
    if (!StaysInside(chunk.uri)) {
      if (!request.CheckMemory()) break;
      faults.push_back("uri leaves the folder: " + chunk.uri);
    }
  }
  return faults;
}

}  // namespace

bool StaysInside(std::string_view path) {
  if (path.starts_with('/')) return false;
  int64_t depth = 0;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    const std::string_view component = path.substr(0, end);
    if (component == "..") {
      if (--depth < 0) return false;
    } else if (!component.empty() && component != ".") {
      ++depth;
    }
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return true;
}

ChunkManifest ChunkManifest::Parse(const Json& json, const Request& request) {
  ChunkManifest manifest;
  const std::optional<uint64_t> total = CountAt(json, "total_timesteps");
  const std::optional<uint64_t> declared = CountAt(json, "total_chunks");
  manifest.episode = {{"id", TextAt(json, "episode_id")},
                      {"env_id", TextAt(json, "env_id")},
                      {"total_timesteps", total ? Json(*total) : Json()},
                      {"total_chunks", declared ? Json(*declared) : Json()}};
  const Json* chunks = MemberAt(json, "chunks");
  if (chunks == nullptr || !chunks->is_array()) {
    manifest.faults.emplace_back("meta/manifest lists no chunks");
    return manifest;
  }
  for (const Json& chunk : *chunks) {
    if (!request.CheckMemory() || !AdmitGrowth(manifest.chunks)) break;
    manifest.chunks.push_back(ParseChunk(chunk));
  }
  std::ranges::stable_sort(manifest.chunks, {}, &ChunkRef::index);
  manifest.faults = Discontinuities(manifest.chunks, total, request);
  return manifest;
}

}  // namespace ctxfs::wshard

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "tests/mutation/corpus.h"

namespace ctxfs {

/// Whether the checksum is of the bytes that the file shows. That of a file
/// which is computed from other bytes is of those.
bool IsCovered(const EntryInfo& info);

/// The bytes of files of undamaged containers, by their checksum, such as
/// "crc32c:9a71bb4c".
class Reference {
 public:
  void Add(const std::string& checksum, std::string bytes);
  /// All that a chunk's checksum covers: files of it are parts of it.
  void AddWhole(const std::string& checksum, const std::string& bytes);

  const std::vector<std::string>* Files(const std::string& checksum) const;
  bool IsPart(const std::string& checksum, const std::string& bytes) const;
  /// Whether an undamaged file of that checksum is `bytes`.
  bool Holds(const EntryInfo& info, const std::string& bytes) const;

 private:
  std::map<std::string, std::vector<std::string>> files_;
  std::map<std::string, std::vector<std::string>> wholes_;
};

/// Takes in what the golden containers hold.
Reference MakeReference(const std::vector<GoldenCase>& cases);

/// What came of reading containers.
struct Tally {
  uint64_t refused = 0;
  uint64_t opened = 0;
  uint64_t files = 0;      // read to their end
  uint64_t failed = 0;     // files whose read failed
  uint64_t skipped = 0;    // files that are too large to be read here
  uint64_t equal = 0;      // files with a checksum, that hold what they should
  uint64_t caught = 0;     // files with a checksum, that cannot be read
  uint64_t uncovered = 0;  // files that no checksum covers
  uint64_t wrong = 0;      // files with a checksum, that hold something else
};

/// Bytes kept by the cache of a reader, the largest file that it reads, and
/// bytes that it reads of one container.
constexpr uint64_t kCacheBytes = 64 * limits::kMiB;
constexpr uint64_t kMaxRead = 64 * limits::kMiB;
constexpr uint64_t kMaxOfOne = 256 * limits::kMiB;

/// Opens, lists and reads all of a container and of the containers in it, and
/// compares files with `reference` unless it is null. Calls `say` for each that
/// differs. Aborts if it finds what no container may have (RequireSound).
void ReadThrough(Result<std::shared_ptr<const Source>> source,
                 const OpenOptions& options, const Reference* reference,
                 const std::function<void(const std::string&)>& say,
                 Tally& tally);

}  // namespace ctxfs

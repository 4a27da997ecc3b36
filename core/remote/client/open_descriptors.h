// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "core/cache/block_file.h"
#include "core/io/fd.h"
#include "core/remote/client/messages.h"

namespace ctxfs::remote {

/// Keeps the most recently used files of the cache open. Not thread-safe, but
/// the files are.
class OpenDescriptors {
 public:
  /// Maximum number of open files, enough for prefetching. Each file uses a
  /// descriptor, and its bytes stay on the disk even after the cache evicts it.
  static constexpr size_t kMax = 64;
  using FilePtr = std::shared_ptr<const BlockFile>;

  void Add(uint64_t object, BlockFile file);
  /// Whether a file has this granule.
  bool Has(uint64_t object, uint64_t granule) const;
  /// Returns the file with this granule; null if there is none. Skips and
  /// closes files with this granule that the cache has evicted.
  FilePtr Find(uint64_t object, uint64_t granule);
  void Drop(const FilePtr& file);
  size_t size() const { return files_.size(); }

 private:
  struct Held {
    uint64_t object;
    FilePtr file;
  };

  std::list<Held> files_;  // least recently used first
};

/// Returns the files of a reply, except those whose descriptors are missing or
/// whose heads are damaged.
std::vector<BlockFile> LoadPassed(const FetchReply& reply,
                                  std::vector<Fd> descriptors);

/// Whether a file of the reply has the granule. If so, its slot does not.
bool IsPassed(const FetchReply& reply, uint64_t granule);

/// Returns the buffers of those granules that fit whole into `out`, at most
/// `most`. `out` is the buffer for the bytes at `offset` of an object of `size`
/// bytes. Empty unless a granule begins at `offset`.
std::vector<MutableBytes> WholeGranules(uint64_t size, uint64_t offset,
                                        MutableBytes out, uint64_t most);

}  // namespace ctxfs::remote

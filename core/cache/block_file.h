// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/io/fd.h"

namespace ctxfs {

/// An open file of a BlockStore with a parsed head. It needs only the
/// descriptor, not the directory of the store. The file may be removed or
/// damaged at any time: a block with a wrong checksum is not returned. Safe for
/// any number of threads.
class BlockFile {
 public:
  static constexpr uint64_t kBlockBytes = 64 * 1024;
  static constexpr size_t kDigestBytes = 32;

  /// Parses the head of a file that should have `count` blocks from number
  /// `first` on, of the object whose key has this raw SHA-256. Returns nullopt
  /// if the head is damaged or differs.
  static std::optional<BlockFile> Load(Fd file, uint64_t first, uint32_t count,
                                       std::string_view digest);

  static size_t HeadBytes(uint32_t count);
  /// Returns the head of a file with these blocks.
  static std::string HeadOf(std::string_view digest, uint64_t first,
                            const std::vector<Bytes>& blocks);

  /// Fills `out` with consecutive blocks from number `first` on, and returns
  /// their number. Stops at a block that is damaged or not in the file. Each
  /// element of `out` must have the size of its block. The rest of `out` is
  /// undefined. Buffers that are adjacent in memory take fewer system calls.
  size_t Read(uint64_t first, std::span<const MutableBytes> out) const;

  uint64_t first() const { return first_; }
  uint32_t count() const { return static_cast<uint32_t>(sums_.size()); }
  /// The number of the last block plus 1.
  uint64_t end() const { return first_ + sums_.size(); }
  bool Covers(uint64_t number) const {
    return number >= first_ && number < end();
  }
  /// Whether the file was removed from the store.
  bool dropped() const;
  int descriptor() const { return file_.get(); }
  const std::string& digest() const { return digest_; }

 private:
  explicit BlockFile(Fd file) : file_(std::move(file)) {}

  /// Reads adjacent blocks from index `i` on by one call; false if the file is
  /// too short, or cannot be read.
  bool ReadRun(uint64_t i, MutableBytes run) const;

  Fd file_;
  std::string digest_;
  uint64_t first_ = 0;
  uint64_t bytes_ = 0;  // of all blocks
  std::vector<uint64_t> sums_;
};

}  // namespace ctxfs

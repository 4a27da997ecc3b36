// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/lru_map.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/content/verdict.h"
#include "core/formats/mds/index.h"
#include "core/io/source.h"

namespace ctxfs::mds {

/// The file of a shard: the raw one, or the compressed one.
struct ShardFile {
  SourcePtr source;
  /// Verifies the bytes of a raw shard. Null for a compressed shard, without a
  /// known hash, or with verify=off.
  std::shared_ptr<const ChecksumGuard> guard;
  /// The decoded bytes of a compressed shard; null for a raw one.
  std::shared_ptr<const Block> block;

  /// The bytes [offset, offset + length) of the decoded shard, verified before
  /// they are read.
  Content Part(uint64_t offset, uint64_t length) const;
};

/// The shards of a data set. Thread-safe once Load has returned.
class Shards : public std::enable_shared_from_this<Shards> {
 public:
  Shards(SourcePtr folder, Index index, const OpenOptions& options)
      : folder_(std::move(folder)),
        index_(std::move(index)),
        options_(options) {}

  /// Examines the file of each shard. Must be called once, first. Returns
  /// warnings, of at most kMaxWarnings shards.
  Result<std::vector<Warning>> Load(const Request& request);

  const Index& index() const { return index_; }
  const ShardRecord& record(uint32_t shard) const {
    return index_.shards[shard];
  }
  uint32_t count() const { return static_cast<uint32_t>(index_.shards.size()); }
  /// The shard of a sample.
  uint32_t ShardOf(uint32_t sample) const;
  bool compressed(uint32_t shard) const {
    return states_[shard].form == Form::kZip;
  }
  /// Bytes of the files that Load could open: the raw file of each shard, and
  /// the compressed one if the raw one has a fault.
  uint64_t stored_bytes() const { return stored_bytes_; }

  /// Returns the reason why the shard cannot be read, as far as Load found one
  /// in the index and the file's attributes.
  std::optional<Error> Fault(uint32_t shard) const;
  /// Returns the name of the shard's file.
  const std::string& FileName(uint32_t shard) const { return File(shard).name; }
  /// Whether the file of the shard does not exist.
  bool IsMissing(uint32_t shard) const {
    return states_[shard].fault == Trouble::kMissing;
  }
  /// Returns "yes", "no", "failed" or "none", as in EntryInfo::verified.
  std::string VerifiedText(uint32_t shard) const;
  bool HasHash(uint32_t shard) const;
  Verdict verdict(uint32_t shard) const { return states_[shard].verdict; }

  /// Opens the file of the shard. Fails with Fault, or with kStale if the file
  /// has changed since Load.
  Result<ShardFile> Open(uint32_t shard, const Request& request) const;

  /// Fails unless the header of the shard agrees with the index. `header` must
  /// have its first 8 bytes.
  Status CheckHeader(uint32_t shard, Bytes header) const;
  /// Whether CheckHeader has passed for the shard.
  bool KnowsHeader(uint32_t shard) const { return states_[shard].header; }

  /// Compares all hashes of the shard's file and of its decoded bytes.
  Status CompareHashes(uint32_t shard, const ReadContext& context) const;

  /// Returns the name of a shard for messages, such as "shard
  /// 'shard.00000.mds'".
  std::string Label(uint32_t shard) const;

 private:
  friend class DecodedShard;

  enum class Form : uint8_t { kRaw, kZip };
  enum class Trouble : uint8_t {
    kNone,
    kMissing,
    kOutside,
    kUnreadable,
    kSize,
    kColumns,
    kNotOpened,
    kLimit,
    kCompression,
  };
  struct State {
    Form form = Form::kRaw;
    Trouble fault = Trouble::kNone;
    std::atomic<bool> header = false;
    std::atomic<Verdict> verdict = Verdict::kUnknown;
    uint64_t stamp = 0;  // of the file's identity
  };

  const StoredFile& File(uint32_t shard) const {
    const ShardRecord& of = record(shard);
    return compressed(shard) ? *of.zip : of.raw;
  }
  Result<SourcePtr> OpenNamed(const std::string& name,
                              const Request& request) const;
  Status Examine(uint32_t shard, const Request& request);
  /// Examines one form of the shard, and sets the shard's state to this form
  /// and to the fault of `file`, if any. Fails only on errors that are not the
  /// file's, such as an interruption.
  Status Examine(uint32_t shard, Form form, const StoredFile& file,
                 const Request& request);
  Trouble TroubleOfZip(const ShardRecord& record) const;
  Result<SourcePtr> SourceOf(uint32_t shard, const Request& request) const;
  Result<Buffer> Decode(uint32_t shard, const SourcePtr& source,
                        const ReadContext& context) const;
  std::atomic<Verdict>& VerdictOf(uint32_t shard) const {
    return states_[shard].verdict;
  }

  const SourcePtr folder_;  // a directory, or index.json
  const Index index_;
  const OpenOptions options_;
  const uint64_t guards_ = NewOwner();
  const uint64_t blocks_ = NewOwner();
  uint64_t stored_bytes_ = 0;
  mutable std::vector<State> states_;
  mutable Mutex mutex_;
  /// The files that were used most recently.
  mutable LruMap<uint32_t, SourcePtr> open_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs::mds

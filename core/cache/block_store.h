// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/environment.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/cache/block_file.h"
#include "core/cache/write_pause.h"
#include "core/io/fd.h"

namespace ctxfs {

/// Blocks of remote objects on the local disk, shared by all processes of a
/// user. An object is named by a key, which must change with its bytes. Each
/// file holds a run of blocks with the xxh3 of each; it is written under
/// another name first, so that it is whole or not there. A block that does not
/// match its checksum is not given out. Besides blocks there are records: texts
/// that change, and whole files, which the kernel can read by itself. Safe for
/// any number of threads: one that writes a file does not keep others from
/// reading.
///
/// A file, little-endian:
///   0   8 bytes "ctxfsblk"
///   8   u32 version, 1
///   12  u32 count of blocks, 1 to kMaxBlocks
///   16  u64 number of the first block
///   24  u64 bytes of all blocks
///   32  32 bytes SHA-256 of the key
///   64  count times u64 xxh3 of a block
///   then u64 xxh3 of everything before, and the blocks
/// A record is a file with a single block, of any length.
///
/// Under mutex_ it holds:
///  - A run of an Object has 1 to kMaxBlocks blocks, and is at the number of
///    its last one. Its file may be gone, and files that others wrote may be
///    missing until the directory is listed again.
///  - There are at most kMaxObjects objects, each with a descriptor.
class BlockStore {
 public:
  static constexpr uint64_t kBlockBytes = BlockFile::kBlockBytes;
  static constexpr uint32_t kMaxBlocks = 64;

  /// Whether a file with a damaged block is dropped or kept. Its other blocks
  /// are of use if they cannot be fetched again.
  enum class Damaged : uint8_t { kDropped, kKept };

  /// Opens or makes the store in `directory`, with mode 0700, for `most` bytes
  /// of blocks. Fails with kIo; if others may read the directory and it has
  /// files that are not a store's, because these would lose them.
  static Result<std::unique_ptr<BlockStore>> Open(
      const std::string& directory, uint64_t most,
      Damaged damaged = Damaged::kDropped);

  /// Fills `out` with the blocks of an object from number `first` on, as far as
  /// one file has them undamaged, and returns how many those are. Each of `out`
  /// has the size of its block: kBlockBytes, or less for the last one of the
  /// object. The contents of the others are undefined.
  size_t Read(const std::string& key, uint64_t first,
              std::span<const MutableBytes> out);

  /// Opens the file that has block `number`; nullopt if there is none, or its
  /// head is damaged.
  std::optional<BlockFile> OpenFile(const std::string& key, uint64_t number);

  /// The number of the first block from `number` on, and before `end`, that a
  /// file seems to have; `end` if there is none. Opens no file.
  uint64_t NextKept(const std::string& key, uint64_t number, uint64_t end);

  /// Keeps a run of blocks: all have kBlockBytes but the last one, which may be
  /// shorter. Returns whether they are kept: not if the disk has no room.
  bool Write(const std::string& key, uint64_t first,
             const std::vector<Bytes>& blocks);

  /// Returns the record with this key; nullopt if there is none, or it is
  /// damaged.
  std::optional<std::string> ReadRecord(const std::string& key);

  /// Keeps a record of at most kBlockBytes in place of the one with the same
  /// key. Otherwise like Write.
  void WriteRecord(const std::string& key, const std::string& record);

  /// A file that was kept as it is, and the digest that it was kept with.
  struct Whole {
    Fd file;
    std::string digest;
  };
  /// Opens the file with this key; nullopt if there is none. Its bytes are not
  /// compared with the digest.
  std::optional<Whole> OpenWhole(const std::string& key);

  /// Keeps an open file that has no name yet and is on the same disk, unless
  /// there is one with the same key and digest. Otherwise like Write.
  bool KeepWhole(const std::string& key, int file, const std::string& digest);

  /// Removes the file with this key and digest.
  void DropWhole(const std::string& key, const std::string& digest);

  /// Drops the files that were used least recently until the store is no larger
  /// than it may be, if much was written since the last call, or in the first
  /// one after a file was written. Takes 0.2 s for 100,000 files; others may
  /// use the store meanwhile.
  void MakeRoom();

  /// The errno with which the disk refuses writes; 0 if it takes them. After a
  /// refusal nothing is written for WritePause::kLasts, or until room was made.
  int refusal() const;

  /// The descriptor of the directory, for a sandbox.
  int descriptor() const { return top_.get(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Run {
    uint64_t first;
    uint32_t count;
    Clock::time_point touched = {};
  };
  /// What is known of the directory of an object.
  struct Object {
    Fd directory{-1};
    int64_t seen_ns = -1;  // its mtime when it was listed
    Clock::time_point listed = {};
    std::map<uint64_t, Run> runs;  // by the number of their last block
  };

  BlockStore(Fd top, uint64_t most, Damaged damaged)
      : top_(std::move(top)), most_(most), damaged_(damaged) {}

  /// A `digest` is the raw SHA-256 of a key. The object is gone with the next
  /// Find.
  Object* Find(const std::string& digest, bool create) CTXFS_REQUIRES(mutex_);
  static void List(Object& object);
  static Run* RunWith(Object& object, uint64_t number);
  static uint64_t NextIn(const Object& object, uint64_t number, uint64_t end);
  /// Opens the file that has the block. Returns a run of no blocks if there is
  /// no such file, or if opening it failed, as it does without descriptors.
  std::pair<Fd, Run> OpenRun(const std::string& digest, uint64_t number);
  /// Drops a damaged file, unless such are kept.
  void DropDamaged(const std::string& digest, uint64_t first, uint32_t count);
  /// Opens the directory of an object, which is made if `create`.
  Fd OpenObject(const std::string& name, bool create) const;
  /// Writes a file called `last`. Returns whether it is kept.
  bool Keep(const std::string& digest, const std::string& last, uint64_t first,
            const std::vector<Bytes>& blocks);
  /// Like Keep, but tries even while writing is paused. Returns 0 if the file
  /// is kept, else an errno.
  int WriteFile(const std::string& digest, const std::string& last,
                uint64_t first, const std::vector<Bytes>& blocks);
  /// Makes a file to be written, and sets its `name`. Fails by its errno.
  Fd OpenUnfinished(const std::string& digest, std::string* name);
  /// Gives that file the name `last` if nothing `failed`, or removes it.
  /// Returns an errno.
  int Finish(const std::string& digest, const std::string& name,
             const std::string& last, int failed);
  /// The raw SHA-256 of a key.
  static std::string DigestOf(const std::string& key);
  /// Whether much was written since room was made; then what was written counts
  /// as seen.
  bool TakeDue();
  /// Whether the disk was full since room was made for that.
  bool TakeFull();
  /// Drops the least recently used files until at most `most` bytes are left;
  /// returns the bytes that were dropped. Does nothing while another process or
  /// thread does so.
  uint64_t Evict(uint64_t most) const;

  const Fd top_;
  const uint64_t most_;
  const Damaged damaged_;
  mutable Mutex mutex_;
  WritePause pause_ CTXFS_GUARDED_BY(mutex_);
  bool full_ CTXFS_GUARDED_BY(mutex_) = false;  // room is to be made for that
  // Since room was made for that. What others wrote before is not known.
  bool kept_ CTXFS_GUARDED_BY(mutex_) = true;
  // Bytes written since room was made.
  uint64_t unseen_ CTXFS_GUARDED_BY(mutex_) = 0;
  bool seen_ CTXFS_GUARDED_BY(mutex_) = false;     // room was made before
  uint64_t written_ CTXFS_GUARDED_BY(mutex_) = 0;  // files
  // By the hex digest of the key.
  std::map<std::string, Object> objects_ CTXFS_GUARDED_BY(mutex_);
};

/// Returns the directory for such a store: $CTXFS_CACHE_DIR, or else ctxfs in
/// $XDG_CACHE_HOME or ~/.cache; empty if none of them is set.
std::string CacheDirectory(const Environment& environment);

/// Returns the bytes that such a store may take: $CTXFS_CACHE_BYTES, or else 10
/// GiB.
uint64_t CacheBytes(const Environment& environment);

}  // namespace ctxfs

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
/// file contains a run of blocks with the xxh3 of each. It is written under a
/// temporary name and renamed, so it is complete or absent. Blocks with a wrong
/// checksum are not returned. Besides blocks there are records (texts that
/// change) and whole files, which the kernel can read by itself. Safe for any
/// number of threads: writers do not block readers.
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
/// A record is a file with a single block, of at most kBlockBytes.
///
/// Invariants under mutex_:
///  - A run of an Object has 1 to kMaxBlocks blocks, and is indexed by its last
///    block. Its file may have been removed. Runs that other processes have
///    written may be missing until the object's directory is listed again.
///  - There are at most kMaxObjects objects, each with a descriptor.
class BlockStore {
 public:
  static constexpr uint64_t kBlockBytes = BlockFile::kBlockBytes;
  static constexpr uint32_t kMaxBlocks = 64;

  /// Whether a file with a damaged block is removed. Keeping it helps if its
  /// other blocks cannot be fetched again.
  enum class Damaged : uint8_t { kDropped, kKept };

  /// Opens or creates the store in `directory`, with mode 0700, for files of
  /// `most` bytes in total. Fails with kIo. Also fails if other users may read
  /// the directory and it has foreign files, because mode 0700 would deny these
  /// users access to the files.
  static Result<std::unique_ptr<BlockStore>> Open(
      const std::string& directory, uint64_t most,
      Damaged damaged = Damaged::kDropped);

  /// Fills `out` with undamaged consecutive blocks of an object from number
  /// `first` on, as far as a single file has them, and returns their number.
  /// Each element of `out` must have the size of its block: kBlockBytes, or
  /// less for the last block of the object. The rest of `out` is undefined.
  size_t Read(const std::string& key, uint64_t first,
              std::span<const MutableBytes> out);

  /// Opens the file with block `number`; nullopt if there is none, or its head
  /// is damaged.
  std::optional<BlockFile> OpenFile(const std::string& key, uint64_t number);

  /// The first block in [number, end) that seems to be stored; `end` if there
  /// is none. Opens no file.
  uint64_t NextKept(const std::string& key, uint64_t number, uint64_t end);

  /// Stores a run of 1 to kMaxBlocks blocks. Each block must have kBlockBytes
  /// bytes, except the last, which may be shorter. Returns whether they were
  /// stored; they are not if the disk is full, for example.
  bool Write(const std::string& key, uint64_t first,
             const std::vector<Bytes>& blocks);

  /// Returns the record with this key; nullopt if it is absent or damaged.
  std::optional<std::string> ReadRecord(const std::string& key);

  /// Replaces the record with this key. Stores nothing if `record` is longer
  /// than kBlockBytes, or if the disk is full, for example.
  void WriteRecord(const std::string& key, const std::string& record);

  /// A whole file, and the digest with which it was stored.
  struct Whole {
    Fd file;
    std::string digest;
  };
  /// Opens the whole file with this key; nullopt if there is none. Does not
  /// compare its bytes with the digest.
  std::optional<Whole> OpenWhole(const std::string& key);

  /// Stores `file`, an open file on the same disk that must be unnamed, unless
  /// the store has a file with this key and digest. Returns whether it has one
  /// now.
  bool KeepWhole(const std::string& key, int file, const std::string& digest);

  /// Removes the whole file with this key and digest.
  void DropWhole(const std::string& key, const std::string& digest);

  /// Evicts the least recently used files if more than 1/16 of the bound was
  /// written since the last eviction or, before the first eviction, if anything
  /// was written. The store then has at most 15/16 of its bound. On a full
  /// disk, evicts down to half of the bound, because other programs need the
  /// space more than this cache. Takes 0.2 s for 100,000 files; other threads
  /// and processes may use the store meanwhile.
  void MakeRoom();

  /// Whether the store has no objects.
  bool IsEmpty() const;

  /// The errno with which the disk refuses writes; 0 if it accepts them. After
  /// a refusal Keep writes nothing for WritePause::kLasts, or until space is
  /// freed.
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
  /// The known state of an object's directory.
  struct Object {
    Fd directory{-1};
    int64_t seen_ns = -1;  // its mtime at the last listing
    Clock::time_point listed = {};
    std::map<uint64_t, Run> runs;  // by the number of their last block
  };

  BlockStore(Fd top, uint64_t most, Damaged damaged)
      : top_(std::move(top)), most_(most), damaged_(damaged) {}

  /// Returns the object whose key has the raw SHA-256 `digest`; null if its
  /// directory cannot be opened. Creates the directory if `create`. The next
  /// Find invalidates the result.
  Object* Find(const std::string& digest, bool create) CTXFS_REQUIRES(mutex_);
  static void List(Object& object);
  static Run* RunWith(Object& object, uint64_t number);
  static uint64_t NextIn(const Object& object, uint64_t number, uint64_t end);
  /// Opens the file with the block. Returns an empty run if there is none, or
  /// if opening it failed, for instance for lack of descriptors.
  std::pair<Fd, Run> OpenRun(const std::string& digest, uint64_t number);
  /// Removes a damaged file, unless damaged files are kept.
  void DropDamaged(const std::string& digest, uint64_t first, uint32_t count);
  /// Opens the directory of an object; creates it if `create`.
  Fd OpenObject(const std::string& name, bool create) const;
  /// Writes a file named `last`. Returns whether it was stored.
  bool Keep(const std::string& digest, const std::string& last, uint64_t first,
            const std::vector<Bytes>& blocks);
  /// Like Keep, but also writes while writing is paused. Returns 0 or an errno.
  int WriteFile(const std::string& digest, const std::string& last,
                uint64_t first, const std::vector<Bytes>& blocks);
  /// Creates a file to be written, and sets its `name`. Fails with an errno.
  Fd OpenUnfinished(const std::string& digest, std::string* name);
  /// Renames the file `name` to `last`. Removes it if `failed`, an errno, is
  /// not 0, or if it cannot be renamed. Returns 0 or an errno.
  int Finish(const std::string& digest, const std::string& name,
             const std::string& last, int failed);
  static std::string DigestOf(const std::string& key);
  /// Whether enough was written for the next eviction to be due (MakeRoom); if
  /// so, resets the count of written bytes.
  bool TakeDue();
  /// Returns whether an eviction for a full disk is due, and resets that.
  bool TakeFull();
  /// Removes the least recently used files until at most `most` bytes are left;
  /// returns their bytes. Also removes abandoned files and empty directories.
  /// Does nothing while another process or thread evicts.
  uint64_t Evict(uint64_t most) const;

  const Fd top_;
  const uint64_t most_;
  const Damaged damaged_;
  mutable Mutex mutex_;
  WritePause pause_ CTXFS_GUARDED_BY(mutex_);
  bool full_ CTXFS_GUARDED_BY(mutex_) = false;  // the disk is full: evict
  // Whether a write has succeeded since full_ was last set. If none has, full_
  // is not set again. True at first, because earlier writes of other processes
  // are unknown.
  bool kept_ CTXFS_GUARDED_BY(mutex_) = true;
  // Bytes written since TakeDue last returned true.
  uint64_t unseen_ CTXFS_GUARDED_BY(mutex_) = 0;
  bool seen_ CTXFS_GUARDED_BY(mutex_) = false;     // TakeDue was true
  uint64_t written_ CTXFS_GUARDED_BY(mutex_) = 0;  // files begun
  // By the hex digest of the key.
  std::map<std::string, Object> objects_ CTXFS_GUARDED_BY(mutex_);
};

/// The default directory: $CTXFS_CACHE_DIR, or else ctxfs in $XDG_CACHE_HOME,
/// or else in ~/.cache; empty if there is none. Ignores a relative
/// $XDG_CACHE_HOME or $HOME.
std::string CacheDirectory(const Environment& environment);

/// The maximum bytes of the store: $CTXFS_CACHE_BYTES, or else 10 GiB.
uint64_t CacheBytes(const Environment& environment);

}  // namespace ctxfs

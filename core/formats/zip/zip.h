// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/lru_map.h"
#include "core/base/mutex.h"
#include "core/compressed/seekable_deflate.h"
#include "core/container/container.h"
#include "core/container/format.h"
#include "core/content/verdict.h"
#include "core/formats/zip/directory.h"
#include "core/formats/zip/links.h"

namespace ctxfs::zip {

/// The members whose local header and directory have different forms of the
/// name; at most kMaxNoted. Thread-safe.
class OtherNames {
 public:
  static constexpr size_t kMaxNoted = 10'000;

  /// Adds a member; `at` is the offset of its local header.
  void Note(uint32_t member, uint64_t at);
  bool Has(uint32_t member) const;
  /// Returns a warning with the number of members; nullopt if there are none.
  std::optional<Warning> Warn() const;

 private:
  mutable Mutex mutex_;
  std::map<uint32_t, uint64_t> noted_ CTXFS_GUARDED_BY(mutex_);
};

/// An LRU cache of an archive's large deflate members.
class LargeMembers {
 public:
  /// Returns member `number`; creates it from `data` if it is not cached.
  std::shared_ptr<const SeekableDeflate> Get(
      uint32_t number, const DeflateData& data,
      std::shared_ptr<AtomicVerdict> verdict) const;

 private:
  using Members = LruMap<uint32_t, std::shared_ptr<const SeekableDeflate>>;
  mutable Mutex mutex_;
  mutable Members kept_ CTXFS_GUARDED_BY(mutex_);
};

/// Opens the members of an archive. Immutable except for verdicts,
/// other_names() and a cache of large members. Opened contents do not need this
/// object: they keep the source and the verdicts alive.
class Archive : public std::enable_shared_from_this<Archive> {
 public:
  struct Options {
    /// Whether a member's CRC-32 is verified before its bytes are served.
    bool verify = true;
    /// Whether a CRC-32 of 0 means that the writer computed none.
    bool zero_is_no_checksum = false;
  };

  Archive(std::shared_ptr<const Source> source, Directory directory,
          const Options& options);

  const Directory& directory() const { return directory_; }
  const std::shared_ptr<const Source>& source() const { return source_; }
  uint32_t count() const {
    return static_cast<uint32_t>(directory_.members.size());
  }
  const Member& member(uint32_t number) const {
    return directory_.members[number];
  }
  std::string_view Name(uint32_t number) const {
    return directory_.ShownName(member(number));
  }

  /// Returns the error for a member that cannot be opened according to the
  /// directory; kLocked if it is encrypted.
  std::optional<Error> MemberFault(uint32_t number) const;

  /// Returns a member's decoded size in bytes; 0 if it has a fault other than
  /// encryption.
  uint64_t Size(uint32_t number) const;

  /// Opens the decoded bytes of a member. Reads its local header. Fails with
  /// kCorrupt if the header has no signature or another name, or if the data
  /// overlaps the next member. If the header has another form of the name, adds
  /// the member to other_names(). Reading fails with kCorrupt or kChecksum
  /// unless the data decodes to exactly the size and CRC-32 in the directory.
  Result<Content> Open(uint32_t number, const Request& request) const;

  /// Returns the first bytes of a member, at most `most`, decoded but not
  /// verified. Usually reads a few KiB, at most 1 MiB more than `most`.
  Result<Buffer> Prefix(uint32_t number, uint64_t most,
                        const Request& request) const;

  /// Prefetches the first KiB of each of the members [from, to): its local
  /// header, and usually its .npy header.
  void PrefetchStarts(uint32_t from, uint32_t to) const;

  const OtherNames& other_names() const { return other_names_; }

  /// Describes a member from the directory.
  EntryInfo Describe(uint32_t number) const;

 private:
  /// Returns the offset of a member's data (docs/formats/zip.md, section 5).
  /// Fails with MemberFault if there is one.
  Result<uint64_t> DataOffset(uint32_t number, const Request& request) const;
  std::shared_ptr<AtomicVerdict> VerdictOf(uint32_t number) const;
  /// Returns the checksum in the directory; none if the writer computed none.
  Checksum StoredChecksum(uint32_t number) const;
  /// Returns the checksum that reads verify; none if verification is off.
  Checksum ExpectedChecksum(uint32_t number) const;

  const std::shared_ptr<const Source> source_;
  const Directory directory_;
  const Options options_;
  const uint64_t owner_ = NewOwner();
  const std::shared_ptr<std::vector<AtomicVerdict>> verdicts_;
  const LargeMembers large_;
  mutable OtherNames other_names_;
};

/// Calls ReadDirectory. With salvage, if that fails, calls ReadDirectory with
/// `salvage`, and then SalvageDirectory.
Result<Directory> OpenDirectory(const Source& source,
                                const OpenOptions& options,
                                const ReadContext& context);

/// Returns the members as entries of a container, and removes the prefix `top`
/// from their paths. Omits members outside `top`, and symbolic links.
std::shared_ptr<const FileTable> MemberTable(
    std::shared_ptr<const Archive> archive, Placement placement,
    std::string top = {});

/// Opens an archive as a container of its members (section 14).
Result<std::shared_ptr<const Container>> MakeZipContainer(
    std::shared_ptr<const Source> source, Directory directory,
    const OpenOptions& options, const ReadContext& context);

/// Whether `head` starts like an archive with members.
bool StartsWithMember(Bytes head);

}  // namespace ctxfs::zip

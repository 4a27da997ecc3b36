// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "core/compressed/seekable_deflate.h"
#include "core/container/container.h"
#include "core/container/format.h"
#include "core/content/verdict.h"
#include "core/formats/zip/directory.h"
#include "core/formats/zip/links.h"

namespace ctxfs::zip {

/// Members whose local header has another form of the name than the directory;
/// at most kMaxNoted. Thread-safe.
class OtherNames {
 public:
  static constexpr size_t kMaxNoted = 10'000;

  /// `at`: byte of the local header.
  void Note(uint32_t member, uint64_t at);
  bool Has(uint32_t member) const;
  /// Returns nullopt if there are none.
  std::optional<Warning> Warn() const;

 private:
  mutable Mutex mutex_;
  std::map<uint32_t, uint64_t> noted_ CTXFS_GUARDED_BY(mutex_);
};

/// The deflate members of one archive that were last read in parts.
class LargeMembers {
 public:
  /// Member `number`, made from `data` if it is not among them.
  std::shared_ptr<const SeekableDeflate> Get(
      uint32_t number, const DeflateData& data,
      std::shared_ptr<AtomicVerdict> verdict) const;

 private:
  struct Kept {
    uint32_t number;
    std::shared_ptr<const SeekableDeflate> member;
  };
  mutable Mutex mutex_;
  mutable std::list<Kept> kept_ CTXFS_GUARDED_BY(mutex_);
};

/// Opens the members of an archive. Immutable except for the verdicts. Keeps
/// the source alive; opened contents keep the archive alive.
class Archive : public std::enable_shared_from_this<Archive> {
 public:
  struct Options {
    /// Verify a member's CRC-32 before serving its bytes.
    bool verify = true;
    /// A CRC-32 of 0 means that the writer computed none.
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

  /// Returns why the directory forbids opening a member; kLocked if encrypted.
  std::optional<Error> MemberFault(uint32_t number) const;

  /// Returns a member's size, bytes; 0 for a fault other than encryption.
  uint64_t Size(uint32_t number) const;

  /// Opens the decoded bytes of a member. Reads its local header. Fails with
  /// kCorrupt if the header has no signature or another name, or if the data
  /// overlaps the next member. Notes another form of the name in other_names().
  /// Reading fails with kCorrupt or kChecksum unless the data decodes to
  /// exactly the size and CRC-32 in the directory.
  Result<Content> Open(uint32_t number, const Request& request) const;

  /// Returns the first bytes of a member, at most `most`, decoded but not
  /// verified. Usually reads a few KiB, at most 1 MiB more than `most`.
  Result<Buffer> Prefix(uint32_t number, uint64_t most,
                        const Request& request) const;

  /// Prefetches the starts of the members [from, to): the local header, and as
  /// much data as a short .npy header takes.
  void PrefetchStarts(uint32_t from, uint32_t to) const;

  const OtherNames& other_names() const { return other_names_; }

  /// Describes a member from the directory.
  EntryInfo Describe(uint32_t number) const;

 private:
  /// Returns the offset of a member's data (docs/formats/zip.md, section 5).
  /// Fails with MemberFault if there is one.
  Result<uint64_t> DataOffset(uint32_t number, const Request& request) const;
  std::shared_ptr<AtomicVerdict> VerdictOf(uint32_t number) const;
  /// Return the checksum in the directory, and the checksum that reads verify:
  /// none if verification is off.
  Checksum StoredChecksum(uint32_t number) const;
  Checksum ExpectedChecksum(uint32_t number) const;

  const std::shared_ptr<const Source> source_;
  const Directory directory_;
  const Options options_;
  const uint64_t owner_ = NewOwner();
  const std::shared_ptr<std::vector<AtomicVerdict>> verdicts_;
  const LargeMembers large_;
  mutable OtherNames other_names_;
};

/// Calls ReadDirectory; with salvage, then tries SalvageDirectory.
Result<Directory> OpenDirectory(const Source& source,
                                const OpenOptions& options,
                                const ReadContext& context);

/// Returns the members' files as entries of a container, without the prefix
/// `top` of their paths. Omits members outside `top`, and symbolic links.
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

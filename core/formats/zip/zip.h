// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "core/container/container.h"
#include "core/container/format.h"
#include "core/content/verdict.h"
#include "core/formats/zip/directory.h"
#include "core/formats/zip/inflate_index.h"
#include "core/formats/zip/links.h"

namespace ctxfs::zip {

/// The members whose local headers were found to have their names in another
/// form than the directory; at most kMaxNoted. Safe for any number of threads.
class OtherNames {
 public:
  static constexpr size_t kMaxNoted = 10'000;

  /// `at` is the byte of the local header.
  void Note(uint32_t member, uint64_t at);
  bool Has(uint32_t member) const;
  /// nullopt if there are none.
  std::optional<Warning> Warn() const;

 private:
  mutable Mutex mutex_;
  std::map<uint32_t, uint64_t> noted_ CTXFS_GUARDED_BY(mutex_);
};

/// Opens the members of an archive. Immutable but for the verdicts; keeps the
/// source alive and is kept alive by the contents it opens.
class Archive : public std::enable_shared_from_this<Archive> {
 public:
  struct Options {
    /// The CRC-32 of a member is compared before its bytes are served.
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

  /// Why a member cannot be opened, by the directory alone; kLocked for an
  /// encrypted one.
  std::optional<Error> MemberFault(uint32_t number) const;

  /// Bytes of a member's file: 0 if it has a fault other than encryption.
  uint64_t Size(uint32_t number) const;

  /// The decoded bytes of a member. Reads its local header. Fails with kCorrupt
  /// if that has another name or no signature, or if the data reaches into the
  /// next member. Another form of the name is noted in other_names(). Reading
  /// the content fails with kCorrupt or kChecksum unless the data decodes to
  /// exactly the size and CRC-32 of the directory.
  Result<Content> Open(uint32_t number, const Request& request) const;

  /// The first bytes of a member, at most `most`, decoded but not compared with
  /// its CRC-32. Reads at most a mebibyte more than that many, and mostly a few
  /// KiB.
  Result<Buffer> Prefix(uint32_t number, uint64_t most,
                        const Request& request) const;

  /// Announces to the source that the starts of the members [from, to) are read
  /// soon: their local headers, and as many bytes of data as a short .npy
  /// header takes.
  void PrefetchStarts(uint32_t from, uint32_t to) const;

  const OtherNames& other_names() const { return other_names_; }

  /// Describes a member by the directory.
  EntryInfo Describe(uint32_t number) const;

 private:
  /// The offset of a member's data (docs/formats/zip.md, section 5). Fails with
  /// MemberFault if there is one.
  Result<uint64_t> DataOffset(uint32_t number, const Request& request) const;
  std::shared_ptr<AtomicVerdict> VerdictOf(uint32_t number) const;
  /// The checksum in the directory, and the one that is verified: they differ
  /// if verification is off.
  Checksum StoredChecksum(uint32_t number) const;
  Checksum ExpectedChecksum(uint32_t number) const;

  const std::shared_ptr<const Source> source_;
  const Directory directory_;
  const Options options_;
  const uint64_t owner_ = NewOwner();
  const std::shared_ptr<std::vector<AtomicVerdict>> verdicts_;
  const InflateIndexes indexes_;
  mutable OtherNames other_names_;
};

/// Reads the directory of an archive, as ReadDirectory does; with salvage it
/// uses SalvageDirectory if that fails.
Result<Directory> OpenDirectory(const Source& source,
                                const OpenOptions& options,
                                const ReadContext& context);

/// The files of an archive's members, as entries of a container. Removes `top`
/// from their paths. Leaves out members outside `top`, and symbolic links.
std::shared_ptr<const FileTable> MemberTable(
    std::shared_ptr<const Archive> archive, Placement placement,
    std::string top = {});

/// An archive as a container of its members (docs/formats/zip.md, section 14).
Result<std::shared_ptr<const Container>> MakeZipContainer(
    std::shared_ptr<const Source> source, Directory directory,
    const OpenOptions& options, const ReadContext& context);

/// Whether a file starts like an archive with members.
bool StartsWithMember(Bytes head);

}  // namespace ctxfs::zip

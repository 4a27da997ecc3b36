// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/codec/checksum.h"
#include "core/codec/codec.h"
#include "core/container/container.h"
#include "core/container/facts/facts.h"
#include "core/container/format.h"
#include "core/content/verdict.h"

namespace ctxfs::shard {

/// The header (docs/formats/shard.md, section 2); sizes in bytes, offsets
/// absolute.
struct ShardHeader {
  static constexpr uint64_t kSize = 64;

  uint8_t version = 0;
  uint8_t role = 0;
  uint16_t flags = 0;
  uint8_t alignment = 0;
  uint8_t compression_default = 0;
  uint16_t index_entry_size = 0;
  uint32_t entry_count = 0;
  uint64_t string_table_offset = 0;
  uint64_t data_section_offset = 0;
  uint64_t schema_offset = 0;
  uint64_t total_file_size = 0;
};

/// Roles that change how a container is read (docs/formats/shard.md, section
/// 4).
constexpr uint8_t kUnknownRole = 0;
constexpr uint8_t kModelRole = 1;
constexpr uint8_t kSampleRole = 2;
constexpr uint8_t kGemmRole = 3;
constexpr uint8_t kManifestRole = 4;
constexpr uint8_t kWShardRole = 5;
constexpr uint8_t kGraphRole = 6;
constexpr uint8_t kTraceRole = 7;
constexpr uint8_t kColumnRole = 8;

/// Types of contents that change how an entry is shown (section 5).
constexpr uint16_t kTensorContent = 1;
constexpr uint16_t kJsonContent = 2;
constexpr uint16_t kCowrieContent = 3;

/// The one flag of the header that changes anything: every entry has a
/// checksum, also one of 0 (section 10).
constexpr uint16_t kHasChecksums = 0x0020;

/// Whether `head` is the start of a Shard container of that role.
bool HasShardRole(Bytes head, uint8_t role);

/// HasShardRole as a probe.
template <uint8_t kRole>
bool HasRole(Bytes head) {
  return HasShardRole(head, kRole);
}

/// An index record (docs/formats/shard.md, section 5).
struct ShardRecord {
  static constexpr uint64_t kSize = 48;
  /// The position in the file of an entry's record, or of a field in it.
  static constexpr uint64_t At(uint32_t entry, uint64_t field = 0) {
    return ShardHeader::kSize + kSize * entry + field;
  }

  uint32_t number = 0;  // of the entry
  uint64_t name_hash = 0;
  uint32_t name_offset = 0;
  uint16_t name_length = 0;
  uint16_t flags = 0;
  uint64_t data_offset = 0;
  uint64_t disk_size = 0;
  uint64_t orig_size = 0;
  uint32_t checksum = 0;
  uint16_t content_type = 0;
  uint16_t tag_bits = 0;

  bool compressed() const { return (flags & kCompressed) != 0; }
  bool ambiguous_codec() const { return (flags & kBoth) == kBoth; }
  bool zstd() const { return (flags & kZstd) != 0; }
  bool lz4() const { return (flags & kLz4) != 0; }

 private:
  static constexpr uint16_t kCompressed = 0x0001;
  static constexpr uint16_t kZstd = 0x0002;
  static constexpr uint16_t kLz4 = 0x0004;
  static constexpr uint16_t kBoth = kZstd | kLz4;
};

/// How an entry is encrypted (docs/formats/conventions.md, section 1).
struct ShardSeal {
  std::string salt;
  std::string info;
  Codec inner = Codec::kNone;  // of the decrypted bytes
  uint64_t inner_size = 0;     // decoded bytes; unused for kNone
};

/// A Shard v2 container of any role, as an archive of named entries. The
/// classes of the profiles derive from it.
class ShardContainer : public Container, public SaysFacts {
 public:
  ShardContainer(std::shared_ptr<const Source> source,
                 const OpenOptions& options)
      : Container(std::move(source)), options_(options) {}

  /// Reads and checks header, index and names. Reads no entry's data. Must be
  /// called once, before any other function.
  virtual Status Load(const ReadContext& context);

  void AddInfo(Json& info, const ReadContext& context) const override;
  std::vector<Error> Inspect(const ReadContext& context) const override;
  Json Metadata(const Request& request) const override;
  void Annotate(const Json& metadata, EntryInfo& info) const override;
  /// The entries and metadata.json; profiles append theirs.
  Tables Files() const override;
  /// Profiles add theirs by AddOwnFacts.
  Status AddFacts(const ReadContext& context, Facts& facts) const override;

  /// The entries under their names.
  std::shared_ptr<const FileTable> EntryTable() const;
  /// The role of these files: kRawEntries if other files have their bytes.
  virtual Role EntryRole() const { return Role::kEntries; }

  uint32_t entry_count() const { return header_.entry_count; }
  /// The name as stored; nullopt if it cannot be read.
  std::optional<std::string_view> EntryName(uint32_t entry) const;
  /// The path of the entry's file: its name, or "#N".
  virtual std::string_view EntryPath(uint32_t entry,
                                     std::string& scratch) const;
  /// Bytes of the entry's file; 0 for an entry that cannot be read.
  uint64_t EntrySize(uint32_t entry) const;
  virtual EntryInfo Describe(uint32_t entry, const Request& request) const;
  /// See EntryInfo::add_findings.
  virtual void AddFindings(uint32_t /*entry*/, EntryInfo& /*info*/) const {}
  /// The structural fault that makes an entry unreadable. Without salvage such
  /// a fault refuses the container, so an open container has none.
  std::optional<Error> EntryFault(uint32_t entry) const;
  /// Whether the stored bytes are the bytes of the file: neither encoded nor
  /// encrypted.
  bool IsPlain(uint32_t entry) const;
  /// Whether the entry is encrypted and its key is missing.
  bool EntryLocked(uint32_t entry) const;
  virtual Result<Content> OpenEntry(uint32_t entry,
                                    const ReadContext& context) const;

  const ShardHeader& header() const { return header_; }
  ShardRecord Record(uint32_t entry) const;

 protected:
  /// Adds the facts of the profile.
  virtual Status AddOwnFacts(const ReadContext& /*context*/,
                             Facts& /*facts*/) const {
    return {};
  }
  /// Whether the stored bytes must be decoded. In role 5, entries that are
  /// flagged compressed are not if neither they nor the header name a codec.
  bool Encoded(const ShardRecord& record) const;
  Codec PickCodec(const ShardRecord& record, Bytes stored) const;
  /// Whether the entry can be decoded piece by piece, whatever its size.
  bool Streams(const ShardRecord& record) const;
  /// kLimit if the entry is too large to be decoded: in memory, or at all.
  std::optional<Error> TooLarge(const ShardRecord& record,
                                bool in_memory) const;
  /// The bytes of an entry as one block, also if it is plain. Unless they have
  /// to fit into memory, it may be one that has to be streamed.
  Result<std::shared_ptr<const Block>> OpenBlock(uint32_t entry,
                                                 bool in_memory = true) const;
  /// The guard of an entry that is not encoded; null if it has no checksum.
  std::shared_ptr<const ChecksumGuard> OpenGuard(uint32_t entry) const;
  /// This project's conventions for an entry, or null.
  const Json* ConventionsOf(uint32_t entry) const;
  /// How an entry is encrypted, or null.
  const ShardSeal* Seal(uint32_t entry) const;
  /// "entry 7 'NAME'".
  std::string Label(uint32_t entry) const;
  /// Reads all bytes of an entry, decoded and verified, without the cache: for
  /// blocks that are computed from them, and for Load.
  Result<Buffer> ReadEntry(uint32_t entry, const ReadContext& context) const;
  /// The checksum in the index, and the one to verify against: none with
  /// verify=off.
  virtual Checksum StoredChecksum(const ShardRecord& record) const;
  Checksum ExpectedChecksum(const ShardRecord& record) const;
  /// The verdict on the entry's bytes.
  std::shared_ptr<AtomicVerdict> VerdictOf(uint32_t entry) const;

  const OpenOptions options_;

 private:
  /// Load's steps, in order; the first that fails refuses the container.
  Status ReadHeader(const ReadContext& context);
  Status ReadIndex(const ReadContext& context);
  Status ReadNames(const ReadContext& context);
  Status CheckEntries(const ReadContext& context);
  Status ReadConventions(const ReadContext& context);

  /// Returns the error, which refuses the container; with salvage it becomes a
  /// warning instead.
  Status Fault(Error error);
  Status CheckOverlaps(const ReadContext& context);
  /// Parses the value at schema_offset; null if there is none. Its length
  /// includes the white space after it.
  Result<ParsedJson> ParseMetadata(const Request& request) const;
  Result<Content> OpenMetadata(const Request& request) const;

  /// Reads the payload of an entry, decoded but not decrypted, without the
  /// cache.
  Result<Buffer> Payload(uint32_t entry, const ReadContext& context) const;
  void AddSeal(uint32_t entry, const Json& encryption);
  /// Decrypted and decoded bytes of an entry whose payload has `payload` bytes;
  /// 0 if they exceed limits::kDecodedBytes.
  uint64_t SealedSize(const ShardSeal& seal, uint64_t payload) const;
  /// The cases of OpenBlock for a readable entry: not encrypted, and encrypted.
  Result<std::shared_ptr<const Block>> OpenStoredBlock(uint32_t entry,
                                                       bool in_memory) const;
  Result<std::shared_ptr<const Block>> OpenSealedBlock(uint32_t entry) const;

  friend class ShardBlock;
  friend class SealedBlock;

  const uint64_t owner_ = NewOwner();
  ShardHeader header_;
  Buffer index_;             // entry_count records as they are in the file
  Buffer names_;             // the string table up to the end of the last name
  uint64_t names_size_ = 0;  // bytes of the string table's region
  uint64_t data_floor_ = 0;  // entry data must not start before this offset
  std::vector<bool> overlapping_;  // empty while no entries overlap
  std::unordered_map<std::string, Json> conventions_;  // by the entry's name
  std::unordered_map<uint32_t, ShardSeal> seals_;
  std::shared_ptr<std::vector<AtomicVerdict>> verdicts_;
};

}  // namespace ctxfs::shard

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

/// The header (docs/formats/shard.md, section 2). Sizes are in bytes; offsets
/// count from the start of the file.
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

/// Roles that change how a container is read (section 4).
constexpr uint8_t kUnknownRole = 0;
constexpr uint8_t kModelRole = 1;
constexpr uint8_t kSampleRole = 2;
constexpr uint8_t kGemmRole = 3;
constexpr uint8_t kManifestRole = 4;
constexpr uint8_t kWShardRole = 5;
constexpr uint8_t kGraphRole = 6;
constexpr uint8_t kTraceRole = 7;
constexpr uint8_t kColumnRole = 8;

/// Content types that change how an entry is shown (section 5).
constexpr uint16_t kTensorContent = 1;
constexpr uint16_t kJsonContent = 2;
constexpr uint16_t kCowrieContent = 3;

/// The header flag that every entry has a checksum, even where the field is 0
/// (section 10). No other header flag has an effect.
constexpr uint16_t kHasChecksums = 0x0020;

bool HasShardRole(Bytes head, uint8_t role);

template <uint8_t kRole>
bool HasRole(Bytes head) {
  return HasShardRole(head, kRole);
}

/// An index record (docs/formats/shard.md, section 5).
struct ShardRecord {
  static constexpr uint64_t kSize = 48;
  /// Returns the offset in the file of an entry's record, or of a field in it.
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

/// Encryption of an entry (docs/formats/conventions.md, section 1).
struct ShardSeal {
  std::string salt;
  std::string info;
  Codec inner = Codec::kNone;  // of the decrypted bytes
  uint64_t inner_size = 0;     // decoded bytes; unused for kNone
};

/// A Shard v2 container of any role: named entries. Profiles derive from it.
class ShardContainer : public Container, public SaysFacts {
 public:
  ShardContainer(std::shared_ptr<const Source> source,
                 const OpenOptions& options)
      : Container(std::move(source)), options_(options) {}

  /// Reads and checks header, index and names. Must be called once, first.
  virtual Status Load(const ReadContext& context);

  void AddInfo(Json& info, const ReadContext& context) const override;
  std::vector<Error> Inspect(const ReadContext& context) const override;
  Json Metadata(const Request& request) const override;
  void Annotate(const Json& metadata, EntryInfo& info) const override;
  /// Returns the entries and metadata.json; profiles append their tables.
  Tables Files() const override;
  /// Profiles override AddOwnFacts to add theirs.
  Status AddFacts(const ReadContext& context, Facts& facts) const override;

  /// Returns the entries under their names.
  std::shared_ptr<const FileTable> EntryTable() const;
  /// Returns the role of the entries' files. Profiles return kRawEntries if
  /// other files show the same bytes.
  virtual Role EntryRole() const { return Role::kEntries; }

  uint32_t entry_count() const { return header_.entry_count; }
  /// Returns the stored name; nullopt if unreadable.
  std::optional<std::string_view> EntryName(uint32_t entry) const;
  /// Returns the path of the entry's file: its name, or "#N".
  virtual std::string_view EntryPath(uint32_t entry,
                                     std::string& scratch) const;
  /// Returns the size of the entry's file in bytes; 0 for an entry that is
  /// unreadable or too large to decode.
  uint64_t EntrySize(uint32_t entry) const;
  virtual EntryInfo Describe(uint32_t entry, const Request& request) const;
  /// Adds the findings of an entry (EntryInfo::add_findings): none, unless a
  /// profile overrides this.
  virtual void AddFindings(uint32_t /*entry*/, EntryInfo& /*info*/) const {}
  /// Returns the structural fault that makes an entry unreadable. Without
  /// salvage, such a fault refuses the container, so no entry of an open
  /// container has such a fault.
  std::optional<Error> EntryFault(uint32_t entry) const;
  /// Whether the entry's file is its stored bytes: not encoded or encrypted.
  bool IsPlain(uint32_t entry) const;
  bool EntryLocked(uint32_t entry) const;
  virtual Result<Content> OpenEntry(uint32_t entry,
                                    const ReadContext& context) const;

  const ShardHeader& header() const { return header_; }
  ShardRecord Record(uint32_t entry) const;

 protected:
  virtual Status AddOwnFacts(const ReadContext& /*context*/,
                             Facts& /*facts*/) const {
    return {};
  }
  /// Whether the stored bytes must be decoded. In role 5, entries flagged
  /// compressed are stored as is if neither they nor the header name a codec.
  bool Encoded(const ShardRecord& record) const;
  Codec PickCodec(const ShardRecord& record, Bytes stored) const;
  /// Whether the entry can be decoded in pieces, even if it would fit in
  /// memory. Its codec must be zstd and not ambiguous, it must decode to at
  /// most limits::kStreamedBytes, and its stored and decoded sizes must differ
  /// and be possible for zstd.
  bool Streams(const ShardRecord& record) const;
  /// Returns a kLimit error if the entry is too large to decode: as one block
  /// in memory if `in_memory`, else in any way.
  std::optional<Error> TooLarge(const ShardRecord& record,
                                bool in_memory) const;
  /// Returns the bytes of an entry, encoded or not, as one block. If the entry
  /// is too large for memory, returns a block that must be streamed; fails if
  /// `in_memory`, or if the entry cannot be streamed. Encrypted entries cannot.
  Result<std::shared_ptr<const Block>> OpenBlock(uint32_t entry,
                                                 bool in_memory = true) const;
  /// Returns the guard of an unencoded entry; null if it has no checksum to
  /// verify (ExpectedChecksum).
  std::shared_ptr<const ChecksumGuard> OpenGuard(uint32_t entry) const;
  const Json* ConventionsOf(uint32_t entry) const;
  const ShardSeal* Seal(uint32_t entry) const;
  /// Returns a label for messages: "entry 7 'NAME'".
  std::string Label(uint32_t entry) const;
  /// Reads all bytes of an entry, decoded, decrypted and verified, bypassing
  /// the cache: for blocks that are computed from them, and for Load.
  Result<Buffer> ReadEntry(uint32_t entry, const ReadContext& context) const;
  /// StoredChecksum returns the checksum in the index, ExpectedChecksum the one
  /// to verify: none if checksums are ignored (OpenOptions::verify). Both may
  /// be empty.
  virtual Checksum StoredChecksum(const ShardRecord& record) const;
  Checksum ExpectedChecksum(const ShardRecord& record) const;
  std::shared_ptr<AtomicVerdict> VerdictOf(uint32_t entry) const;

  const OpenOptions options_;

 private:
  /// Steps of Load, in order; the first failure refuses the container.
  Status ReadHeader(const ReadContext& context);
  Status ReadIndex(const ReadContext& context);
  Status ReadNames(const ReadContext& context);
  Status CheckEntries(const ReadContext& context);
  Status ReadConventions(const ReadContext& context);

  /// Returns the error; with salvage, adds it as a warning instead.
  Status Fault(Error error);
  Status CheckOverlaps(const ReadContext& context);
  /// Parses the value at schema_offset; returns a JSON null if there is none.
  Result<ParsedJson> ParseMetadata(const Request& request) const;
  Result<Content> OpenMetadata(const Request& request) const;

  /// Reads an entry's payload, decoded but not decrypted, bypassing the cache.
  Result<Buffer> Payload(uint32_t entry, const ReadContext& context) const;
  void AddSeal(uint32_t entry, const Json& encryption);
  /// Returns the decrypted and decoded size of an entry with a payload of
  /// `payload` bytes; 0 if it exceeds limits::kDecodedBytes.
  uint64_t SealedSize(const ShardSeal& seal, uint64_t payload) const;
  /// The two cases of OpenBlock for an entry without a fault: OpenStoredBlock
  /// if the entry is not encrypted, else OpenSealedBlock.
  Result<std::shared_ptr<const Block>> OpenStoredBlock(uint32_t entry,
                                                       bool in_memory) const;
  Result<std::shared_ptr<const Block>> OpenSealedBlock(uint32_t entry) const;

  friend class ShardBlock;
  friend class SealedBlock;

  const uint64_t owner_ = NewOwner();
  ShardHeader header_;
  Buffer index_;                   // entry_count records, as in the file
  Buffer names_;                   // up to the end of the last name
  uint64_t names_size_ = 0;        // bytes of the whole string table
  uint64_t data_floor_ = 0;        // minimum offset of entry data
  std::vector<bool> overlapping_;  // empty if no entries overlap
  std::unordered_map<std::string, Json> conventions_;  // by the entry's name
  std::unordered_map<uint32_t, ShardSeal> seals_;
  std::shared_ptr<std::vector<AtomicVerdict>> verdicts_;
};

}  // namespace ctxfs::shard

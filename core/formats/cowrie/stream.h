// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/container/container.h"
#include "core/container/facts/facts.h"
#include "core/container/format.h"
#include "core/content/verdict.h"
#include "core/formats/cowrie/cowrie.h"
#include "core/formats/cowrie/frames.h"

namespace ctxfs::cowrie {

/// A stream of cowrie values (docs/formats/cowrie.md, section 7). Opening reads
/// only the headers; a record is decoded when one of its files is looked up.
class CowrieStream final : public Container, public SaysFacts {
 public:
  CowrieStream(std::shared_ptr<const Source> source, const OpenOptions& options)
      : Container(std::move(source)), options_(options) {}

  Status Load(const ReadContext& context);

  void AddInfo(Json& info, const ReadContext& context) const override;
  Tables Files() const override;
  std::vector<ChildContainer> Children() const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;

  uint32_t count() const { return static_cast<uint32_t>(records_.size()); }
  /// Returns the decoded size of the record's payload, bytes.
  uint64_t PayloadSize(uint32_t record) const;

  /// Returns the record's value or metadata. Fails with kChecksum, kCorrupt,
  /// kVersion or kLimit, each time with the same error, or with a transient
  /// error. The offset of the error is the record's first byte.
  Result<Json> Value(uint32_t record, const ReadContext& context) const;
  Result<Json> RecordMetadata(uint32_t record,
                              const ReadContext& context) const;
  /// Returns the record's arrays as a container: arrays/NNNNNN.
  Result<std::shared_ptr<const Container>> Arrays(
      uint32_t record, const ReadContext& context) const;

 private:
  /// The verified bytes of a record.
  struct Loaded {
    Buffer frame;
    std::optional<Buffer> unpacked;  // of a compressed payload
    Bytes metadata;
    Bytes payload;
  };

  Result<Loaded> Read(uint32_t record, const ReadContext& context) const;
  Status Verify(uint32_t record, Bytes frame) const;
  /// Decompresses a payload.
  Status Unpack(const StreamRecord& record, Loaded& loaded,
                const ReadContext& context) const;
  EntryInfo Describe(uint32_t record) const;
  /// Returns EntryInfo::verified for the record.
  std::string VerifiedOf(uint32_t record) const;
  std::shared_ptr<const FileTable> RecordFiles() const;
  std::shared_ptr<const FileTable> MetadataFiles() const;
  Error At(uint32_t record, Error error) const;

  const OpenOptions options_;
  bool frames_ = true;  // false: length-prefixed values
  std::vector<StreamRecord> records_;
  mutable std::vector<AtomicVerdict> verdicts_;
  const uint64_t owner_ = NewOwner();
};

/// Returns the number of a record in at least six digits, such as "000042", and
/// then `suffix`.
std::string RecordName(uint32_t record, std::string_view suffix);

/// Returns views/records.jsonl (stream_lines.cc). The line of an unreadable
/// record is {"$error": reason, "record": number}.
std::shared_ptr<const FileTable> RecordLines(
    const std::shared_ptr<const CowrieStream>& stream);

}  // namespace ctxfs::cowrie

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

/// A stream of cowrie values (docs/formats/cowrie.md, section 7). Opening it
/// walks the headers alone; a record is decoded when one of its files is looked
/// up.
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
  /// Bytes of the record's payload, decoded.
  uint64_t PayloadSize(uint32_t record) const;

  /// The record's value or metadata. Fails with kChecksum, kCorrupt or kLimit,
  /// at the record's first byte, the same at each call.
  Result<Json> Value(uint32_t record, const ReadContext& context) const;
  Result<Json> RecordMetadata(uint32_t record,
                              const ReadContext& context) const;
  /// Its arrays as a container: arrays/NNNNNN.
  Result<std::shared_ptr<const Container>> Arrays(
      uint32_t record, const ReadContext& context) const;

 private:
  /// The bytes of a record, verified.
  struct Loaded {
    Buffer frame;
    std::optional<Buffer> unpacked;  // of a packed payload
    Bytes metadata;
    Bytes payload;
  };

  Result<Loaded> Read(uint32_t record, const ReadContext& context) const;
  Status Verify(uint32_t record, Bytes frame) const;
  /// Decodes a packed payload.
  Status Unpack(const StreamRecord& record, Loaded& loaded,
                const ReadContext& context) const;
  EntryInfo Describe(uint32_t record) const;
  /// How EntryInfo says whether the record was verified.
  std::string VerifiedOf(uint32_t record) const;
  std::shared_ptr<const FileTable> RecordFiles() const;
  std::shared_ptr<const FileTable> MetadataFiles() const;
  Error At(uint32_t record, Error error) const;

  const OpenOptions options_;
  bool frames_ = true;  // or values that are preceded by their lengths
  std::vector<StreamRecord> records_;
  mutable std::vector<AtomicVerdict> verdicts_;
  const uint64_t owner_ = NewOwner();
};

/// "000042", and `suffix`.
std::string RecordName(uint32_t record, std::string_view suffix);

/// views/records.jsonl (stream_lines.cc). A record that cannot be read is a
/// line {"$error": reason, "record": number}.
std::shared_ptr<const FileTable> RecordLines(
    const std::shared_ptr<const CowrieStream>& stream);

}  // namespace ctxfs::cowrie

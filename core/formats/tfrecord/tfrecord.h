// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/container/container.h"
#include "core/container/facts/facts.h"
#include "core/container/format.h"
#include "core/container/interfaces/shows_samples.h"
#include "core/content/checksum_guard.h"
#include "core/formats/tfrecord/example.h"
#include "core/formats/tfrecord/sample.h"
#include "core/io/window_reader.h"

namespace ctxfs::tfrecord {

/// A record in memory.
struct ReadRecord {
  Buffer buffer;
  RecordBytes data;
  Example example;                // refers to `buffer`
  std::vector<SampleFile> files;  // set by ReadSample only
};

/// A file of records (docs/formats/tfrecord.md). For each record it stores an
/// offset of 8 bytes and a verdict of one byte.
class TfRecord final : public Container, public SaysFacts, public ShowsSamples {
 public:
  TfRecord(std::shared_ptr<const Source> source, const OpenOptions& options)
      : Container(std::move(source)), options_(options) {}

  Status Load(const ReadContext& context);

  uint32_t count() const { return static_cast<uint32_t>(starts_.size()); }
  RecordKind kind() const { return kind_; }
  /// The place of a record's data in the file.
  Span At(uint32_t record) const;
  Result<Content> Open(uint32_t record, const ReadContext& context) const;

  /// Reads and parses a record, and finds its files. kind() must not be
  /// kUnknown. Fails with kChecksum or kCorrupt if the record is damaged or of
  /// another type, and with kLimit if it is too large or has too many files.
  Result<ReadRecord> ReadSample(uint32_t record,
                                const ReadContext& context) const;
  /// Opens views/samples/N. The directory is empty if the record has no files,
  /// or if ReadSample fails permanently.
  Result<std::shared_ptr<const Container>> OpenSample(
      uint32_t record, const ReadContext& context) const;

  Tables Files() const override;
  Tables FilesWithPaths(const PathsInTree& paths) const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;
  Result<std::vector<ShownSample>> FirstSamples(
      size_t most, const ReadContext& context) const override;

 private:
  /// A record that no other record follows directly, and the offset of its end.
  struct Gap {
    uint32_t record;
    uint64_t end;
  };

  void AddInfo(Json& info, const ReadContext& context) const override;
  Result<Checksum> StoredChecksum(uint32_t record,
                                  const ReadContext& context) const;
  /// Returns the verdict on a record; null if the options disable verification.
  std::shared_ptr<AtomicVerdict> VerdictOf(uint32_t record) const;
  /// The data of a record, with its ChecksumGuard unless the options disable
  /// verification.
  Result<Range> RangeOf(uint32_t record, const ReadContext& context) const;
  /// Reads and verifies the data of a record. Fails with kLimit if it has more
  /// than `most` bytes.
  Result<Buffer> Read(uint32_t record, uint64_t most,
                      const ReadContext& context) const;
  Result<ReadRecord> Parse(uint32_t record, uint64_t most,
                           const ReadContext& context) const;

  // Steps of Load.
  Status Walk(const ReadContext& context);
  std::optional<Error> FaultAt(uint64_t at, Bytes header) const;
  /// Returns the offset at which the walk continues after a fault. Fails with
  /// `fault` unless OpenOptions::salvage is set.
  Result<uint64_t> Salvage(const Error& fault, WindowReader& headers,
                           const ReadContext& context);
  void WarnOfGap(const Error& fault, uint64_t next);
  void EndRun(uint64_t end);
  Status FindKind(const ReadContext& context);

  EntryInfo Describe(uint32_t record, const ReadContext& context) const;
  std::shared_ptr<const FileTable> RecordFiles() const;
  std::shared_ptr<const FileTable> SampleDirectories() const;

  const OpenOptions options_;
  std::vector<uint64_t> starts_;  // of the headers
  std::vector<Gap> gaps_;         // in order; the last record always has one
  uint64_t bytes_ = 0;            // of data
  uint64_t more_gaps_ = 0;        // gaps without a warning
  RecordKind kind_ = RecordKind::kUnknown;
  std::shared_ptr<std::vector<AtomicVerdict>> verdicts_;
  const uint64_t owner_ = NewOwner();
};

/// The name of a kind of record in info.json.
const char* KindText(RecordKind kind);

}  // namespace ctxfs::tfrecord

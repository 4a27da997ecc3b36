// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/container/shows_samples.h"
#include "core/formats/sample_shard/stored_json.h"
#include "core/formats/shard/shard.h"

namespace ctxfs::sample_shard {

/// Parses the name of a sample as Python's int() does: white space around it, a
/// sign, digits with single underscores between them. Numbers beyond 64 bits
/// become the largest one. Returns nullopt for other names.
std::optional<int64_t> SampleId(std::string_view name);

/// A SampleShard (docs/formats/sampleshard.md): each entry is a training
/// sample, a cowrie value or JSON.
class SampleShard final : public shard::ShardContainer, public ShowsSamples {
 public:
  using shard::ShardContainer::ShardContainer;

  Status Load(const ReadContext& context) override;

  void AddInfo(Json& info, const ReadContext& context) const override;
  Result<Content> OpenEntry(uint32_t entry,
                            const ReadContext& context) const override;
  /// A legacy checksum is found when the entry is read.
  bool InfoMayChange() const override { return !kinds_.empty(); }
  EntryInfo Describe(uint32_t entry, const Request& request) const override;
  void AddFindings(uint32_t entry, EntryInfo& info) const override;
  Tables Files() const override;
  Result<std::vector<ShownSample>> FirstSamples(
      size_t most, const ReadContext& context) const override;

  /// Whether the entry is a sample, by its name and content type alone.
  bool IsSample(uint32_t entry) const;
  /// All samples by their numbers, the order of the reference; those without a
  /// number last.
  std::vector<uint32_t> SamplesInOrder() const;
  /// Returns the text of views/json/NAME.json: JSON as it is stored, cowrie as
  /// one line of JSON. Fails with kCorrupt or kLimit, at the entry's first
  /// byte, if the entry cannot be shown as JSON.
  Result<std::string> Text(uint32_t entry, const ReadContext& context) const;
  /// Returns the sample's line of views/samples.jsonl. A sample that cannot be
  /// shown has a line of its own, {"$error": reason, "entry": name}, the same
  /// at each call. Fails only with errors that may not occur again.
  Result<std::string> Line(uint32_t entry, const ReadContext& context) const;

 private:
  Status AddOwnFacts(const ReadContext& context, Facts& facts) const override;
  Checksum StoredChecksum(const shard::ShardRecord& record) const override;
  /// Finds out which checksum an entry has, and its verdict if it matches, by
  /// reading the entry once (docs/formats/sampleshard.md, section 2).
  Status FindChecksum(uint32_t entry, const ReadContext& context) const;
  /// The entry's bytes, verified.
  Result<Buffer> ReadSample(uint32_t entry, const ReadContext& context) const;
  /// `bytes` as JSON; offsets of errors are unknown.
  Result<std::string> TextOf(Bytes bytes, JsonForm form,
                             const ReadContext& context) const;
  std::string ErrorLine(uint32_t entry, const std::string& reason) const;

  Json data_set_;  // of the metadata, for dataset.json; null for none
  // The results of FindChecksum; empty if all checksums are CRC-32C.
  mutable std::vector<std::atomic<ChecksumKind>> kinds_;
};

/// views/json/NAME.json, each sample on a line of its own, and
/// views/samples.jsonl, all of them in order (views.cc).
Container::Tables SampleViews(const std::shared_ptr<const SampleShard>& shard);

}  // namespace ctxfs::sample_shard

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/container/interfaces/shows_samples.h"
#include "core/formats/sample_shard/stored_json.h"
#include "core/formats/shard/shard.h"

namespace ctxfs::sample_shard {

/// Parses the name of a sample like Python's int(), which accepts surrounding
/// white space, a sign, and digits with single underscores between them.
/// Saturates beyond 64 bits. Returns nullopt for other names.
std::optional<int64_t> SampleId(std::string_view name);

/// A SampleShard (docs/formats/sampleshard.md): each entry is a training
/// sample, either cowrie or JSON.
class SampleShard final : public shard::ShardContainer, public ShowsSamples {
 public:
  using shard::ShardContainer::ShardContainer;

  Status Load(const ReadContext& context) override;

  void AddInfo(Json& info, const ReadContext& context) const override;
  Result<Content> OpenEntry(uint32_t entry,
                            const ReadContext& context) const override;
  /// Whether checksums may be legacy ones. info.json counts those that reads
  /// have detected.
  bool InfoMayChange() const override { return !kinds_.empty(); }
  EntryInfo Describe(uint32_t entry, const Request& request) const override;
  void AddFindings(uint32_t entry, EntryInfo& info) const override;
  Tables Files() const override;
  Result<std::vector<ShownSample>> FirstSamples(
      size_t most, const ReadContext& context) const override;

  /// Whether the entry is a sample, judged by name and content type alone.
  bool IsSample(uint32_t entry) const;
  /// Returns all samples: first the numbered ones by number, like the
  /// reference, then the others.
  std::vector<uint32_t> SamplesInOrder() const;
  /// Returns the text of views/json/NAME.json: stored JSON, or cowrie as one
  /// line of JSON. Fails with kCorrupt or kLimit, at the entry's first byte, if
  /// the entry cannot be shown as JSON.
  Result<std::string> Text(uint32_t entry, const ReadContext& context) const;
  /// Returns the sample's line of views/samples.jsonl. For a sample that cannot
  /// be shown, returns {"$error": reason, "entry": name}, identical at each
  /// call. Fails only on transient errors.
  Result<std::string> Line(uint32_t entry, const ReadContext& context) const;

 private:
  Status AddOwnFacts(const ReadContext& context, Facts& facts) const override;
  Checksum StoredChecksum(const shard::ShardRecord& record) const override;
  /// Reads the entry once to detect the kind of its checksum, and records the
  /// verdict on a match (docs/formats/sampleshard.md, section 2).
  Status FindChecksum(uint32_t entry, const ReadContext& context) const;
  Result<Buffer> ReadSample(uint32_t entry, const ReadContext& context) const;
  /// Returns `bytes` as JSON. An error's offset, if any, is a byte of `bytes`.
  Result<std::string> TextOf(Bytes bytes, JsonForm form,
                             const ReadContext& context) const;
  std::string ErrorLine(uint32_t entry, const std::string& reason) const;

  Json data_set_;  // of the metadata, for dataset.json; or null
  // The results of FindChecksum; empty if all checksums are CRC-32C.
  mutable std::vector<std::atomic<ChecksumKind>> kinds_;
};

/// Returns views/json/NAME.json, a file for each sample, and
/// views/samples.jsonl, all samples in order (views.cc).
Container::Tables SampleViews(const std::shared_ptr<const SampleShard>& shard);

}  // namespace ctxfs::sample_shard

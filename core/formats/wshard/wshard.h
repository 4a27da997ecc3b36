// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/container/interfaces/has_episode.h"
#include "core/container/interfaces/has_identity.h"
#include "core/formats/shard/shard.h"
#include "core/formats/wshard/lanes.h"
#include "core/formats/wshard/repair.h"
#include "core/formats/wshard/residual.h"

namespace ctxfs::wshard {

/// Reads a whole metadata entry, verified. Fails with kLimit beyond
/// kMaxJsonBytes (docs/formats/wshard.md, section 2).
Result<std::string> ReadMetaEntry(const shard::ShardContainer& container,
                                  uint32_t entry, const ReadContext& context);

/// Like ReadMetaEntry, parsed as JSON.
Result<Json> ReadEntryJson(const shard::ShardContainer& container,
                           uint32_t entry, const ReadContext& context);

/// A WShard episode: the lanes of one recording, each an entry of a Shard
/// container of role 5 (docs/formats/wshard.md).
class WShardContainer final : public shard::ShardContainer,
                              public HasEpisode,
                              public HasIdentity {
 public:
  using shard::ShardContainer::ShardContainer;

  Status Load(const ReadContext& context) override;

  void AddInfo(Json& info, const ReadContext& context) const override;
  EntryInfo Describe(uint32_t entry, const Request& request) const override;
  Result<Content> OpenEntry(uint32_t entry,
                            const ReadContext& context) const override;
  std::vector<Error> Inspect(const ReadContext& context) const override;
  Json Metadata(const Request& request) const override;
  void Annotate(const Json& metadata, EntryInfo& info) const override;
  Tables Files() const override;
  Exports Export() const override;
  bool MayBeEpisode() const override { return length().has_value(); }
  std::optional<Episode> AsEpisode(const ReadContext& context) const override;

  /// A residual lane and the layout of its signs.
  struct SignFile {
    uint32_t entry;
    SignLayout layout;
  };

  /// Number of steps: declared, or derived from the size of a lane; nullopt if
  /// unknown (docs/formats/wshard.md, section 2).
  std::optional<uint64_t> length() const { return lanes_.length(); }

  /// Returns the declared rate, as a clock without a lane of ticks.
  StepClock Rate() const;

  /// Returns dtype and shape of an entry, from declaration, name and size;
  /// nullopt if it is not an array. Reads nothing of the entry, which may be
  /// damaged.
  std::optional<Lane> LaneOf(uint32_t entry,
                             std::string* why_not = nullptr) const;

  /// Returns the sha256 of meta/identity, which is equal for a sealed episode
  /// in any codec and alignment; nullopt if the episode is not sealed.
  Result<std::optional<std::string>> Identity(const ReadContext& context) const;

  Result<std::string> SealedIdentity(const ReadContext& context) const override;

  /// Returns meta/provenance's identity of the preceding chunk, or "".
  Result<std::string> PreviousIdentity(const ReadContext& context) const;

 private:
  Status AddOwnFacts(const ReadContext& context, Facts& facts) const override;
  /// Compares the entries with `listed`, the digests in meta/identity. Returns
  /// the differences, in the order of entry names. Skips entries that cannot be
  /// read, and all but the first of equal names.
  std::vector<Error> CompareWithSeal(const Json& listed,
                                     const ReadContext& context) const;
  std::shared_ptr<const FileTable> SignFiles() const;
  Result<Content> OpenSigns(const SignFile& file) const;
  EntryInfo DescribeSigns(const SignFile& file, const Request& request) const;
  /// Entries that describe other entries, or whose size gives the number of
  /// steps. Of equal names, the first counts.
  struct Known {
    std::optional<uint32_t> wshard, episode, channels, identity, provenance;
    std::optional<uint32_t> done, ticks, reward;
  };

  /// Returns the lanes and the signs as arrays; incomplete if interrupted, and
  /// none for more than limits::kArrayEntries entries.
  std::vector<ArrayInfo> Arrays(const ReadContext& context) const;
  ArrayInfo LaneArray(uint32_t entry, Lane lane) const;
  ArrayInfo SignArray(uint32_t entry, const SignLayout& layout) const;
  Known FindKnown() const;
  /// Returns the JSON of a metadata entry; null, with a warning, if the entry
  /// is missing or is not JSON.
  Result<Json> ReadMeta(std::optional<uint32_t> entry, const char* name,
                        const ReadContext& context);
  std::optional<uint64_t> LengthBySize() const;
  /// Repairs lanes that share bytes, or marks them if repair is impossible.
  void FindInterleaving();
  /// Returns the layout of the signs in a residual lane; nullopt for other
  /// entries, for lanes that are faulty, repaired or over
  /// limits::kDecodedBytes, and if no layout has the lane's size.
  std::optional<SignLayout> SignsOf(uint32_t entry) const;
  std::string SignsPath(uint32_t entry) const;
  bool SharesBytes(uint32_t entry) const {
    return !shares_bytes_.empty() && shares_bytes_[entry];
  }
  /// Returns the index of a repaired lane in the interleaving.
  std::optional<size_t> RepairedIndex(uint32_t entry) const {
    if (interleaving_ == nullptr) return std::nullopt;
    return interleaving_->IndexOf(entry);
  }

  /// Returns all uncompressed lanes by offset if some share bytes; else none.
  std::vector<StoredLane> OverlappingLanes() const;

  Known known_;
  Json episode_;  // `episode` of info.json
  LaneTable lanes_;
  std::shared_ptr<const Interleaving> interleaving_;
  std::shared_ptr<const std::vector<std::shared_ptr<const ChecksumGuard>>>
      guards_;
  std::vector<bool> shares_bytes_;  // by entry; empty: none, or repaired
};

/// Sets the clock of an episode whose signals are its lanes: to the lane of
/// timestamps if there is one, else to the lane of ticks at `rate`, else to
/// steps at `rate`.
void SetClock(StepClock rate, Episode& episode);

}  // namespace ctxfs::wshard

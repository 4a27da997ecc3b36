// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/shard/shard.h"
#include "core/formats/wshard/lanes.h"
#include "core/formats/wshard/repair.h"
#include "core/formats/wshard/residual.h"

namespace ctxfs {

/// All of a metadata entry, verified; kLimit for one of more bytes than
/// limits::kEpisodeJsonBytes (docs/wshard.md, section 2).
Result<std::string> ReadMetaEntry(const ShardContainer& container,
                                  uint32_t entry, const ReadContext& context);

/// The same, as JSON.
Result<Json> ReadEntryJson(const ShardContainer& container, uint32_t entry,
                           const ReadContext& context);

/// A WShard episode: the lanes of one recording, each an entry of a Shard
/// container of role 5 (docs/wshard.md).
class WShardContainer final : public ShardContainer {
 public:
  using ShardContainer::ShardContainer;

  Status Load(const ReadContext& context) override;

  Json Info(const ReadContext& context) const override;
  EntryInfo Describe(uint32_t entry) const override;
  Result<Content> OpenEntry(uint32_t entry,
                            const ReadContext& context) const override;
  std::vector<Error> Inspect(const ReadContext& context) const override;
  Json Metadata() const override;
  void Annotate(const Json& metadata, EntryInfo& info) const override;
  Tables Files() const override;
  Exports Export() const override;

  /// Steps of the episode: as it says itself, or as its lanes do.
  std::optional<uint64_t> length() const { return lanes_.length(); }

  /// The array that the entry is, by rule and size; its bytes may still turn
  /// out to be damaged.
  std::optional<Lane> LaneOf(uint32_t entry,
                             std::string* why_not = nullptr) const;

  /// sha256 of meta/identity, which names a sealed episode whatever its codec
  /// and alignment; nothing for episodes that are not sealed.
  Result<std::optional<std::string>> Identity(const ReadContext& context) const;

  /// The identity of the chunk before this one, as meta/provenance has it;
  /// empty for none.
  Result<std::string> PreviousIdentity(const ReadContext& context) const;

 private:
  /// Entries that say something of others; of equal names the first.
  struct Known {
    std::optional<uint32_t> wshard, episode, channels, identity, provenance;
    std::optional<uint32_t> done, ticks, reward;
  };

  class SignFiles;

  /// Incomplete if interrupted.
  std::vector<ArrayInfo> Arrays(const ReadContext& context) const;
  Known FindKnown() const;
  /// null, with a warning, for metadata that is not there or no JSON.
  Result<Json> ReadMeta(std::optional<uint32_t> entry, const char* name,
                        const ReadContext& context);
  std::optional<uint64_t> LengthBySize() const;
  /// Repairs lanes that share bytes, or marks those that cannot be.
  void FindInterleaving();
  /// The signs in a residual lane, as an array of their own; nothing for other
  /// entries and for lanes of a size that no layout has.
  std::optional<SignLayout> SignsOf(uint32_t entry) const;
  std::string SignsPath(uint32_t entry) const;
  Result<Content> OpenSigns(uint32_t entry, const SignLayout& layout) const;
  EntryInfo DescribeSigns(uint32_t entry, const SignLayout& layout) const;
  bool SharesBytes(uint32_t entry) const {
    return !shares_bytes_.empty() && shares_bytes_[entry];
  }
  bool IsRepaired(uint32_t entry) const {
    return interleaving_ != nullptr && interleaving_->IndexOf(entry);
  }

  /// The entries whose stored lanes share bytes, by offset; empty for none.
  std::vector<StoredLane> OverlappingLanes() const;

  Known known_;
  Json episode_;  // what info.json says of the episode
  LaneTable lanes_;
  std::shared_ptr<const Interleaving> interleaving_;
  std::shared_ptr<const std::vector<std::shared_ptr<const Gate>>> gates_;
  std::vector<bool> shares_bytes_;  // empty unless that cannot be repaired
};

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
//
// Describes an episode and its lanes: info.json, the records of index.json, and
// the identity (docs/formats/wshard.md, sections 2, 3 and 7).
#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>

#include "core/container/facts/config_facts.h"
#include "core/container/facts/signal_facts.h"
#include "core/content/check_at.h"
#include "core/formats/wshard/wshard.h"

namespace ctxfs::wshard {
namespace {

/// Counts the entries whose name repeats an earlier entry's.
size_t CountRepeatedNames(const shard::ShardContainer& container) {
  std::vector<uint64_t> hashes;
  for (uint32_t i = 0; i < container.entry_count(); ++i) {
    if (const std::optional<std::string_view> name = container.EntryName(i)) {
      hashes.push_back(XXH3_64bits(name->data(), name->size()));
    }
  }
  std::sort(hashes.begin(), hashes.end());
  const auto end = std::unique(hashes.begin(), hashes.end());
  return static_cast<size_t>(hashes.end() - end);
}

}  // namespace

void WShardContainer::AddInfo(Json& info, const ReadContext& context) const {
  shard::ShardContainer::AddInfo(info, context);
  info["episode"] = episode_;
  Json& warnings = info["warnings"];
  if (const size_t repeated = CountRepeatedNames(*this); repeated > 0) {
    warnings.push_back(fmt::format(
        "duplicate names: {} entries have the name of an earlier one",
        repeated));
  }
  size_t lanes = 0;
  size_t guesses = 0;
  size_t other_lengths = 0;
  for (uint32_t i = 0; i < entry_count(); ++i) {
    if (!CheckAt(context, i)) break;
    const std::optional<Lane> lane = LaneOf(i);
    if (!lane) continue;
    ++lanes;
    if (lane->guess) ++guesses;
    if (length() && lane->shape[0] != *length()) ++other_lengths;
  }
  info["lanes"] = lanes;
  info["lanes_guessed"] = guesses;
  if (other_lengths > 0) {
    warnings.push_back(
        fmt::format("{} lanes have another number of steps than length_T, {}",
                    other_lengths, *length()));
  }
  if (interleaving_ != nullptr) {
    Json names = Json::array();
    for (size_t k = 0; k < interleaving_->lane_count(); ++k) {
      names.push_back(EntryName(interleaving_->entry(k)).value_or(""));
    }
    info["repaired"] = {{"flush_interval", interleaving_->interval()},
                        {"entries", std::move(names)}};
  }
  const Result<std::optional<std::string>> identity = Identity(context);
  if (!identity && identity.error().Permanent()) {
    // Omits the reason, because only the first failed read reports it, and the
    // text must not change from call to call.
    warnings.push_back(
        Warning{"meta/identity: damaged", identity.error().offset}.Text());
  } else if (!identity) {
    warnings.push_back("meta/identity: " + identity.error().Text());
  } else if (*identity) {
    info["identity"] = **identity;
  }
}

Status WShardContainer::AddOwnFacts(const ReadContext& context,
                                    Facts& facts) const {
  AddNamed(episode_,
           {{"name", "id"},
            {"environment", "env_id"},
            {"length", "length_T", "steps"},
            {"chunk", "chunk_index"},
            {"chunks", "total_chunks"}},
           facts);
  if (const StepClock rate = Rate(); rate.known()) {
    // Rounds to six decimals. A step can be stored in whole nanoseconds: 30 Hz
    // becomes 33,333,333 ns, and that is 30.0000003 Hz.
    facts.Add("rate", std::round(1e6 * rate.divisor / rate.multiplier) / 1e6,
              "Hz");
  }
  if (const Json* timebase = MemberAt(episode_, "timebase")) {
    AddNamed(*timebase, {{"timebase", "type"}}, facts);
  }
  return AddSignals("signal.", Arrays(context), context, facts);
}

EntryInfo WShardContainer::Describe(uint32_t entry,
                                    const Request& request) const {
  EntryInfo info = shard::ShardContainer::Describe(entry, request);
  const auto add_note = [&info](const std::string& note) {
    if (!info.note.empty()) info.note += "; ";
    info.note += note;
  };
  std::string why_not;
  if (std::optional<Lane> lane = LaneOf(entry, &why_not)) {
    info.kind = "lane";
    info.dtype = DTypeName(lane->dtype);
    info.shape = std::move(lane->shape);
    info.extra["dtype_source"] = lane->source;
    if (lane->guess) {
      add_note(std::string("dtype and shape are a guess: ") + lane->source);
    }
  }
  if (!why_not.empty()) add_note("no array: " + why_not);
  if (const std::optional<SignLayout> layout = SignsOf(entry)) {
    info.extra["residual_layout"] = layout->name();
    info.extra["residual_signs"] = "views/" + SignsPath(entry);
  }
  if (RepairedIndex(entry)) {
    add_note(
        "assembled from the runs of a stream writer; `checksum` "
        "is of the bytes at the offset in the index");
    info.extra["repaired"] = true;
  }
  return info;
}

EntryInfo WShardContainer::DescribeSigns(const SignFile& file,
                                         const Request& request) const {
  EntryInfo info = shard::ShardContainer::Describe(file.entry, request);
  info.size = file.layout.decoded_size();
  info.name.reset();
  info.kind = "signs";
  info.computed = true;
  info.dtype = DTypeName(DType::kI8);
  info.shape = file.layout.shape();
  info.note =
      "1 for a set bit, -1 for a clear one, which may also stand for zero; "
      "TypeScript writers set bits for the opposite sign";
  info.extra = {{"residual_layout", file.layout.name()}};
  return info;
}

// Returns both descriptions of entries: the metadata section and meta/channels.
Json WShardContainer::Metadata(const Request& request) const {
  Json section = shard::ShardContainer::Metadata(request);
  if (section.is_discarded()) return section;
  Json metadata = {{"section", std::move(section)}};
  Json& by_block = metadata["channels"] = Json::object();
  if (!known_.channels) return metadata;
  Result<Json> channels = ReadEntryJson(*this, *known_.channels, LoneContext());
  if (!channels || !channels->is_object()) return metadata;
  const auto list = channels->find("channels");
  if (list == channels->end() || !list->is_array()) {
    by_block = std::move(*channels);
    return metadata;
  }
  for (Json& element : *list) {
    const std::optional<std::string> block = ChannelBlock(element);
    if (block) by_block.emplace(*block, std::move(element));
  }
  return metadata;
}

void WShardContainer::Annotate(const Json& metadata, EntryInfo& info) const {
  shard::ShardContainer::Annotate(metadata["section"], info);
  const Json& channels = metadata["channels"];
  const auto own = channels.find(info.name.value_or(""));
  if (own != channels.end()) info.extra["channel"] = *own;
}

}  // namespace ctxfs::wshard

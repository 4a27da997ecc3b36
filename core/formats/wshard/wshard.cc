// SPDX-License-Identifier: Apache-2.0
//
// WShard, the episode profile of Shard v2 (role 5; docs/formats/wshard.md).
// Entries are lanes: bare row-major arrays [T, ...] without a header of their
// own.
//
//   meta/wshard, meta/episode, meta/channels   JSON; meta/channels declares
//                                              dtypes and shapes of lanes
//   meta/identity, meta/provenance, meta/models  JSON, of some writers
//   signal/ID, action/ID, reward, done         observations and actions
//   omen/SIGNAL/MODEL, uncert/SIGNAL/...       predictions and their spread
//   residual/SIGNAL/sign2nddiff                sign bits, one per step
//   time/ticks, time/timestamps_ns             the time axis
#include "core/formats/wshard/wshard.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/limits.h"
#include "core/container/file_set.h"
#include "core/container/open.h"
#include "core/content/check_at.h"
#include "core/formats/wshard/limits.h"
#include "core/formats/wshard/residual.h"

namespace ctxfs::wshard {
namespace {

bool Probe(Bytes head) { return shard::HasShardRole(head, shard::kWShardRole); }

/// Returns the value of the first member that is named in `keys` and has the
/// wanted kind; null if there is none.
Json Pick(const Json& object, std::initializer_list<const char*> keys,
          bool (Json::*is_wanted)() const noexcept) {
  for (const char* key : keys) {
    const Json* value = MemberAt(object, key);
    if (value != nullptr && (value->*is_wanted)()) return *value;
  }
  return nullptr;
}

/// Returns timestep_range, [first, last], if it is a pair of integers.
Json PickRange(const Json& object) {
  Json range = Pick(object, {"timestep_range"}, &Json::is_array);
  const bool pair = range.size() == 2 && range[0].is_number_integer() &&
                    range[1].is_number_integer();
  return pair ? range : Json();
}

}  // namespace

Result<std::string> ReadMetaEntry(const shard::ShardContainer& container,
                                  uint32_t entry, const ReadContext& context) {
  const uint64_t size = container.EntrySize(entry);
  const uint64_t stored = container.Record(entry).disk_size;
  if (std::max(size, stored) > kMaxJsonBytes) {
    return Error{Code::kLimit, fmt::format("{} bytes are over the limit of {}",
                                           size, kMaxJsonBytes)};
  }
  const Content content = CTXFS_TRY(container.OpenEntry(entry, context));
  return ReadAll(content, context);
}

Result<Json> ReadEntryJson(const shard::ShardContainer& container,
                           uint32_t entry, const ReadContext& context) {
  const std::string text = CTXFS_TRY(ReadMetaEntry(container, entry, context));
  Result<ParsedJson> parsed = ParseJson(text, context);
  if (!parsed) {
    return Error{parsed.error().code, parsed.error().what,
                 container.Record(entry).data_offset};
  }
  return std::move(parsed->value);
}

Status WShardContainer::Load(const ReadContext& context) {
  CTXFS_TRY(shard::ShardContainer::Load(context));
  known_ = FindKnown();
  const Json wshard =
      CTXFS_TRY(ReadMeta(known_.wshard, "meta/wshard", context));
  const Json episode =
      CTXFS_TRY(ReadMeta(known_.episode, "meta/episode", context));
  const Json channels =
      CTXFS_TRY(ReadMeta(known_.channels, "meta/channels", context));

  const Json length =
      Pick(episode, {"length_T", "length_t"}, &Json::is_number_unsigned);
  std::optional<uint64_t> steps = LengthBySize();
  if (!length.is_null()) steps = length.get<uint64_t>();
  lanes_ = LaneTable(channels, steps, wshard, context);
  if (lanes_.unusable() > 0) {
    Warn({fmt::format("{} elements of meta/channels are not valid",
                      lanes_.unusable())});
  }

  Json timebase = Pick(episode, {"timebase"}, &Json::is_object);
  if (timebase.is_null()) {
    timebase = Pick(wshard, {"timebase"}, &Json::is_object);
  }
  const Json env = Pick(episode, {"env_id"}, &Json::is_string);
  episode_ = {
      {"id", Pick(episode, {"episode_id", "id"}, &Json::is_string)},
      {"env_id", env.is_null() ? Json("") : env},
      {"length_T", steps ? Json(*steps) : Json()},
      {"length_T_declared", !length.is_null()},
      {"timebase", std::move(timebase)},
      {"chunk_index", Pick(episode, {"chunk_index"}, &Json::is_number_integer)},
      {"total_chunks",
       Pick(episode, {"total_chunks"}, &Json::is_number_integer)},
      {"timestep_range", PickRange(episode)}};
  FindInterleaving();
  return {};
}

WShardContainer::Known WShardContainer::FindKnown() const {
  Known known;
  const std::pair<std::string_view, std::optional<uint32_t>*> wanted[] = {
      {"meta/wshard", &known.wshard},
      {"meta/episode", &known.episode},
      {"meta/channels", &known.channels},
      {"meta/identity", &known.identity},
      {"meta/provenance", &known.provenance},
      {"done", &known.done},
      {"time/ticks", &known.ticks},
      {"reward", &known.reward}};
  for (uint32_t i = 0; i < entry_count(); ++i) {
    const std::optional<std::string_view> name = EntryName(i);
    if (!name) continue;
    for (const auto& [text, entry] : wanted) {
      if (*name == text && !*entry) *entry = i;
    }
  }
  return known;
}

Result<Json> WShardContainer::ReadMeta(std::optional<uint32_t> entry,
                                       const char* name,
                                       const ReadContext& context) {
  if (!entry) {
    Warn({std::string("there is no ") + name});
    return Json();
  }
  Result<Json> json = ReadEntryJson(*this, *entry, context);
  if (json) return json;
  // A transient error refuses the container: the types of lanes must not depend
  // on whether a read has failed.
  if (!json.error().Permanent()) return json;
  Warn({std::string(name) + ": " + json.error().what, json.error().offset,
        Severity::kDamage});
  return Json();
}

std::optional<uint64_t> WShardContainer::LengthBySize() const {
  const auto steps = [this](std::optional<uint32_t> entry,
                            uint64_t each) -> std::optional<uint64_t> {
    if (!entry || EntryFault(*entry)) return std::nullopt;
    return EntrySize(*entry) / each;
  };
  if (const auto by_done = steps(known_.done, 1)) return by_done;
  if (const auto by_ticks = steps(known_.ticks, 4)) return by_ticks;
  return steps(known_.reward, 4);
}

std::vector<StoredLane> WShardContainer::OverlappingLanes() const {
  std::vector<StoredLane> lanes;
  uint64_t end = 0;
  bool ordered = true;
  for (uint32_t i = 0; i < entry_count(); ++i) {
    const shard::ShardRecord record = Record(i);
    if (record.disk_size == 0 || !IsPlain(i) || EntryFault(i) ||
        EntryName(i).value_or("").starts_with("meta/")) {
      continue;
    }
    lanes.push_back({i, record.data_offset, record.disk_size});
    ordered = ordered && record.data_offset >= end;
    end = record.data_offset + record.disk_size;
  }
  if (ordered) return {};
  std::ranges::stable_sort(lanes, {}, &StoredLane::offset);
  end = 0;
  for (const StoredLane& lane : lanes) {
    if (lane.offset < end) return lanes;
    end = lane.offset + lane.size;
  }
  return {};
}

void WShardContainer::FindInterleaving() {
  const std::vector<StoredLane> lanes = OverlappingLanes();
  if (lanes.empty()) return;
  std::optional<Interleaving> found =
      Interleaving::Find(lanes, length().value_or(0), source()->size());
  for (uint32_t i = 0; found && i < entry_count(); ++i) {
    const shard::ShardRecord record = Record(i);
    if (record.disk_size == 0 || EntryFault(i) || found->IndexOf(i)) continue;
    // Another entry's bytes among the runs disprove this interleaving.
    if (record.data_offset < found->end() &&
        record.data_offset + record.disk_size > found->start()) {
      found.reset();
    }
  }
  if (!found) {
    shares_bytes_.resize(entry_count());
    uint64_t end = 0;
    uint32_t furthest = 0;
    for (const StoredLane& lane : lanes) {
      if (lane.offset < end) {
        shares_bytes_[lane.entry] = true;
        shares_bytes_[furthest] = true;
      }
      if (lane.offset + lane.size > end) {
        end = lane.offset + lane.size;
        furthest = lane.entry;
      }
    }
    Warn(
        {"lanes share bytes, but not as stream writers interleave them: they "
         "are shown as stored, not as arrays",
         lanes[0].offset});
    return;
  }
  auto guards =
      std::make_shared<std::vector<std::shared_ptr<const ChecksumGuard>>>();
  for (const StoredLane& lane : lanes) {
    if (auto guard = OpenGuard(lane.entry)) guards->push_back(std::move(guard));
  }
  guards_ = std::move(guards);
  interleaving_ = std::make_shared<const Interleaving>(*std::move(found));
  Warn({fmt::format("a stream writer has interleaved the lanes every {} steps: "
                    "repaired; the checksums verify only the extents in the "
                    "index, which do not have all runs",
                    interleaving_->interval()),
        lanes[0].offset});
}

std::optional<Lane> WShardContainer::LaneOf(uint32_t entry,
                                            std::string* why_not) const {
  const std::optional<std::string_view> name = EntryName(entry);
  if (!name || EntryFault(entry)) return std::nullopt;
  if (SharesBytes(entry)) {
    if (why_not != nullptr) *why_not = "it shares bytes with another lane";
    return std::nullopt;
  }
  const shard::ShardRecord record = Record(entry);
  if (Encoded(record) && record.orig_size > limits::kDecodedBytes) {
    return std::nullopt;
  }
  return lanes_.Find(*name, EntrySize(entry), why_not);
}

Result<Content> WShardContainer::OpenEntry(uint32_t entry,
                                           const ReadContext& context) const {
  const std::optional<size_t> index = RepairedIndex(entry);
  if (!index) return shard::ShardContainer::OpenEntry(entry, context);
  return Content(
      Computed{std::make_shared<const RepairedLane>(
          RepairedLane::Stored{source(), interleaving_, guards_}, *index)},
      EntrySize(entry));
}

std::string WShardContainer::SignsPath(uint32_t entry) const {
  return "residual_signs/" +
         std::string(*ResidualSignal(EntryName(entry).value_or("")));
}

std::optional<SignLayout> WShardContainer::SignsOf(uint32_t entry) const {
  const auto signal = ResidualSignal(EntryName(entry).value_or(""));
  if (!signal || EntryFault(entry) || RepairedIndex(entry)) return std::nullopt;
  const uint64_t size = EntrySize(entry);
  if (size > limits::kDecodedBytes) return std::nullopt;
  return SignLayout::Find(size, length(), lanes_.SignalElements(*signal));
}

Result<Content> WShardContainer::OpenSigns(const SignFile& file) const {
  std::shared_ptr<const Block> packed = CTXFS_TRY(OpenBlock(file.entry));
  return Content(
      Computed{std::make_shared<const Signs>(std::move(packed), file.layout)},
      file.layout.decoded_size());
}

/// Returns views/residual_signs/SIGNAL, the sign bits of each signal as an int8
/// array.
std::shared_ptr<const FileTable> WShardContainer::SignFiles() const {
  const auto signs = std::make_shared<std::vector<SignFile>>();
  for (uint32_t i = 0; i < entry_count(); ++i) {
    if (const auto layout = SignsOf(i)) signs->push_back({i, *layout});
    if (signs->size() == kMaxDerivedFiles) break;
  }
  return MakeTable(
      {.placement = {.role = Role::kViews, .directory = "residual_signs"},
       .count = static_cast<uint32_t>(signs->size()),
       .path =
           [this, signs](uint32_t file, std::string& /*scratch*/) {
             return *ResidualSignal(*EntryName((*signs)[file].entry));
           },
       .open =
           [this, signs](uint32_t file, const ReadContext& /*context*/) {
             return OpenSigns((*signs)[file]);
           },
       .facts =
           [signs](uint32_t file) {
             return FileFacts{(*signs)[file].layout.decoded_size()};
           },
       .describe =
           [this, signs](uint32_t file, const ReadContext& context) {
             return DescribeSigns((*signs)[file], context);
           },
       .owner = Share(*this)});
}

Container::Tables WShardContainer::Files() const {
  Tables files = shard::ShardContainer::Files();
  files.push_back(SignFiles());
  return files;
}

}  // namespace ctxfs::wshard

namespace ctxfs {

extern const Format kWShard{.name = "wshard",
                            .contents = "robot and agent episodes (Shard v2)",
                            .extensions = "wshard",
                            .golden = "wshard",
                            .docs = "wshard",
                            .probe = &wshard::Probe,
                            .open = &OpenAs<wshard::WShardContainer>};

}  // namespace ctxfs

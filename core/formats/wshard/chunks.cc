// SPDX-License-Identifier: Apache-2.0
//
// Implements the manifest of a chunked episode: a Shard container of role 4
// with one JSON entry, meta/manifest, that lists the episode's files in its own
// directory (docs/formats/wshard.md, section 9).
//
//   chunks/FILE/    each chunk as a container
//   episode/LANE    the lanes joined along time, if the chunks are continuous
#include <fmt/core.h>

#include <utility>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/container/complete.h"
#include "core/container/facts/signal_facts.h"
#include "core/container/file_set.h"
#include "core/container/interfaces/has_parts.h"
#include "core/content/sha256_of.h"
#include "core/formats/manifest/manifest.h"
#include "core/formats/wshard/join.h"
#include "core/formats/wshard/limits.h"
#include "core/formats/wshard/manifest.h"
#include "core/formats/wshard/wshard.h"

namespace ctxfs::wshard {
namespace {

bool ProbeChunks(Bytes head) {
  return shard::HasShardRole(head, shard::kManifestRole);
}

class WShardChunks final : public shard::ShardContainer,
                           public HasEpisode,
                           public HasParts {
 public:
  using shard::ShardContainer::ShardContainer;

  /// Also reads the manifest, and opens the chunks that can be opened. Reads no
  /// lane.
  Status Load(const ReadContext& context) override;

  bool has_manifest() const { return entry_.has_value(); }

  void AddInfo(Json& info, const ReadContext& context) const override;
  std::vector<Error> Inspect(const ReadContext& context) const override;
  Tables Files() const override;
  std::vector<ChildContainer> Children() const override;
  Exports Export() const override;
  bool MayBeEpisode() const override { return !manifest_.chunks.empty(); }
  std::optional<Episode> AsEpisode(const ReadContext& context) const override;
  std::vector<std::string> PartsBeside(
      const ReadContext& context) const override;
  bool ShowsArray(std::string_view name) const override {
    return join_.names.contains(name);
  }
  std::vector<PartFile> OtherFiles() const override;

 private:
  Status AddOwnFacts(const ReadContext& context, Facts& facts) const override;
  // Returns the files episode/LANE, which are the joined lanes.
  std::shared_ptr<const FileTable> LaneFiles() const;
  uint64_t LaneSize(const JoinedLane& joined) const;
  Result<Content> OpenLane(const JoinedLane& joined,
                           const ReadContext& context) const;
  /// Describes the joined lane; each part is verified separately.
  EntryInfo DescribeLane(const JoinedLane& joined,
                         const Request& request) const;

  std::vector<ArrayInfo> Arrays() const;
  /// Returns the rate that all chunks declare; unknown if they differ.
  StepClock Rate() const;
  /// Fails if a chunk is incomplete, or if not all lanes of all chunks are
  /// joined.
  Status CheckLanes(const ReadContext& context) const;
  /// Returns the message that Join::left_out lanes are not joined.
  std::string LeftOutText() const;
  Status OpenChunks(const ReadContext& context);
  Result<std::shared_ptr<const WShardContainer>> OpenChunk(
      const ChunkRef& chunk, const ReadContext& context) const;
  void Disjoin(std::string why) { manifest_.faults.push_back(std::move(why)); }
  /// Returns "ok", "differs", "none"; "not checked" if that would take too
  /// long, or if the chunk cannot be read.
  std::string CheckDigest(size_t k, const ReadContext& context) const;
  /// Compares the sha256 of chunk k, however long that takes.
  void Digest(size_t k, const ReadContext& context) const;
  /// Compares the identity of the chunk before chunk k with the identity in
  /// meta/provenance of chunk k. Returns the difference; empty if they are
  /// equal or one of them is unknown.
  std::string CheckChain(size_t k, const ReadContext& context) const;
  bool DigestsAreCheap() const;

  std::optional<uint32_t> entry_;
  ChunkManifest manifest_;
  Chunks chunks_;               // in order; null: cannot be opened
  std::vector<uint64_t> ends_;  // by chunk: steps up to its end
  Join join_;                   // empty if the chunks are not continuous
  mutable std::vector<AtomicVerdict> digests_;
};

Status WShardChunks::Load(const ReadContext& context) {
  CTXFS_TRY(shard::ShardContainer::Load(context));
  for (uint32_t i = 0; i < entry_count() && !entry_; ++i) {
    if (EntryName(i) == "meta/manifest") entry_ = i;
  }
  if (!entry_) return {};
  const Result<Json> json = ReadEntryJson(*this, *entry_, context);
  if (!json && !json.error().Permanent()) return json.error();
  if (!json) {
    Disjoin("meta/manifest: " + json.error().Text());
    return {};
  }
  manifest_ = ChunkManifest::Parse(*json, context);
  if (manifest_.chunks.size() > kMaxChunks) {
    Disjoin(fmt::format("{} chunks are over the limit of {}",
                        manifest_.chunks.size(), kMaxChunks));
    return {};
  }
  CTXFS_TRY(OpenChunks(context));
  if (!manifest_.faults.empty()) return {};
  join_ = JoinLanes(chunks_);
  if (join_.left_out > 0) {
    Warn({LeftOutText()});
  }
  return {};
}

Status WShardChunks::OpenChunks(const ReadContext& context) {
  digests_ = std::vector<AtomicVerdict>(manifest_.chunks.size());
  uint64_t end = 0;
  for (const ChunkRef& chunk : manifest_.chunks) {
    std::shared_ptr<const WShardContainer> opened;
    if (StaysInside(chunk.uri)) {
      Result<std::shared_ptr<const WShardContainer>> result =
          OpenChunk(chunk, context);
      if (result) {
        opened = *std::move(result);
      } else if (options_.FailsWith(result.error())) {
        return Within(chunk.uri, result.error());
      } else if (result.error().code == Code::kNotFound) {
        Disjoin("missing file " + chunk.uri);
      } else {
        Disjoin(chunk.uri + " cannot be opened: " + result.error().Text());
      }
    }
    if (opened != nullptr) {
      AddStoredSize(opened->StoredSize());
      if (chunk.length && opened->length() != chunk.length) {
        Disjoin("length_T of " + chunk.uri + " differs from the manifest");
      }
      const std::optional<uint64_t> sum =
          CheckedAdd(end, opened->length().value_or(0));
      if (!sum) Disjoin("the chunks have too many steps");
      end = sum.value_or(end);
    }
    ends_.push_back(end);
    chunks_.push_back(std::move(opened));
  }
  return {};
}

Result<std::shared_ptr<const WShardContainer>> WShardChunks::OpenChunk(
    const ChunkRef& chunk, const ReadContext& context) const {
  std::shared_ptr<const Source> file =
      CTXFS_TRY(source()->OpenBeside(chunk.uri, context));
  const Buffer head = CTXFS_TRY(ReadHead(*file, context));
  if (!shard::HasShardRole(head.span(), shard::kWShardRole)) {
    return Error{Code::kCorrupt, "not an episode (Shard role 5)", 0};
  }
  auto opened = std::make_shared<WShardContainer>(std::move(file), options_);
  CTXFS_TRY(opened->Load(context));
  return std::shared_ptr<const WShardContainer>(std::move(opened));
}

uint64_t WShardChunks::LaneSize(const JoinedLane& joined) const {
  uint64_t size = 0;
  for (size_t k = 0; k < chunks_.size(); ++k) {
    size += chunks_[k]->EntrySize(joined.entries[k]);
  }
  return size;
}

Result<Content> WShardChunks::OpenLane(const JoinedLane& lane,
                                       const ReadContext& context) const {
  Content joined;  // refers to the chunks' contents
  for (size_t k = 0; k < chunks_.size(); ++k) {
    const Content part =
        CTXFS_TRY(chunks_[k]->OpenEntry(lane.entries[k], context));
    joined.Append(part);
  }
  if (lane.name != "time/ticks") return joined;
  std::vector<GlobalTicks::Piece> pieces;
  for (size_t k = 0; k < ends_.size(); ++k) {
    const uint64_t start = k == 0 ? 0 : ends_[k - 1];
    pieces.push_back({ends_[k], manifest_.chunks[k].start.value_or(start)});
  }
  const uint64_t size = joined.size();
  return Content(Computed{std::make_shared<const GlobalTicks>(
                     std::move(joined), std::move(pieces))},
                 size);
}

EntryInfo WShardChunks::DescribeLane(const JoinedLane& joined,
                                     const Request& request) const {
  EntryInfo info;
  info.name = joined.name;
  info.kind = "joined lane";
  info.size = LaneSize(joined);
  info.offset = kNoOffset;
  info.dtype = DTypeName(joined.lane.dtype);
  info.shape = joined.lane.shape;
  if (joined.lane.guess) {
    info.note =
        std::string("dtype and shape are a guess: ") + joined.lane.source;
  }
  for (size_t k = 0; k < chunks_.size(); ++k) {
    const EntryInfo part = chunks_[k]->Describe(joined.entries[k], request);
    info.stored_size += part.stored_size;
    if (k == 0) {
      info.codec = part.codec;
      info.verified = part.verified;
    }
    if (info.codec != part.codec) info.codec = "mixed";
    if (part.verified == "failed") info.verified = "failed";
    if (info.verified != part.verified && info.verified != "failed") {
      info.verified = "no";
    }
  }
  return info;
}

std::shared_ptr<const FileTable> WShardChunks::LaneFiles() const {
  const std::vector<JoinedLane>& lanes = join_.lanes;
  return MakeTable(
      {.placement = {.directory = "episode"},
       .count = static_cast<uint32_t>(lanes.size()),
       .path = [&lanes](uint32_t lane, std::string& /*scratch*/)
           -> std::string_view { return lanes[lane].name; },
       .open =
           [this, &lanes](uint32_t lane, const ReadContext& context) {
             return OpenLane(lanes[lane], context);
           },
       .facts = [this, &lanes](
                    uint32_t lane) { return FileFacts{LaneSize(lanes[lane])}; },
       .describe =
           [this, &lanes](uint32_t lane, const ReadContext& context) {
             return DescribeLane(lanes[lane], context);
           },
       .owner = Share(*this)});
}

Container::Tables WShardChunks::Files() const {
  Tables files = shard::ShardContainer::Files();
  files.push_back(LaneFiles());
  return files;
}

Status WShardChunks::AddOwnFacts(const ReadContext& context,
                                 Facts& facts) const {
  facts.Add("chunks", manifest_.chunks.size());
  return AddSignals("signal.", Arrays(), context, facts);
}

Exports WShardChunks::Export() const {
  Exports exports;
  if (manifest_.chunks.empty()) return exports;
  exports.bundle_name = "episode";
  exports.arrays = [self = Share(*this)](const ReadContext& /*context*/) {
    return self->Arrays();
  };
  exports.complete = [self = Share(*this)](const ReadContext& context) {
    return self->CheckLanes(context);
  };
  return exports;
}

std::vector<std::string> WShardChunks::PartsBeside(
    const ReadContext& /*context*/) const {
  std::vector<std::string> parts;
  for (size_t k = 0; k < chunks_.size(); ++k) {
    if (chunks_[k] != nullptr) parts.push_back(manifest_.chunks[k].uri);
  }
  return parts;
}

std::vector<HasParts::PartFile> WShardChunks::OtherFiles() const {
  std::vector<PartFile> files;
  for (const auto& chunk : chunks_) {
    if (chunk == nullptr) continue;
    files.push_back({chunk->source()->identity(), chunk->StoredSize()});
  }
  return files;
}

std::string WShardChunks::LeftOutText() const {
  return fmt::format(
      "{} lanes are not joined: they are not in every chunk, or not of the "
      "same type",
      join_.left_out);
}

Status WShardChunks::CheckLanes(const ReadContext& context) const {
  if (!manifest_.faults.empty()) {
    return Error{Code::kCorrupt,
                 "the lanes are not joined: " + manifest_.faults.front()};
  }
  for (size_t k = 0; k < chunks_.size(); ++k) {
    const Status complete = CheckComplete(*chunks_[k], context);
    if (!complete) return Within(manifest_.chunks[k].uri, complete.error());
  }
  if (join_.left_out == 0) return {};
  return Error{Code::kCorrupt, LeftOutText()};
}

std::vector<ChildContainer> WShardChunks::Children() const {
  std::vector<ChildContainer> chunks;
  for (const ChunkRef& chunk : manifest_.chunks) {
    if (chunk.uri.empty() || !StaysInside(chunk.uri)) continue;
    if (chunks.size() == kMaxDerivedFiles) break;
    const auto open = [manifest = source(),
                       uri = chunk.uri](const ReadContext& context) {
      return manifest->OpenBeside(uri, context);
    };
    chunks.push_back({"chunks/" + chunk.uri, open, Role::kViews});
  }
  return chunks;
}

std::vector<ArrayInfo> WShardChunks::Arrays() const {
  std::vector<ArrayInfo> arrays;
  for (const JoinedLane& joined : join_.lanes) {
    if (!AdmitGrowth(arrays)) break;
    arrays.push_back(
        {joined.name, joined.lane.dtype, joined.lane.shape,
         [self = Share(*this), &joined](const ReadContext& context) {
           return self->OpenLane(joined, context);
         }});
  }
  return arrays;
}

StepClock WShardChunks::Rate() const {
  StepClock rate;
  for (size_t k = 0; k < chunks_.size(); ++k) {
    if (chunks_[k] == nullptr) return {};
    const StepClock own = chunks_[k]->Rate();
    const bool same =
        own.multiplier == rate.multiplier && own.divisor == rate.divisor;
    if (k > 0 && !same) return {};
    rate = own;
  }
  return rate;
}

std::optional<Episode> WShardChunks::AsEpisode(
    const ReadContext& /*context*/) const {
  Episode episode;
  episode.steps = ends_.empty() ? 0 : ends_.back();
  for (ArrayInfo& lane : Arrays()) AddSignal(std::move(lane), episode);
  SetClock(Rate(), episode);
  return episode;
}

bool WShardChunks::DigestsAreCheap() const {
  uint64_t bytes = 0;
  for (const auto& chunk : chunks_) {
    if (chunk == nullptr) continue;
    const uint64_t size = chunk->source()->size();
    if (size > limits::kDigestedBytes - bytes) return false;
    bytes += size;
  }
  return true;
}

std::string WShardChunks::CheckDigest(size_t k,
                                      const ReadContext& context) const {
  if (manifest_.chunks[k].sha256.empty()) return "none";
  if (k >= chunks_.size() || chunks_[k] == nullptr) return "not checked";
  if (digests_[k] == Verdict::kUnknown && DigestsAreCheap()) Digest(k, context);
  const Verdict verdict = digests_[k];
  if (verdict == Verdict::kUnknown) return "not checked";
  return verdict == Verdict::kPassed ? "ok" : "differs";
}

void WShardChunks::Digest(size_t k, const ReadContext& context) const {
  const Result<std::string> digest = Sha256Of(chunks_[k]->source(), context);
  if (!digest) return;
  const bool same = *digest == LowerHex(manifest_.chunks[k].sha256);
  digests_[k] = same ? Verdict::kPassed : Verdict::kFailed;
}

std::string WShardChunks::CheckChain(size_t k,
                                     const ReadContext& context) const {
  if (k == 0 || chunks_[k - 1] == nullptr) return {};
  const Result<std::string> said = chunks_[k]->PreviousIdentity(context);
  const Result<std::optional<std::string>> own =
      chunks_[k - 1]->Identity(context);
  if (!said || said->empty() || !own || !*own || **own == *said) return {};
  return "meta/provenance of " + manifest_.chunks[k].uri +
         " follows another chunk than " + manifest_.chunks[k - 1].uri;
}

std::vector<Error> WShardChunks::Inspect(const ReadContext& context) const {
  std::vector<Error> faults = shard::ShardContainer::Inspect(context);
  for (size_t k = 0; k < chunks_.size(); ++k) {
    if (chunks_[k] == nullptr) continue;
    if (!manifest_.chunks[k].sha256.empty()) Digest(k, context);
    if (std::string chain = CheckChain(k, context); !chain.empty()) {
      faults.push_back({Code::kCorrupt, std::move(chain)});
    }
  }
  const Json info = Info(context);
  if (!info["continuity"].is_array()) return faults;
  for (const Json& fault : info["continuity"]) {
    faults.push_back({Code::kCorrupt, fault.get<std::string>()});
  }
  return faults;
}

void WShardChunks::AddInfo(Json& info, const ReadContext& context) const {
  shard::ShardContainer::AddInfo(info, context);
  Json continuity = manifest_.faults;
  Json chunks = Json::array();
  for (size_t k = 0; k < manifest_.chunks.size(); ++k) {
    const ChunkRef& chunk = manifest_.chunks[k];
    Json shown = {{"chunk_index", chunk.index},
                  {"uri", chunk.uri},
                  {"sha256", CheckDigest(k, context)}};
    if (chunk.length) shown["length_T"] = *chunk.length;
    if (chunk.start && chunk.last) {
      shown["timestep_range"] = {*chunk.start, *chunk.last};
    }
    if (shown["sha256"] == "differs") {
      continuity.push_back("sha256 of " + chunk.uri + " differs");
    }
    if (!chunk.identity.empty() && k < chunks_.size() &&
        chunks_[k] != nullptr) {
      const Result<std::optional<std::string>> own =
          chunks_[k]->Identity(context);
      const bool same = own && *own == chunk.identity;
      shown["identity"] = same ? "ok" : "differs";
      if (!same) continuity.push_back("identity of " + chunk.uri + " differs");
    }
    chunks.push_back(std::move(shown));
  }
  info["episode"] = manifest_.episode;
  info["chunks"] = std::move(chunks);
  for (const Json& fault : continuity) info["warnings"].push_back(fault);
  info["continuity"] = continuity.empty() ? Json("ok") : std::move(continuity);
  info["joined_lanes"] = join_.lanes.size();
}

Result<std::shared_ptr<const Container>> Open(
    std::shared_ptr<const Source> source, const OpenOptions& options,
    const ReadContext& context) {
  auto chunks = std::make_shared<WShardChunks>(source, options);
  CTXFS_TRY(chunks->Load(context));
  if (!chunks->has_manifest()) {
    return manifest::OpenManifest(std::move(source), options,
                                  context);  // form A
  }
  return std::shared_ptr<const Container>(std::move(chunks));
}

}  // namespace

}  // namespace ctxfs::wshard

namespace ctxfs {

extern const Format kWShardChunks{
    .name = "wshard_chunks",
    .contents = "manifest of an episode in chunks",
    .extensions = "manifest",
    .text_extensions = "manifest",
    .golden = "shard-profiles wshard",
    .docs = "wshard manifest",
    .probe = &wshard::ProbeChunks,
    .open = &wshard::Open,
    .traits = {.opens_neighbours = true}};

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
//
// Messages by number, their fields as arrays, and JSON messages as lines.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/container/file_set.h"
#include "core/container/part_texts.h"
#include "core/formats/mcap/mcap.h"
#include "core/formats/sample_shard/stored_json.h"

namespace ctxfs::mcap {
namespace {

/// Finds messages of a channel by number. Holds the layout of the chunk that it
/// used last, because Chunks does not cache a large layout.
class Finder {
 public:
  Finder(const Recording& recording, const Channel& channel)
      : chunks_(recording.chunks()), channel_(channel) {}

  Result<FoundMessage> Find(uint32_t message, const ReadContext& context);

 private:
  const Chunks& chunks_;
  const Channel& channel_;
  Run run_{};
  uint32_t end_ = 0;  // of run_
  std::shared_ptr<const Layout> layout_;
  std::span<const Place> places_;  // of layout_
};

Result<FoundMessage> Finder::Find(uint32_t message,
                                  const ReadContext& context) {
  if (message < run_.first || message >= end_) {
    const size_t run = channel_.RunOf(message);
    run_ = channel_.runs[run];
    end_ = channel_.EndOf(run);
    if (!run_.is_loose()) {
      layout_ = CTXFS_TRY(chunks_.Find(run_.place, context));
      places_ = layout_->Messages(channel_.id);
    }
  }
  const uint32_t number = message - run_.first;
  if (run_.is_loose()) {
    const LooseMessage& loose =
        channel_.loose[(run_.place & ~Run::kLoose) + number];
    std::array<std::byte, kMessageFields> bytes;
    CTXFS_TRY(chunks_.source().ReadAt(loose.at, bytes, context));
    return FoundMessage{*ParseMessage(bytes), std::nullopt,
                        loose.at + kMessageFields,
                        loose.length - kMessageFields};
  }
  if (number >= places_.size()) {
    return Error{Code::kCorrupt, "index: the chunk has fewer messages",
                 chunks_.all()[run_.place].record.at};
  }
  const Place& place = places_[number];
  return FoundMessage{place.fields, run_.place, place.at + kMessageFields,
                      place.length - kMessageFields};
}

/// Computes the values of a field of a channel.
class Values final : public Transform {
 public:
  Values(std::shared_ptr<const Recording> recording, const Channel& channel,
         const Field& field)
      : recording_(std::move(recording)), channel_(channel), field_(field) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override;
  Status Verify(const ReadContext& context) const override;
  bool HasUnreadable(uint64_t& budget,
                     const ReadContext& context) const override;

 private:
  const std::shared_ptr<const Recording> recording_;
  const Channel& channel_;
  const Field& field_;
};

Status Values::Compute(uint64_t offset, MutableBytes out,
                       const ReadContext& context) const {
  constexpr uint64_t kMessagesPerCheck = 256;
  // A cached layout may be from before a change of the file, and using it reads
  // nothing from the file.
  CTXFS_TRY(recording_->source()->CheckUnchanged());
  const uint64_t width = DTypeSize(field_.dtype);
  Finder finder(*recording_, channel_);
  while (!out.empty()) {
    const auto message = static_cast<uint32_t>(offset / width);
    if (message % kMessagesPerCheck == 0) CTXFS_TRY(context.Check());
    const FoundMessage found = CTXFS_TRY(finder.Find(message, context));
    std::array<std::byte, sizeof(uint64_t)> value;
    StoreLe(field_.value(found.fields), value.data());
    const auto skip = static_cast<size_t>(offset % width);
    const size_t bytes =
        std::min(out.size(), static_cast<size_t>(width) - skip);
    std::memcpy(out.data(), value.data() + skip, bytes);
    out = out.subspan(bytes);
    offset += bytes;
  }
  return {};
}

Status Values::Verify(const ReadContext& context) const {
  for (const Run& run : channel_.runs) {
    CTXFS_TRY(context.Check());
    if (run.is_loose()) continue;
    CTXFS_TRY(recording_->chunks().Find(run.place, context));
  }
  return {};
}

bool Values::HasUnreadable(uint64_t& budget, const ReadContext& context) const {
  const Chunks& chunks = recording_->chunks();
  for (const Run& run : channel_.runs) {
    if (!context.Check()) return false;
    if (run.is_loose()) continue;
    const Verdict verdict = chunks.VerdictOf(run.place);
    const Chunk& chunk = chunks.all()[run.place];
    if (verdict == Verdict::kFailed || !CheckChunk(chunk)) return true;
    if (verdict == Verdict::kPassed || chunk.size > budget) continue;
    budget -= chunk.size;
    const auto layout = chunks.Find(run.place, context);
    if (!layout && layout.error().Permanent()) return true;
  }
  return false;
}

/// The message as a line of JSON (docs/formats/mcap.md, section 7).
Result<std::string> LineOf(const FoundMessage& message, const Content& stored,
                           const ReadContext& context) {
  const bool too_long = message.size > limits::kJsonBytes;
  const std::string text =
      CTXFS_TRY(ReadAll(too_long ? Content() : stored, context));
  const Result<std::string> value =
      sample_shard::PassJson(text, sample_shard::JsonForm::kOneLine, context);
  if (!value && !value.error().Permanent()) return value.error();
  return fmt::format(
      "{{\"log_time\": {}, \"publish_time\": {}, \"sequence\": {}, {}}}\n",
      message.fields.log_time, message.fields.publish_time,
      message.fields.sequence,
      value ? "\"message\": " + *value : "\"$error\": \"not_json\"");
}

/// Returns the first message of each part of views/messages/TOPIC.jsonl, and
/// then the number of messages. A part is generated as a whole. It has either
/// all messages of one chunk, so that the chunk's layout is found only once, or
/// at most kLooseLines messages that are outside of chunks.
std::vector<uint32_t> LineStarts(const Channel& channel) {
  constexpr uint32_t kLooseLines = 1024;
  std::vector<uint32_t> starts;
  for (size_t run = 0; run < channel.runs.size(); ++run) {
    const uint32_t end = channel.EndOf(run);
    const uint32_t step =
        channel.runs[run].is_loose() ? kLooseLines : UINT32_MAX;
    for (uint64_t at = channel.runs[run].first; at < end; at += step) {
      starts.push_back(static_cast<uint32_t>(at));
    }
  }
  starts.push_back(channel.messages);
  return starts;
}

/// Number of bytes that are decoded to make the lines of messages [first, end).
uint64_t BytesOf(const Recording& recording, uint32_t channel, uint32_t first,
                 uint32_t end) {
  const Channel& of = recording.ChannelAt(channel);
  const Run& run = of.runs[of.RunOf(first)];
  if (!run.is_loose()) return recording.chunks().all()[run.place].size;
  uint64_t bytes = 0;
  for (uint32_t i = first; i < end; ++i) {
    bytes += recording.KnownSize(channel, i).value_or(0);
  }
  return bytes;
}

Result<std::string> LinesOf(const Recording& recording, uint32_t channel,
                            uint32_t first, uint32_t end,
                            const ReadContext& context) {
  Finder finder(recording, recording.ChannelAt(channel));
  std::string text;
  // JoinedTexts rejects a longer text.
  for (uint32_t i = first; i < end && text.size() <= limits::kDecodedBytes;
       ++i) {
    CTXFS_TRY(context.Check());
    const FoundMessage message = CTXFS_TRY(finder.Find(i, context));
    const std::string line =
        CTXFS_TRY(LineOf(message, recording.DataOf(message), context));
    CTXFS_TRY(AppendAdmitted(text, line));
  }
  return text;
}

/// Returns the file views/messages/TOPIC.jsonl.
std::shared_ptr<const FileTable> LineFile(
    const std::shared_ptr<const Recording>& recording, uint32_t channel,
    std::string path) {
  const auto starts = std::make_shared<const std::vector<uint32_t>>(
      LineStarts(recording->ChannelAt(channel)));
  std::vector<uint32_t> parts(starts->size());
  std::iota(parts.begin(), parts.end(), 0);
  PartTexts texts;
  texts.noun = "message";
  texts.source = recording->source();
  texts.bytes = [recording, starts, channel](uint32_t part) {
    return BytesOf(*recording, channel, (*starts)[part], (*starts)[part + 1]);
  };
  texts.text = [recording, starts, channel](uint32_t part,
                                            const ReadContext& context) {
    return LinesOf(*recording, channel, (*starts)[part], (*starts)[part + 1],
                   context);
  };
  return JoinedTexts(Role::kViews, std::move(path),
                     std::make_shared<const PartTexts>(std::move(texts)),
                     std::move(parts));
}

}  // namespace

Result<FoundMessage> Recording::Find(uint32_t channel, uint32_t message,
                                     const ReadContext& context) const {
  return Finder(*this, ChannelAt(channel)).Find(message, context);
}

Result<Content> Recording::OpenMessage(uint32_t channel, uint32_t message,
                                       const ReadContext& context) const {
  return DataOf(CTXFS_TRY(Find(channel, message, context)));
}

std::optional<uint64_t> Recording::KnownSize(uint32_t channel,
                                             uint32_t message) const {
  const Channel& of = ChannelAt(channel);
  const Run& run = of.runs[of.RunOf(message)];
  if (!run.is_loose()) return std::nullopt;
  const uint32_t at = (run.place & ~Run::kLoose) + (message - run.first);
  return of.loose[at].length - kMessageFields;
}

Content Recording::DataOf(const FoundMessage& message) const {
  if (message.chunk) {
    return {Decoded{chunks_->BlockOf(*message.chunk), message.data},
            message.size};
  }
  return {Range{source(), message.data, nullptr}, message.size};
}

std::string Recording::VerifiedOf(const Channel& channel) const {
  Verdict all = Verdict::kPassed;
  for (const Run& run : channel.runs) {
    if (run.is_loose()) return "none";
    const Verdict one = chunks_->VerdictOf(run.place);
    if (one == Verdict::kFailed) return VerifiedText(one);
    if (one == Verdict::kUnknown) all = one;
  }
  const bool has = verifies_chunks_ && channel.messages > 0;
  return has ? VerifiedText(all) : "none";
}

Content Recording::ValuesOf(uint32_t array) const {
  const uint64_t bytes = SizeOf(array);
  if (bytes == 0) return {};
  auto values = std::make_shared<const Values>(Share(*this), ChannelOf(array),
                                               FieldOf(array));
  return {Computed{std::move(values), 0}, bytes};
}

void Recording::AddMessageFiles(uint32_t channel, Tables& tables) const {
  const Channel& of = ChannelAt(channel);
  std::string suffix = ".";
  suffix += MessageExtension(of.encoding);
  tables.push_back(MakeTable(
      {.placement = {.role = Role::kPrimary,
                     .directory = "topics/" + paths_[channel] + "/messages",
                     .numbering = Numbering{.suffix = std::move(suffix)}},
       .count = of.messages,
       .path = &NoPath,
       .open =
           [this, channel](uint32_t message, const ReadContext& context) {
             return OpenMessage(channel, message, context);
           },
       .facts =
           [this, channel](uint32_t message) {
             return FileFacts{.size = KnownSize(channel, message)};
           },
       .size =
           [this, channel](uint32_t message, const ReadContext& context) {
             return SizeIn(Find(channel, message, context),
                           &FoundMessage::size);
           },
       .owner = Share(*this)}));
  if (of.encoding == "json") {
    tables.push_back(
        LineFile(Share(*this), channel,
                 WithSuffix("messages/" + paths_[channel], ".jsonl")));
  }
}

}  // namespace ctxfs::mcap

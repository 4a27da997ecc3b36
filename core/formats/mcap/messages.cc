// SPDX-License-Identifier: Apache-2.0
//
// Messages by number, and their fields as arrays.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/formats/mcap/mcap.h"

namespace ctxfs::mcap {
namespace {

void StoreField(const MessageRecord& fields, Field field, std::byte* to) {
  if (field == Field::kLogTime) return StoreLe(fields.log_time, to);
  if (field == Field::kPublishTime) return StoreLe(fields.publish_time, to);
  return StoreLe(fields.sequence, to);
}

/// Computes the values of a field of a channel.
class Values final : public Transform {
 public:
  Values(std::shared_ptr<const Recording> recording, uint32_t channel,
         Field field)
      : recording_(std::move(recording)),
        number_(channel),
        channel_(recording_->index().channels[channel]),
        field_(field) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override;
  Status Verify(const ReadContext& context) const override;
  bool HasUnreadable(uint64_t& budget,
                     const ReadContext& context) const override;

 private:
  const std::shared_ptr<const Recording> recording_;
  const uint32_t number_;
  const Channel& channel_;
  const Field field_;
};

Status Values::Compute(uint64_t offset, MutableBytes out,
                       const ReadContext& context) const {
  constexpr uint64_t kMessagesPerCheck = 256;
  // Layouts may be kept from before a change of the file.
  CTXFS_TRY(recording_->source()->CheckUnchanged());
  const uint64_t width = FieldWidth(field_);
  std::shared_ptr<const Layout> layout;
  for (uint32_t run_end = 0; !out.empty();) {
    const auto message = static_cast<uint32_t>(offset / width);
    const size_t run = channel_.RunOf(message);
    if (message >= run_end) {
      layout = CTXFS_TRY(recording_->LayoutOf(number_, run, context));
      run_end = channel_.EndOf(run);
    }
    if (message % kMessagesPerCheck == 0) CTXFS_TRY(context.Check());
    const FoundMessage found = CTXFS_TRY(
        recording_->FindIn(number_, run, layout.get(), message, context));
    std::array<std::byte, sizeof(uint64_t)> value;
    StoreField(found.fields, field_, value.data());
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
  for (size_t run = 0; run < channel_.runs.size(); ++run) {
    CTXFS_TRY(context.Check());
    CTXFS_TRY(recording_->LayoutOf(number_, run, context));
  }
  return {};
}

bool Values::HasUnreadable(uint64_t& budget, const ReadContext& context) const {
  const Chunks& chunks = recording_->chunks();
  for (const Run& run : channel_.runs) {
    if (!context.Check()) return false;
    if (run.is_loose()) continue;
    const Verdict verdict = chunks.VerdictOf(run.place);
    const uint64_t work = chunks[run.place].size;
    if (verdict == Verdict::kFailed || ChunkFault(chunks[run.place])) {
      return true;
    }
    if (verdict == Verdict::kPassed || work > budget) continue;
    budget -= work;
    const auto layout = chunks.LayoutOf(run.place, context);
    if (!layout && layout.error().Permanent()) return true;
  }
  return false;
}

}  // namespace

const char* FieldName(Field field) {
  constexpr const char* kNames[] = {"log_time", "publish_time", "sequence"};
  return kNames[static_cast<size_t>(field)];
}

Result<FoundMessage> Recording::FindIn(uint32_t channel, size_t run,
                                       const Layout* layout, uint32_t message,
                                       const Request& request) const {
  const Channel& of = index_->channels[channel];
  const Run& in = of.runs[run];
  const uint32_t number = message - in.first;
  if (in.is_loose()) {
    const LooseMessage& loose = of.loose[(in.place & ~Run::kLoose) + number];
    std::array<std::byte, kMessageFields> bytes;
    CTXFS_TRY(source()->ReadAt(loose.at, bytes, request));
    return FoundMessage{*ParseMessage(bytes), std::nullopt,
                        loose.at + kMessageFields,
                        loose.length - kMessageFields};
  }
  const std::span<const Place> places = layout->Messages(of.id);
  if (number >= places.size()) {
    return Error{Code::kCorrupt, "index: the chunk has fewer messages",
                 (*chunks_)[in.place].at};
  }
  const Place& place = places[number];
  return FoundMessage{place.fields, in.place, place.at + kMessageFields,
                      place.length - kMessageFields};
}

Result<std::shared_ptr<const Layout>> Recording::LayoutOf(
    uint32_t channel, size_t run, const ReadContext& context) const {
  const Run& in = index_->channels[channel].runs[run];
  if (in.is_loose()) return std::shared_ptr<const Layout>();
  return chunks_->LayoutOf(in.place, context);
}

Result<FoundMessage> Recording::Find(uint32_t channel, uint32_t message,
                                     const ReadContext& context) const {
  const size_t run = index_->channels[channel].RunOf(message);
  const auto layout = CTXFS_TRY(LayoutOf(channel, run, context));
  return FindIn(channel, run, layout.get(), message, context);
}

std::optional<uint64_t> Recording::KnownSize(uint32_t channel,
                                             uint32_t message) const {
  const Channel& of = index_->channels[channel];
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

std::string Recording::VerifiedOf(uint32_t channel) const {
  Verdict all = Verdict::kPassed;
  for (const Run& run : index_->channels[channel].runs) {
    if (run.is_loose()) return "none";
    const Verdict one = chunks_->VerdictOf(run.place);
    if (one == Verdict::kFailed) return VerifiedText(one);
    if (one == Verdict::kUnknown) all = one;
  }
  const bool has = verifies_chunks_ && index_->channels[channel].messages > 0;
  return has ? VerifiedText(all) : "none";
}

Content Recording::ValuesOf(uint32_t array) const {
  const uint32_t channel = array / kFields;
  const Field field = FieldOf(array);
  const uint64_t bytes = index_->channels[channel].messages * FieldWidth(field);
  if (bytes == 0) return {};
  auto values = std::make_shared<const Values>(Share(*this), channel, field);
  return {Computed{std::move(values), 0}, bytes};
}

}  // namespace ctxfs::mcap

// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mcap/messages.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace ctxfs::mcap {
namespace {

void StoreField(const MessageRecord& fields, Field field, std::byte* to) {
  switch (field) {
    case Field::kLogTime:
      return StoreLe(fields.log_time, to);
    case Field::kPublishTime:
      return StoreLe(fields.publish_time, to);
    case Field::kSequence:
      return StoreLe(fields.sequence, to);
  }
}

/// Computes the values of a field of a channel.
class Values final : public Transform {
 public:
  Values(std::shared_ptr<const Messages> messages, uint32_t channel,
         Field field)
      : messages_(std::move(messages)), channel_(channel), field_(field) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override;
  Status Verify(const ReadContext& context) const override;
  bool HasUnreadable(uint64_t& budget,
                     const ReadContext& context) const override;

 private:
  const Channel& channel() const { return messages_->channel(channel_); }
  /// Computes values of messages before `end` that are in one run.
  Status ComputeRun(size_t run, uint64_t& offset, MutableBytes& out,
                    const ReadContext& context) const;

  const std::shared_ptr<const Messages> messages_;
  const uint32_t channel_;
  const Field field_;
};

Status Values::ComputeRun(size_t number, uint64_t& offset, MutableBytes& out,
                          const ReadContext& context) const {
  constexpr uint32_t kMessagesPerCheck = 256;
  const uint64_t width = FieldWidth(field_);
  const uint32_t end = channel().EndOf(number);
  const auto layout = CTXFS_TRY(messages_->LayoutOf(channel_, number, context));
  while (!out.empty() && offset / width < end) {
    const auto message = static_cast<uint32_t>(offset / width);
    if (message % kMessagesPerCheck == 0) CTXFS_TRY(context.Check());
    const FoundMessage found = CTXFS_TRY(
        messages_->FindIn(channel_, number, layout, message, context));
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

Status Values::Compute(uint64_t offset, MutableBytes out,
                       const ReadContext& context) const {
  // Layouts may be kept from before a change of the file.
  CTXFS_TRY(messages_->chunks().source()->CheckUnchanged());
  size_t run =
      channel().RunOf(static_cast<uint32_t>(offset / FieldWidth(field_)));
  for (; !out.empty(); ++run) {
    CTXFS_TRY(ComputeRun(run, offset, out, context));
  }
  return {};
}

Status Values::Verify(const ReadContext& context) const {
  for (const Run& run : channel().runs) {
    CTXFS_TRY(context.Check());
    if (run.is_loose()) continue;
    CTXFS_TRY(messages_->chunks().LayoutOf(run.place, context));
  }
  return {};
}

bool Values::HasUnreadable(uint64_t& budget, const ReadContext& context) const {
  const Chunks& chunks = messages_->chunks();
  for (const Run& run : channel().runs) {
    if (!context.Check()) return false;
    if (run.is_loose()) continue;
    if (chunks.Fault(run.place)) return true;
    const Verdict verdict = chunks.VerdictOf(run.place);
    if (verdict == Verdict::kFailed) return true;
    const uint64_t work = chunks[run.place].size;
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

Result<FoundMessage> Messages::FindLoose(const LooseMessage& place,
                                         const Request& request) const {
  std::array<std::byte, kMessageFields> bytes;
  CTXFS_TRY(chunks_->source()->ReadAt(place.at, bytes, request));
  return FoundMessage{*ParseMessage(bytes), nullptr, place.at + kMessageFields,
                      place.length - kMessageFields};
}

Result<FoundMessage> Messages::FindIn(
    uint32_t number, size_t run, const std::shared_ptr<const Layout>& layout,
    uint32_t message, const Request& request) const {
  const Channel& of = channel(number);
  const Run& in = of.runs[run];
  const uint32_t index = message - in.first;
  if (in.is_loose()) {
    return FindLoose(of.loose[(in.place & ~Run::kLoose) + index], request);
  }
  const std::span<const Place> places = layout->Messages(of.id);
  if (index >= places.size()) {
    return Error{Code::kCorrupt, "index: the chunk has fewer messages",
                 (*chunks_)[in.place].at};
  }
  const Place& place = places[index];
  return FoundMessage{place.fields, chunks_->BlockOf(in.place),
                      place.at + kMessageFields, place.length - kMessageFields};
}

Result<std::shared_ptr<const Layout>> Messages::LayoutOf(
    uint32_t number, size_t run, const ReadContext& context) const {
  const Run& in = channel(number).runs[run];
  if (in.is_loose()) return std::shared_ptr<const Layout>();
  return chunks_->LayoutOf(in.place, context);
}

Result<FoundMessage> Messages::Find(uint32_t number, uint32_t message,
                                    const ReadContext& context) const {
  const size_t run = channel(number).RunOf(message);
  const auto layout = CTXFS_TRY(LayoutOf(number, run, context));
  return FindIn(number, run, layout, message, context);
}

std::optional<uint64_t> Messages::KnownSize(uint32_t number,
                                            uint32_t message) const {
  const Channel& of = channel(number);
  const Run& run = of.runs[of.RunOf(message)];
  if (!run.is_loose()) return std::nullopt;
  const uint32_t at = (run.place & ~Run::kLoose) + (message - run.first);
  return of.loose[at].length - kMessageFields;
}

Content Messages::DataOf(const FoundMessage& message) const {
  if (message.block != nullptr) {
    return {Decoded{message.block, message.data}, message.size};
  }
  return {Range{chunks_->source(), message.data, nullptr}, message.size};
}

std::optional<uint32_t> Messages::ChunkOf(uint32_t number,
                                          uint32_t message) const {
  const Channel& of = channel(number);
  const Run& run = of.runs[of.RunOf(message)];
  if (run.is_loose()) return std::nullopt;
  return run.place;
}

Verdict Messages::VerdictOf(uint32_t number) const {
  Verdict all = Verdict::kPassed;
  for (const Run& run : channel(number).runs) {
    if (run.is_loose()) continue;
    const Verdict one = chunks_->VerdictOf(run.place);
    if (one == Verdict::kFailed) return one;
    if (one == Verdict::kUnknown) all = one;
  }
  return all;
}

bool Messages::IsChunked(uint32_t number) const {
  return std::ranges::none_of(channel(number).runs, &Run::is_loose);
}

Content FieldValues(std::shared_ptr<const Messages> messages, uint32_t channel,
                    Field field) {
  const uint64_t bytes =
      messages->channel(channel).messages * FieldWidth(field);
  if (bytes == 0) return {};
  return {Computed{std::make_shared<const Values>(std::move(messages), channel,
                                                  field),
                   0},
          bytes};
}

}  // namespace ctxfs::mcap

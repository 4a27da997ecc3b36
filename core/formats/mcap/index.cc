// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mcap/index.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/formats/mcap/limits.h"

namespace ctxfs::mcap {

size_t Channel::RunOf(uint32_t message) const {
  const auto after = std::upper_bound(
      runs.begin(), runs.end(), message,
      [](uint32_t number, const Run& run) { return number < run.first; });
  return static_cast<size_t>(after - runs.begin()) - 1;
}

Compression CompressionOf(std::string_view name) {
  if (name.empty()) return Compression::kNone;
  if (name == "zstd") return Compression::kZstd;
  return name == "lz4" ? Compression::kLz4 : Compression::kOther;
}

const char* CompressionName(Compression compression) {
  constexpr const char* kNames[] = {"none", "zstd", "lz4", "other"};
  return kNames[static_cast<size_t>(compression)];
}

uint64_t CountsDigest(const Counts& counts) {
  uint64_t sum = 0;
  for (const auto& [channel, count] : counts) {
    uint64_t mixed = (uint64_t{channel} << 32 | count) + 0x9E3779B97F4A7C15U;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBU;
    sum += mixed ^ (mixed >> 31);
  }
  return sum;
}

Status IndexBuilder::Count(uint64_t& sum, uint64_t bytes, uint64_t most,
                           std::string_view what, uint64_t at) {
  sum += bytes;  // cannot wrap: texts are bytes of the file
  if (sum > most) {
    return OverLimit("limit: bytes of " + std::string(what), most, at);
  }
  return HeapAllowance::Admit(bytes);
}

Status IndexBuilder::CountRecord(uint64_t at) {
  const uint64_t records =
      index_.chunks.size() + index_.attachments.size() + index_.metadata.size();
  if (records >= kMaxRecords) {
    return OverLimit("limit: chunks, attachments and metadata", kMaxRecords,
                     at);
  }
  return {};
}

void IndexBuilder::WarnOnce(bool& warned, std::string text, uint64_t at) {
  if (std::exchange(warned, true)) return;
  index_.warnings.push_back({std::move(text), at, Severity::kNote});
}

Status IndexBuilder::Add(const SchemaRecord& schema, uint64_t at) {
  if (schema.id == 0) return {};
  const auto [found, added] =
      schemas_.try_emplace(schema.id, index_.schemas.size());
  if (!added) {
    const Schema& first = index_.schemas[found->second];
    if (first.name != schema.name || first.encoding != schema.encoding ||
        first.data != schema.data) {
      WarnOnce(redefined_,
               fmt::format("redefined: schema {} differs from an earlier one, "
                           "which counts",
                           schema.id),
               at);
    }
    return {};
  }
  CTXFS_TRY(
      Count(schema_bytes_,
            schema.name.size() + schema.encoding.size() + schema.data.size(),
            kMaxSchemaBytes, "schemas", at));
  index_.schemas.push_back({schema.id, std::string(schema.name),
                            std::string(schema.encoding),
                            std::string(schema.data)});
  return {};
}

Status IndexBuilder::Add(const ChannelRecord& channel, uint64_t at) {
  const auto [found, added] =
      channels_.try_emplace(channel.id, index_.channels.size());
  if (!added) {
    const Channel& first = index_.channels[found->second];
    if (first.schema_id != channel.schema || first.topic != channel.topic ||
        first.encoding != channel.encoding ||
        first.metadata != channel.metadata) {
      WarnOnce(redefined_,
               fmt::format("redefined: channel {} differs from an earlier one, "
                           "which counts",
                           channel.id),
               at);
    }
    return {};
  }
  CTXFS_TRY(Count(
      channel_bytes_,
      channel.topic.size() + channel.encoding.size() + channel.metadata.size(),
      kMaxChannelBytes, "channels", at));
  index_.channels.push_back({.id = channel.id,
                             .schema_id = channel.schema,
                             .topic = std::string(channel.topic),
                             .encoding = std::string(channel.encoding),
                             .metadata = std::string(channel.metadata)});
  return {};
}

Status IndexBuilder::Add(const Record& record, Bytes content) {
  if (record.op == Op::kSchema) {
    const auto schema = ParseSchema(content);
    return schema ? Add(*schema, record.at)
                  : Status(BadRecord(record, kFieldPastEnd));
  }
  const auto channel = ParseChannel(content);
  return channel ? Add(*channel, record.at)
                 : Status(BadRecord(record, kFieldPastEnd));
}

Channel* IndexBuilder::Find(uint16_t id) {
  const auto found = channels_.find(id);
  return found == channels_.end() ? nullptr : &index_.channels[found->second];
}

Status IndexBuilder::AddRun(Channel& channel, uint32_t place, uint32_t count,
                            uint64_t at) {
  if (count > kMaxMessages - channel.messages) {
    return OverLimit("limit: messages of a channel", kMaxMessages, at);
  }
  const bool goes_on = !channel.runs.empty() && channel.runs.back().is_loose();
  if ((place & Run::kLoose) == 0 || !goes_on) {
    CTXFS_TRY(AdmitGrowth(channel.runs));
    channel.runs.push_back({channel.messages, place});
  }
  channel.messages += count;
  return {};
}

Status IndexBuilder::AddChunk(Chunk chunk, const Counts& counts) {
  CTXFS_TRY(CountRecord(chunk.at));
  chunk.counts = CountsDigest(counts);
  const auto place = static_cast<uint32_t>(index_.chunks.size());
  CTXFS_TRY(AdmitGrowth(index_.chunks));
  index_.chunks.push_back(chunk);
  for (const auto& [id, count] : counts) {
    index_.messages += count;
    if (Channel* const channel = Find(id)) {
      CTXFS_TRY(AddRun(*channel, place, count, chunk.at));
    } else {
      WarnOnce(no_channel_,
               fmt::format("no_channel: messages of channel {}, which has no "
                           "record, are not shown",
                           id),
               chunk.at);
    }
  }
  return {};
}

Status IndexBuilder::AddMessage(const MessageRecord& message,
                                const Record& record) {
  ++index_.messages;
  CountTimes(message.log_time, message.log_time);
  Channel* const channel = Find(message.channel);
  if (channel == nullptr) {
    WarnOnce(no_channel_,
             fmt::format("no_channel: messages of channel {}, which has no "
                         "record, are not shown",
                         message.channel),
             record.at);
    return {};
  }
  const auto place = static_cast<uint32_t>(channel->loose.size());
  if (place >= Run::kLoose) {
    return OverLimit("limit: messages outside of chunks", Run::kLoose,
                     record.at);
  }
  CTXFS_TRY(AddRun(*channel, Run::kLoose + place, 1, record.at));
  CTXFS_TRY(AdmitGrowth(channel->loose));
  channel->loose.push_back({record.content(), record.length});
  return {};
}

Status IndexBuilder::AddAttachment(Attachment attachment) {
  CTXFS_TRY(CountRecord(attachment.at));
  CTXFS_TRY(
      Count(name_bytes_,
            attachment.fields.name.size() + attachment.fields.media_type.size(),
            limits::kNameBytes, "names", attachment.at));
  CTXFS_TRY(AdmitGrowth(index_.attachments));
  index_.attachments.push_back(std::move(attachment));
  return {};
}

Status IndexBuilder::AddMetadata(MetadataPlace metadata) {
  CTXFS_TRY(CountRecord(metadata.at));
  CTXFS_TRY(Count(name_bytes_, metadata.name.size(), limits::kNameBytes,
                  "names", metadata.at));
  CTXFS_TRY(AdmitGrowth(index_.metadata));
  index_.metadata.push_back(std::move(metadata));
  return {};
}

void IndexBuilder::CountTimes(uint64_t first, uint64_t last) {
  if (!index_.times) index_.times = {first, last};
  index_.times->first = std::min(index_.times->first, first);
  index_.times->second = std::max(index_.times->second, last);
}

Index IndexBuilder::Finish() && {
  const auto by_id = [](const auto& a, const auto& b) { return a.id < b.id; };
  std::ranges::sort(index_.schemas, by_id);
  std::ranges::sort(index_.channels, by_id);
  for (const Channel& channel : index_.channels) {
    if (channel.schema_id == 0 || schemas_.contains(channel.schema_id)) {
      continue;
    }
    WarnOnce(no_schema_,
             fmt::format("no_schema: channel {} has schema {}, which has no "
                         "record",
                         channel.id, channel.schema_id),
             kNoOffset);
  }
  return std::move(index_);
}

}  // namespace ctxfs::mcap

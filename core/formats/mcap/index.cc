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
  const auto after = std::ranges::upper_bound(runs, message, {}, &Run::first);
  return static_cast<size_t>(after - runs.begin()) - 1;
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

const Definition* Index::SchemaOf(const Channel& channel) const {
  const auto found =
      std::ranges::lower_bound(schemas, channel.schema, {}, &Definition::id);
  return found != schemas.end() && found->id == channel.schema ? &*found
                                                               : nullptr;
}

void IndexBuilder::Warn(std::string_view key, std::string_view text,
                        uint64_t at) {
  if (!warned_.insert(key).second) return;
  index.warnings.push_back(
      {fmt::format("{}: {}", key, text), at, Severity::kNote});
}

Status IndexBuilder::Define(const Record& record, Bytes content) {
  const bool is_channel = record.op == Op::kChannel;
  ByteReader in(content);
  Channel one;
  one.id = in.U16();
  if (is_channel) one.schema = in.U16();
  one.name = TakeText(in);
  one.encoding = TakeText(in);
  one.data = TakeText(in);
  if (!in.ok() || (is_channel && !IsTextMap(one.data))) {
    return BadRecord(record);
  }
  if (!is_channel && one.id == 0) return {};
  Definitions& known = is_channel ? channels_ : schemas_;
  const auto first = known.by_id.find(one.id);
  if (first != known.by_id.end()) {
    if (static_cast<const Definition&>(first->second) == one) return {};
    Warn("redefined",
         fmt::format("{} {} differs from an earlier one, which counts",
                     is_channel ? "channel" : "schema", one.id),
         record.at);
    return {};
  }
  const uint64_t most = is_channel ? kMaxChannelBytes : kMaxSchemaBytes;
  known.bytes += one.name.size() + one.encoding.size() + one.data.size();
  if (known.bytes > most) {
    return OverLimit("limit: bytes of channels or schemas", most, record.at);
  }
  CTXFS_TRY(HeapAllowance::Check());
  known.by_id.emplace(one.id, std::move(one));
  return {};
}

Channel* IndexBuilder::Find(uint16_t id, uint32_t count, uint64_t at) {
  index.messages += count;
  const auto found = channels_.by_id.find(id);
  if (found != channels_.by_id.end()) return &found->second;
  Warn("no_channel",
       fmt::format("messages of channel {}, which has no record, are not shown",
                   id),
       at);
  return nullptr;
}

Status IndexBuilder::CountRecord(const Record& record) {
  if (++records_ <= kMaxRecords) return {};
  return OverLimit("limit: chunks, attachments and metadata", kMaxRecords,
                   record.at);
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
  CTXFS_TRY(CountRecord(chunk.record));
  chunk.counts = CountsDigest(counts);
  const auto place = static_cast<uint32_t>(index.chunks.size());
  CTXFS_TRY(AdmitGrowth(index.chunks));
  index.chunks.push_back(chunk);
  for (const auto& [id, count] : counts) {
    Channel* const channel = Find(id, count, chunk.record.at);
    if (channel == nullptr) continue;
    CTXFS_TRY(AddRun(*channel, place, count, chunk.record.at));
  }
  return {};
}

Status IndexBuilder::AddMessage(const Record& record, const Message& message) {
  AddTime(message.log_time);
  Channel* const channel = Find(message.channel, 1, record.at);
  if (channel == nullptr) return {};
  if (message.log_time < channel->last_loose) {
    index.unordered.insert(message.channel);
  }
  channel->last_loose = message.log_time;
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

Status IndexBuilder::AddFile(FileRecord file) {
  CTXFS_TRY(CountRecord(file.record));
  name_bytes_ += file.name.size() + file.media_type.size();
  if (name_bytes_ > limits::kNameBytes) {
    return OverLimit("limit: bytes of names", limits::kNameBytes,
                     file.record.at);
  }
  auto& files =
      file.record.op == Op::kAttachment ? index.attachments : index.metadata;
  CTXFS_TRY(AdmitGrowth(files));
  files.push_back(std::move(file));
  return {};
}

void IndexBuilder::AddTime(uint64_t log_time) {
  if (!index.times) index.times = {log_time, log_time};
  index.times->first = std::min(index.times->first, log_time);
  index.times->second = std::max(index.times->second, log_time);
}

Index IndexBuilder::Finish() && {
  for (auto& [id, one] : schemas_.by_id) {
    index.schemas.push_back(std::move(one));
  }
  for (auto& [id, one] : channels_.by_id) {
    if (one.schema != 0 && !schemas_.by_id.contains(one.schema)) {
      Warn("no_schema",
           fmt::format("channel {} has schema {}, which has no record", id,
                       one.schema),
           kNoOffset);
    }
    index.channels.push_back(std::move(one));
  }
  return std::move(index);
}

}  // namespace ctxfs::mcap

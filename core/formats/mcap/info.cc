// SPDX-License-Identifier: Apache-2.0
//
// Describes a recording: info.json, facts, and the exports for views.
#include <fmt/chrono.h>
#include <fmt/core.h>

#include <ctime>
#include <set>
#include <string>

#include "core/base/json/json.h"
#include "core/base/limits.h"
#include "core/formats/mcap/mcap.h"

namespace ctxfs::mcap {
namespace {

/// Returns a time such as "2024-05-01T12:00:00.000000123Z".
std::string IsoTime(uint64_t nanoseconds) {
  const auto seconds = static_cast<std::time_t>(nanoseconds / kNanoseconds);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:09}Z", fmt::gmtime(seconds),
                     nanoseconds % kNanoseconds);
}

double Seconds(const std::pair<uint64_t, uint64_t>& times) {
  return static_cast<double>(times.second - times.first) /
         static_cast<double>(kNanoseconds);
}

Json Compressions(const std::vector<Chunk>& chunks) {
  constexpr const char* kNames[] = {"none", "zstd", "lz4", "other"};
  std::set<std::string> names;
  for (const Chunk& chunk : chunks) {
    names.insert(kNames[static_cast<size_t>(chunk.compression)]);
  }
  return names;
}

}  // namespace

void Recording::AddInfo(Json& info, const ReadContext& /*context*/) const {
  info.update({{"format", "mcap"},
               {"profile", profile_},
               {"library", library_},
               {"channels", index_.channels.size()},
               {"messages", index_.messages},
               {"schemas", index_.schemas.size()},
               {"chunks", chunks_->all().size()},
               {"attachments", index_.attachments.size()},
               {"metadata_records", index_.metadata.size()},
               {"compressions", Compressions(chunks_->all())},
               {"walked", index_.walked}});
  if (index_.times && index_.times->first <= index_.times->second) {
    info.update({{"start_time", IsoTime(index_.times->first)},
                 {"start_time_ns", index_.times->first},
                 {"end_time", IsoTime(index_.times->second)},
                 {"end_time_ns", index_.times->second},
                 {"duration", Seconds(*index_.times)}});
  }
  const std::set<uint16_t> unordered = chunks_->Unordered();
  Json topics = Json::array();
  for (const Channel& channel : index_.channels) {
    if (unordered.contains(channel.id)) topics.push_back(channel.name);
  }
  if (!topics.empty()) info["unordered"] = std::move(topics);
}

Status Recording::AddFacts(const ReadContext& context, Facts& facts) const {
  facts.Add("topics", index_.channels.size());
  facts.Add("messages", index_.messages);
  if (index_.times && index_.times->first <= index_.times->second) {
    facts.Add("start_time", IsoTime(index_.times->first));
    facts.Add("duration", Seconds(*index_.times), "s");
  }
  facts.Add("profile", profile_);
  facts.Add("library", library_);
  for (const Channel& channel : index_.channels) {
    CTXFS_TRY(context.Check());
    if (facts.full()) {
      facts.LeaveOut(1);
      continue;
    }
    const Definition* const schema = index_.SchemaOf(channel);
    facts.Add(
        "topic." + channel.name,
        fmt::format("{} messages, {}{}{}", channel.messages,
                    channel.encoding.empty() ? "no encoding" : channel.encoding,
                    schema != nullptr ? ", " : "",
                    schema != nullptr ? schema->name : ""));
  }
  return {};
}

Exports Recording::Export() const {
  Exports exports;
  if (index_.channels.empty()) return exports;
  exports.bundle_name = "times";
  exports.arrays = [self = Share(*this)](const ReadContext& context) {
    std::vector<ArrayInfo> arrays;
    for (uint32_t array = 0; array < self->arrays(); ++array) {
      if (!context.Check()) break;
      arrays.push_back(
          {.name = self->ArrayName(array),
           .dtype = self->FieldOf(array).dtype,
           .shape = {self->ChannelOf(array).messages},
           .open = [self, array](const ReadContext& /*own*/)
               -> Result<Content> { return self->ValuesOf(array); }});
    }
    return arrays;
  };
  return exports;
}

}  // namespace ctxfs::mcap

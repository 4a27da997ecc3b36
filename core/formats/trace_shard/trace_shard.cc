// SPDX-License-Identifier: Apache-2.0
//
// TraceShard: Shard role 7 (docs/formats/conventions.md, section 4).
//
//   seq/NNNNNN   an event, JSON or cowrie
//   meta/trace   JSON about the whole trace
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/json/json.h"
#include "core/base/limits.h"
#include "core/container/documents.h"
#include "core/container/file_set.h"
#include "core/container/open.h"
#include "core/content/check_at.h"
#include "core/formats/cowrie/cowrie.h"
#include "core/formats/shard/shard.h"

namespace ctxfs::trace_shard {
namespace {

constexpr std::string_view kEvents = "seq/";

/// Orders events by key: numbers by value, then all other keys.
bool ComesBefore(std::string_view a, std::string_view b) {
  const auto rank = [](std::string_view& key) {
    constexpr std::string_view kDigits = "0123456789";
    if (key.find_first_not_of(kDigits) != std::string_view::npos) return 1;
    key.remove_prefix(std::min(key.find_first_not_of('0'), key.size()));
    return 0;
  };
  const int rank_a = rank(a);
  const int rank_b = rank(b);
  if (rank_a != rank_b) return rank_a < rank_b;
  if (rank_a == 0 && a.size() != b.size()) return a.size() < b.size();
  return a < b;
}

class TraceShard final : public shard::ShardContainer {
 public:
  using shard::ShardContainer::ShardContainer;

  Status Load(const ReadContext& context) override {
    CTXFS_TRY(shard::ShardContainer::Load(context));
    for (uint32_t entry = 0; entry < entry_count(); ++entry) {
      CTXFS_TRY(CheckAt(context, entry));
      const std::string_view name = EntryName(entry).value_or("");
      if (name.size() > kEvents.size() && name.starts_with(kEvents)) {
        events_.push_back(entry);
        const uint16_t type = Record(entry).content_type;
        all_values_ = all_values_ && (type == shard::kJsonContent ||
                                      type == shard::kCowrieContent);
      }
    }
    std::stable_sort(events_.begin(), events_.end(),
                     [this](uint32_t a, uint32_t b) {
                       return ComesBefore(EntryName(a)->substr(kEvents.size()),
                                          EntryName(b)->substr(kEvents.size()));
                     });
    return {};
  }

  Tables Files() const override {
    Tables files = shard::ShardContainer::Files();
    if (!events_.empty()) {
      files.push_back(EventsFile());
    }
    return files;
  }

 private:
  Status AddOwnFacts(const ReadContext& context, Facts& facts) const override {
    facts.Add("events", events_.size(), "events");
    return context.Check();
  }

  /// Returns views/events.jsonl, which exists only if all events are JSON or
  /// cowrie. If an event's content type leaves that open, a look-up decodes all
  /// events.
  std::shared_ptr<const FileTable> EventsFile() const {
    return MakeTable(
        {.placement = {.role = Role::kViews,
                       .exists_cost =
                           all_values_ ? Cost::kNone : Cost::kDecode},
         .path =
             [](uint32_t /*file*/, std::string& /*scratch*/) {
               return std::string_view("events.jsonl");
             },
         .open =
             [this](uint32_t /*file*/, const ReadContext& context) {
               return CachedText(
                   {owner_, 0}, source(),
                   [shard = Share(*this)](const ReadContext& request) {
                     return shard->Lines(request);
                   },
                   context);
             },
         .owner = Share(*this)});
  }

  static Result<Json> Event(const std::string& bytes,
                            const ReadContext& context) {
    if (cowrie::LooksLikeCowrie(AsBytes(bytes)))
      return cowrie::DecodeCowrie(AsBytes(bytes), context.interrupt());
    ParsedJson event = CTXFS_TRY(ParseJson(bytes, context));
    return std::move(event.value);
  }

  /// Returns the events as JSON lines, in key order. Fails with kCorrupt if an
  /// event is neither JSON nor cowrie.
  Result<std::string> Lines(const ReadContext& context) const {
    std::string lines;
    for (const uint32_t entry : events_) {
      CTXFS_TRY(context.Check());
      const Content content = CTXFS_TRY(OpenEntry(entry, context));
      if (content.size() > limits::kJsonBytes ||
          lines.size() > limits::kJsonBytes) {
        return Error{Code::kLimit,
                     fmt::format("the events have more than {} bytes",
                                 limits::kJsonBytes)};
      }
      const std::string text = CTXFS_TRY(ReadAll(content, context));
      const Json event = CTXFS_TRY(Event(text, context));
      CTXFS_TRY(AppendAdmitted(lines, JsonLine(event) + "\n"));
    }
    return lines;
  }

  const uint64_t owner_ = NewOwner();
  std::vector<uint32_t> events_;  // in key order
  bool all_values_ = true;        // all are JSON or cowrie by content type
};

}  // namespace

}  // namespace ctxfs::trace_shard

namespace ctxfs {

extern const Format kTraceShard{.name = "trace_shard",
                                .contents = "event traces (TraceShard)",
                                .extensions = "tshard",
                                .golden = "conventions",
                                .docs = "model_shard conventions",
                                .probe = &shard::HasRole<shard::kTraceRole>,
                                .open = &OpenAs<trace_shard::TraceShard>};

}  // namespace ctxfs

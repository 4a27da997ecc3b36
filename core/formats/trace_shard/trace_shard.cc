// SPDX-License-Identifier: Apache-2.0
//
// TraceShard: Shard role 7 (docs/conventions.md, section 4).
//
//   seq/NNNNNN   an event, JSON or cowrie
//   meta/trace   JSON of the whole
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/json.h"
#include "core/base/limits.h"
#include "core/container/documents.h"
#include "core/container/examined.h"
#include "core/container/open.h"
#include "core/content/check_at.h"
#include "core/formats/cowrie/cowrie.h"
#include "core/formats/shard/shard.h"

namespace ctxfs::trace_shard {
namespace {

constexpr std::string_view kEvents = "seq/";

/// Whether the event with key `a` comes before that with `b`: numbers first, by
/// value, then all other keys.
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
    if (Status loaded = shard::ShardContainer::Load(context); !loaded)
      return loaded;
    for (uint32_t entry = 0; entry < entry_count(); ++entry) {
      if (Status wanted = CheckAt(context, entry); !wanted) return wanted;
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
      files.push_back(std::make_shared<const EventsFile>(Share(*this)));
    }
    return files;
  }

 private:
  /// views/events.jsonl
  class EventsFile final : public FileTable {
   public:
    explicit EventsFile(std::shared_ptr<const TraceShard> shard)
        : FileTable({.role = Role::kViews}), shard_(std::move(shard)) {}

    uint32_t count() const override { return 1; }
    std::optional<std::string_view> Path(
        uint32_t /*file*/, std::string& /*scratch*/) const override {
      return "events.jsonl";
    }
    Result<Content> Open(uint32_t /*file*/,
                         const ReadContext& context) const override {
      return CachedText(
          {shard_->owner_, 0}, shard_->source(),
          [shard = shard_](const ReadContext& request) {
            return shard->Lines(request);
          },
          context);
    }
    Cost exists_cost() const override { return Cost::kDecode; }
    Result<bool> Exists(uint32_t file, Cost /*most*/,
                        const ReadContext& context) const override {
      if (shard_->all_values_) return true;  // by their content types
      return ExistsIf(Open(file, context));
    }

   private:
    const std::shared_ptr<const TraceShard> shard_;
  };

  static Result<Json> Event(const std::string& bytes,
                            const ReadContext& context) {
    if (cowrie::LooksLikeCowrie(AsBytes(bytes)))
      return cowrie::DecodeCowrie(AsBytes(bytes), context.interrupt());
    Result<ParsedJson> event = ParseJson(bytes);
    if (!event) return std::move(event).error();
    return std::move(event->value);
  }

  /// Returns the events, one JSON value a line, in the order of their keys.
  /// Fails with kCorrupt if one is neither JSON nor cowrie.
  Result<std::string> Lines(const ReadContext& context) const {
    std::string lines;
    for (const uint32_t entry : events_) {
      if (Status wanted = context.Check(); !wanted) return wanted.error();
      const Result<Content> content = OpenEntry(entry, context);
      if (!content) return content.error();
      if (content->size() > limits::kJsonBytes ||
          lines.size() > limits::kJsonBytes) {
        return Error{Code::kLimit,
                     fmt::format("the events have more than {} bytes",
                                 limits::kJsonBytes)};
      }
      const Result<std::string> text = ReadAll(*content, context);
      if (!text) return text.error();
      const Result<Json> event = Event(*text, context);
      if (!event) return event.error();
      lines += JsonLine(*event) + "\n";
    }
    return lines;
  }

  const uint64_t owner_ = NewOwner();
  std::vector<uint32_t> events_;  // in key order
  bool all_values_ = true;        // JSON or cowrie, by their content types
};

}  // namespace

}  // namespace ctxfs::trace_shard

namespace ctxfs {

extern const Format kTraceShard;
const Format kTraceShard{.name = "trace_shard",
                         .contents = "event traces (TraceShard)",
                         .extensions = "tshard",
                         .probe = &shard::HasRole<shard::kTraceRole>,
                         .open = &OpenAs<trace_shard::TraceShard>};

}  // namespace ctxfs

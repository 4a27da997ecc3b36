// SPDX-License-Identifier: Apache-2.0
//
// TraceShard: Shard role 7 (docs/conventions.md, section 4).
//
//   seq/NNNNNN   an event, JSON or cowrie
//   meta/trace   JSON of the whole
#include <algorithm>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/formats/cowrie/cowrie.h"
#include "core/formats/shard/shard.h"

namespace ctxfs {
namespace {

constexpr uint16_t kJsonType = 2;
constexpr uint16_t kCowrieType = 3;
constexpr std::string_view kEvents = "seq/";

/// Whether event `a` comes before `b`: keys that are numbers by their value,
/// before all others.
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

class TraceShard final : public ShardContainer {
 public:
  using ShardContainer::ShardContainer;

  Status Load(const ReadContext& context) override {
    if (Status loaded = ShardContainer::Load(context); !loaded) return loaded;
    for (uint32_t entry = 0; entry < entry_count(); ++entry) {
      const std::string_view name = EntryName(entry).value_or("");
      if (name.size() > kEvents.size() && name.starts_with(kEvents)) {
        events_.push_back(entry);
        const uint16_t type = Record(entry).content_type;
        all_values_ = all_values_ && (type == kJsonType || type == kCowrieType);
      }
    }
    std::stable_sort(events_.begin(), events_.end(),
                     [this](uint32_t a, uint32_t b) {
                       return ComesBefore(EntryName(a)->substr(kEvents.size()),
                                          EntryName(b)->substr(kEvents.size()));
                     });
    return {};
  }

  std::vector<OwnFile> OwnFiles() const override {
    std::vector<OwnFile> files = ShardContainer::OwnFiles();
    if (events_.empty()) return files;
    auto self = std::static_pointer_cast<const TraceShard>(shared_from_this());
    OwnFile file;
    file.path = "views/events.jsonl";
    file.open = [self](const ReadContext& context) -> Result<Content> {
      Result<std::string> lines = self->Lines(context);
      if (!lines) return std::move(lines).error();
      auto text = std::make_shared<const std::string>(std::move(*lines));
      const uint64_t size = text->size();
      Content content;
      content.Append(Literal{std::move(text)}, size);
      return content;
    };
    file.exists = [self](const ReadContext& context) -> Result<bool> {
      if (self->all_values_)
        return true;  // so they say: not read for a listing
      const Result<std::string> lines = self->Lines(context);
      if (!lines && !lines.error().Permanent()) return lines.error();
      return lines.has_value();
    };
    files.push_back(std::move(file));
    return files;
  }

 private:
  static Result<Json> Event(const std::string& bytes) {
    if (LooksLikeCowrie(AsBytes(bytes))) return DecodeCowrie(AsBytes(bytes));
    Result<ParsedJson> event = ParseJson(bytes);
    if (!event) return std::move(event).error();
    return std::move(event->value);
  }

  /// The events, one JSON value a line, in the order of their keys; kCorrupt
  /// when one is neither JSON nor cowrie.
  Result<std::string> Lines(const ReadContext& context) const {
    std::string lines;
    for (const uint32_t entry : events_) {
      const Result<Content> content = OpenEntry(entry, context);
      if (!content) return content.error();
      if (content->size() > limits::kJsonBytes ||
          lines.size() > limits::kJsonBytes) {
        return Error{Code::kLimit, "the events are too many for one file"};
      }
      const Result<std::string> text = ReadAll(*content, context);
      if (!text) return text.error();
      const Result<Json> event = Event(*text);
      if (!event) return event.error();
      lines +=
          event->dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    }
    return lines;
  }

  std::vector<uint32_t> events_;  // in key order
  bool all_values_ = true;        // JSON or cowrie, by their content types
};

bool Probe(Bytes head) { return HasShardRole(head, kTraceRole); }

}  // namespace

extern const Format kTraceShard;
const Format kTraceShard{"trace_shard", &Probe, &OpenShard<TraceShard>};

}  // namespace ctxfs

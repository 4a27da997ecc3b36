// SPDX-License-Identifier: Apache-2.0
//
// Renders views/records.jsonl of a stream (docs/formats/cowrie.md, section 7),
// in blocks of records that are decoded together.
#include <utility>

#include "core/base/limits.h"
#include "core/container/part_texts.h"
#include "core/formats/cowrie/limits.h"
#include "core/formats/cowrie/stream.h"

namespace ctxfs::cowrie {
namespace {

Result<std::string> LineOf(const CowrieStream& stream, uint32_t record,
                           const ReadContext& context) {
  const Result<Json> value = stream.Value(record, context);
  if (value) return JsonLine(*value) + "\n";
  if (!value.error().Permanent()) return value.error();
  return JsonLine({{"$error", value.error().Text()}, {"record", record}}) +
         "\n";
}

std::vector<uint32_t> StartsOfBlocks(const CowrieStream& stream) {
  constexpr uint64_t kBlockBytes = 4 * limits::kMiB;
  constexpr uint32_t kBlockRecords = 256;
  std::vector<uint32_t> starts;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < stream.count(); ++i) {
    const uint64_t size = stream.PayloadSize(i);
    if (i == 0 || i - starts.back() == kBlockRecords ||
        bytes + size > kBlockBytes) {
      starts.push_back(i);
      bytes = 0;
    }
    bytes += size;
  }
  starts.push_back(stream.count());
  return starts;
}

}  // namespace

std::shared_ptr<const FileTable> RecordLines(
    const std::shared_ptr<const CowrieStream>& stream) {
  auto lines = std::make_shared<const PartTexts>(
      PartTexts{.noun = "record",
                .source = stream->source(),
                .bytes = [stream](uint32_t record) -> uint64_t {
                  // A record over the limit is not decoded: its line is an
                  // error.
                  const uint64_t size = stream->PayloadSize(record);
                  return size <= kMaxBytes ? size : 0;
                },
                .text =
                    [stream](uint32_t record, const ReadContext& context) {
                      return LineOf(*stream, record, context);
                    }});
  return JoinedTexts(Role::kViews, "records.jsonl", std::move(lines),
                     StartsOfBlocks(*stream));
}

}  // namespace ctxfs::cowrie

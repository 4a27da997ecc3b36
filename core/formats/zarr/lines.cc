// SPDX-License-Identifier: Apache-2.0
//
// Shows texts of any length as JSON lines (docs/formats/zarr.md, section 3).
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/json/json.h"
#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/container/elements.h"
#include "core/container/part_texts.h"
#include "core/content/check_at.h"
#include "core/formats/zarr/array_content.h"

namespace ctxfs::zarr {
namespace {

// Maximum number of blocks of lines of one array.
constexpr uint64_t kMaxBlocks = 65'536;

/// Returns the offset of each text in a chunk of `wanted` texts. The chunk is a
/// u32 count, then the u32 length and the bytes of each text.
Result<std::vector<uint32_t>> FindTexts(Bytes bytes, uint64_t wanted,
                                        const ReadContext& context) {
  ByteReader in(bytes);
  const uint64_t count = in.U32();
  if (!in.ok() || count != wanted) {
    return Error{Code::kCorrupt,
                 fmt::format("{} texts are there instead of {}", count, wanted),
                 0};
  }
  if (count > in.remaining() / sizeof(uint32_t)) {
    return Error{Code::kCorrupt, "the texts run past the end of the chunk", 0};
  }
  CTXFS_TRY(context.CheckMemory(count * sizeof(uint32_t)));
  std::vector<uint32_t> places;
  places.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    places.push_back(static_cast<uint32_t>(in.offset()));
    in.Skip(in.U32());
    if (!in.ok()) {
      return Error{Code::kCorrupt,
                   fmt::format("text {} runs past the end of the chunk", i),
                   places.back()};
    }
    CTXFS_TRY(CheckAt(context, i));
  }
  if (in.remaining() > 0) {
    return Error{Code::kCorrupt, "bytes follow the last text", in.offset()};
  }
  return places;
}

std::string LineOf(const std::string_view text, bool binary) {
  if (binary) return '"' + Base64(text) + "\"\n";
  if (IsPlainText(text)) return '"' + std::string(text) + "\"\n";
  return JsonLine(Json(text)) + '\n';
}

/// Generates the lines of an array band by band. A band is the part of the
/// array that one chunk covers in the first dimension.
class Lines {
 public:
  explicit Lines(std::shared_ptr<const ChunkReader> reader)
      : reader_(std::move(reader)), plan_(reader_->plan()) {}

  uint64_t bands() const {
    const bool empty = std::ranges::find(plan_.shape, 0) != plan_.shape.end();
    if (empty) return 0;
    return plan_.shape.empty() ? 1 : ChunksIn(plan_.shape[0], plan_.chunk[0]);
  }

  Result<std::string> Text(uint64_t band, const ReadContext& context) const {
    const std::vector<Loaded> chunks = CTXFS_TRY(LoadBand(band, context));
    const bool binary = plan_.type.kind == ElementType::Kind::kBinary;
    const std::string fill = LineOf(plan_.fill, binary);
    Indices first(plan_.shape.size());
    Indices end = plan_.shape;
    if (!end.empty()) {
      first[0] = band * plan_.chunk[0];
      end[0] = std::min(end[0], first[0] + plan_.chunk[0]);
    }
    std::string text;
    uint64_t done = 0;
    CTXFS_TRY(ForEachIndex(first, end, [&](const Indices& element) -> Status {
      CTXFS_TRY(CheckAt(context, done++));
      const Loaded& chunk = chunks[NumberInBand(element)];
      const std::string line =
          chunk.bytes == nullptr
              ? fill
              : LineOf(chunk.Text(PlaceInChunk(element)), binary);
      CTXFS_TRY(context.Charge(line.size()));
      return AppendAdmitted(text, line);
    }));
    return text;
  }

 private:
  struct Loaded {
    BlockCache::Pinned bytes;  // null: the chunk is missing
    std::vector<uint32_t> places;

    std::string_view Text(uint64_t number) const {
      ByteReader in(std::as_const(*bytes).span().subspan(places[number]));
      return AsText(in.Take(in.U32()));
    }
  };

  Result<std::vector<Loaded>> LoadBand(uint64_t band,
                                       const ReadContext& context) const {
    Indices first(plan_.shape.size());
    Indices end(plan_.shape.size());
    for (size_t i = 0; i < first.size(); ++i) {
      end[i] = ChunksIn(plan_.shape[i], plan_.chunk[i]);
    }
    if (!first.empty()) {
      first[0] = band;
      end[0] = band + 1;
    }
    std::vector<Loaded> chunks;
    uint64_t bytes = 0;
    CTXFS_TRY(ForEachIndex(first, end, [&](const Indices& index) -> Status {
      CTXFS_TRY(AdmitGrowth(chunks));
      Result<Loaded> loaded = Load(index, context);
      if (!loaded) return reader_->At(index, std::move(loaded).error());
      bytes += loaded->bytes == nullptr ? 0 : loaded->bytes->size();
      // All chunks of a band are in memory at once.
      if (bytes > limits::kDecodedBytes) {
        return OverLimit("decoded bytes of chunks in a row are",
                         limits::kDecodedBytes);
      }
      chunks.push_back(*std::move(loaded));
      return context.Check();
    }));
    return chunks;
  }

  Result<Loaded> Load(const Indices& index, const ReadContext& context) const {
    const std::optional<Region> region =
        CTXFS_TRY(reader_->Find(index, context));
    if (!region) return Loaded();
    Loaded loaded;
    loaded.bytes = CTXFS_TRY(reader_->Decode(index, *region, context));
    loaded.places = CTXFS_TRY(FindTexts(std::as_const(*loaded.bytes).span(),
                                        ElementsOf(plan_.chunk), context));
    return loaded;
  }

  uint64_t NumberInBand(const Indices& element) const {
    uint64_t number = 0;
    for (size_t i = 1; i < element.size(); ++i) {
      number = number * ChunksIn(plan_.shape[i], plan_.chunk[i]) +
               element[i] / plan_.chunk[i];
    }
    return number;
  }

  /// The position of an element in the stored order of its chunk.
  uint64_t PlaceInChunk(const Indices& element) const {
    const Indices& order = plan_.chain.text_order;
    uint64_t place = 0;
    for (size_t i = 0; i < element.size(); ++i) {
      const size_t axis = order.empty() ? i : order[i];
      place = place * plan_.chunk[axis] + element[axis] % plan_.chunk[axis];
    }
    return place;
  }

  const std::shared_ptr<const ChunkReader> reader_;
  const ArrayPlan& plan_;
};

}  // namespace

std::shared_ptr<const FileTable> ArrayLines(
    std::shared_ptr<const ChunkReader> reader) {
  const auto lines = std::make_shared<const Lines>(std::move(reader));
  const uint64_t bands = lines->bands();
  const uint64_t step = bands / kMaxBlocks + 1;
  std::vector<uint32_t> starts;
  for (uint64_t at = 0; at < bands; at += step) {
    starts.push_back(static_cast<uint32_t>(at));
  }
  starts.push_back(static_cast<uint32_t>(bands));
  const auto texts = std::make_shared<const PartTexts>(PartTexts{
      .noun = "chunk",
      .source = nullptr,
      .bytes = [](uint32_t /*part*/) { return uint64_t{0}; },  // not known
      .text =
          [lines](uint32_t band, const ReadContext& context) {
            return lines->Text(band, context);
          }});
  return JoinedTexts(Role::kEntries, "", texts, std::move(starts));
}

}  // namespace ctxfs::zarr

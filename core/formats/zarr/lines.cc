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
#include "core/base/text/text.h"
#include "core/container/elements.h"
#include "core/container/part_texts.h"
#include "core/content/check_at.h"
#include "core/formats/zarr/array_content.h"

namespace ctxfs::zarr {
namespace {

// Blocks of lines of one array.
constexpr uint64_t kMaxBlocks = 65'536;

/// The texts of a chunk: u32 count, and u32 length and bytes of each.
Result<std::vector<std::string_view>> TextsOf(Bytes bytes, uint64_t wanted,
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
  CTXFS_TRY(context.CheckMemory(count * sizeof(std::string_view)));
  std::vector<std::string_view> texts;
  texts.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = in.offset();
    texts.push_back(AsText(in.Take(in.U32())));
    if (!in.ok()) {
      return Error{Code::kCorrupt,
                   fmt::format("text {} runs past the end of the chunk", i),
                   at};
    }
    CTXFS_TRY(CheckAt(context, i));
  }
  if (in.remaining() > 0) {
    return Error{Code::kCorrupt, "bytes follow the last text", in.offset()};
  }
  return texts;
}

std::string LineOf(const std::string_view text, bool binary) {
  if (binary) return '"' + Base64(text) + "\"\n";
  if (IsPlainText(text)) return '"' + std::string(text) + "\"\n";
  return JsonLine(Json(text)) + '\n';
}

/// Calls use(index) for each index from `first` to before `end`, in row-major
/// order.
template <typename Use>
Status ForEachIndex(const Indices& first, const Indices& end, const Use& use) {
  for (size_t i = 0; i < first.size(); ++i) {
    if (first[i] >= end[i]) return {};
  }
  Indices index = first;
  while (true) {
    CTXFS_TRY(use(index));
    size_t i = index.size();
    if (i == 0) return {};
    while (i-- > 0) {
      if (++index[i] < end[i]) break;
      index[i] = first[i];
      if (i == 0) return {};
    }
  }
}

/// The lines of an array in bands: the rows of a chunk in the first dimension.
class Lines {
 public:
  explicit Lines(std::shared_ptr<const ChunkReader> reader)
      : reader_(std::move(reader)), plan_(reader_->plan()) {}

  uint64_t bands() const {
    const bool empty = std::ranges::find(plan_.shape, 0) != plan_.shape.end();
    if (empty) return 0;
    return plan_.shape.empty() ? 1 : plan_.Chunks(0);
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
              : LineOf(chunk.texts[PlaceInChunk(element)], binary);
      CTXFS_TRY(context.Charge(line.size()));
      return AppendAdmitted(text, line);
    }));
    return text;
  }

 private:
  struct Loaded {
    BlockCache::Pinned bytes;  // null: the chunk is missing
    std::vector<std::string_view> texts;
  };

  Result<std::vector<Loaded>> LoadBand(uint64_t band,
                                       const ReadContext& context) const {
    Indices first(plan_.shape.size());
    Indices end(plan_.shape.size());
    uint64_t count = 1;
    for (size_t i = 0; i < first.size(); ++i) {
      first[i] = i == 0 ? band : 0;
      end[i] = i == 0 ? band + 1 : plan_.Chunks(i);
      count *= end[i] - first[i];
    }
    CTXFS_TRY(context.CheckMemory(count * sizeof(Loaded)));
    std::vector<Loaded> chunks;
    chunks.reserve(count);
    CTXFS_TRY(ForEachIndex(first, end, [&](const Indices& index) -> Status {
      Result<Loaded> loaded = Load(index, context);
      if (!loaded) return reader_->At(index, std::move(loaded).error());
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
    loaded.texts = CTXFS_TRY(TextsOf(std::as_const(*loaded.bytes).span(),
                                     ElementsOf(plan_.chunk), context));
    return loaded;
  }

  uint64_t NumberInBand(const Indices& element) const {
    uint64_t number = 0;
    for (size_t i = 1; i < element.size(); ++i) {
      number = number * plan_.Chunks(i) + element[i] / plan_.chunk[i];
    }
    return number;
  }

  /// The place of an element among the stored ones of its chunk.
  uint64_t PlaceInChunk(const Indices& element) const {
    const auto& steps = plan_.chain.array_steps;
    uint64_t place = 0;
    for (size_t i = 0; i < element.size(); ++i) {
      const size_t axis = steps.empty() ? i : steps.front().order[i];
      place = place * plan_.chunk[axis] + element[axis] % plan_.chunk[axis];
    }
    return place;
  }

  const std::shared_ptr<const ChunkReader> reader_;
  const ArrayPlan& plan_;
};

}  // namespace

std::shared_ptr<const FileTable> ArrayLines(
    std::shared_ptr<const ChunkReader> reader, std::string path) {
  const auto lines = std::make_shared<const Lines>(std::move(reader));
  const uint64_t bands = lines->bands();
  const uint64_t step = bands / kMaxBlocks + 1;
  std::vector<uint32_t> starts = {0};
  for (uint64_t at = 0; at < bands; at += std::min(step, bands - at)) {
    starts.push_back(static_cast<uint32_t>(at + std::min(step, bands - at)));
  }
  const auto texts = std::make_shared<const PartTexts>(PartTexts{
      .noun = "chunk",
      .source = nullptr,
      .bytes = [](uint32_t /*part*/) { return uint64_t{0}; },  // not known
      .text =
          [lines](uint32_t band, const ReadContext& context) {
            return lines->Text(band, context);
          }});
  return JoinedTexts(Role::kEntries, std::move(path), texts, std::move(starts));
}

}  // namespace ctxfs::zarr

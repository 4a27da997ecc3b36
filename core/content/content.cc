// SPDX-License-Identifier: Apache-2.0
#include "core/content/content.h"

#include <algorithm>

#include "core/base/limits.h"
#include "core/content/read_through.h"
#include "core/content/spill_store.h"

namespace ctxfs {
namespace {

/// Returns whether a block that could not be streamed may be decoded in memory
/// as a whole: if streaming needs more memory for its window than the cache
/// has, and the block has at most limits::kDecodedBytes. A block that did not
/// fit on the disk may not, because it would not fit in memory either.
bool MayTakeMemory(const Block& block, const Error& error) {
  return error.code == Code::kNoMemory &&
         block.streamed_size() <= limits::kDecodedBytes;
}

/// The bytes of a block, in memory or in a temporary file.
struct MadeBlock {
  BlockCache::Pinned bytes;
  SpillStore::Pinned part;

  uint64_t size() const {
    return bytes != nullptr ? bytes->size() : part->size();
  }
};

Result<MadeBlock> MakeBlock(const Block& block, const ReadContext& context) {
  BlockCache& cache = context.cache();
  if (SpillStore* store = cache.StoreOf(block)) {
    if (auto kept = cache.FindKept(block)) return MadeBlock{kept, nullptr};
    Result<SpillStore::Pinned> part = store->Get(block, context);
    if (part) return MadeBlock{nullptr, std::move(*part)};
    if (!MayTakeMemory(block, part.error())) return std::move(part).error();
  }
  BlockCache::Pinned bytes = CTXFS_TRY(context.Get(block));
  return MadeBlock{std::move(bytes), nullptr};
}

/// Appends [from, from + length) of a block to the window.
Status ReadBlock(const Block& block, uint64_t from, size_t length,
                 const ReadContext& context, Window& window) {
  const MadeBlock made = CTXFS_TRY(MakeBlock(block, context));
  CTXFS_TRY(block.CheckUnchanged());
  if (!InBounds(from, length, made.size())) {
    return Error{Code::kCorrupt, "a block is shorter than its file"};
  }
  if (made.part != nullptr) {
    return made.part->Read(from, window.AppendScratch(length, Origin::kDisk));
  }
  window.AppendPinned(
      made.bytes->span().subspan(static_cast<size_t>(from), length),
      made.bytes);
  return {};
}

/// Reads `length` bytes at `at` of one extent into the window.
struct ExtentReader {
  uint64_t at;
  size_t length;
  uint64_t end;  // of the extent
  const ReadContext& context;
  Window& window;

  Status operator()(const Literal& extent) const {
    window.AppendPinned(
        AsBytes(*extent.text).subspan(static_cast<size_t>(at), length),
        extent.text);
    return {};
  }
  Status operator()(const Range& extent) const {
    const Origin origin =
        extent.source->temporary() ? Origin::kDisk : Origin::kContainer;
    const MutableBytes out = window.AppendScratch(length, origin);
    if (extent.guard != nullptr) {
      return extent.guard->Read(extent.offset + at, out, context);
    }
    return extent.source->ReadAt(
        extent.offset + at, out,
        context.With(Ahead{end - at - length, Ahead::Likelihood::kIfOnward}));
  }
  Status operator()(const Decoded& extent) const {
    return ReadBlock(*extent.block, extent.offset + at, length, context,
                     window);
  }
  Status operator()(const Computed& extent) const {
    CTXFS_TRY(context.Charge(length));
    return extent.transform->Compute(
        extent.offset + at, window.AppendScratch(length, Origin::kMemory),
        context);
  }
};

struct ExtentVerifier {
  const ReadContext& context;

  Status operator()(const Literal& /*extent*/) const { return {}; }
  Status operator()(const Range& extent) const {
    return extent.guard != nullptr ? extent.guard->Verify(context) : Status();
  }
  Status operator()(const Decoded& extent) const {
    const Result<MadeBlock> made = MakeBlock(*extent.block, context);
    return made ? Status() : Status(made.error());
  }
  Status operator()(const Computed& extent) const {
    return extent.transform->Verify(context);
  }
};

/// Whether reading an extent checks that `source` has not changed.
struct ExtentAsks {
  const Source& source;

  bool operator()(const Range& extent) const {
    return extent.source.get() == &source;
  }
  bool operator()(const Decoded& extent) const {
    return extent.block->made_from() == &source;
  }
  template <typename T>
  bool operator()(const T& /*made*/) const {
    return false;
  }
};

/// Bytes of work for reading an extent: all bytes of a computed one; for
/// others, the work before their first byte can be read.
struct ExtentWork {
  uint64_t length;

  uint64_t operator()(const Literal& /*extent*/) const { return 0; }
  uint64_t operator()(const Range& extent) const {
    return extent.guard == nullptr ? 0 : extent.guard->PendingWork();
  }
  uint64_t operator()(const Decoded& extent) const {
    return extent.block->work();
  }
  uint64_t operator()(const Computed& /*extent*/) const { return length; }
};

/// Returns `length` bytes of an extent, after its first `skip` bytes.
struct ExtentSlicer {
  uint64_t skip;
  uint64_t length;

  Extent operator()(const Literal& extent) const {
    return Literal{std::make_shared<const std::string>(extent.text->substr(
        static_cast<size_t>(skip), static_cast<size_t>(length)))};
  }
  template <typename T>
  Extent operator()(const T& extent) const {
    T rest = extent;
    rest.offset += skip;
    return rest;
  }
};

}  // namespace

void Content::Append(Extent extent, uint64_t length) {
  ends_.push_back(size() + length);
  extents_.push_back(std::move(extent));
}

void Content::Append(const Content& other) {
  for (size_t i = 0; i < other.extents_.size(); ++i) {
    Append(other.extents_[i], other.ends_[i] - other.StartOf(i));
  }
}

size_t Content::ExtentAt(uint64_t offset) const {
  return static_cast<size_t>(
      std::upper_bound(ends_.begin(), ends_.end(), offset) - ends_.begin());
}

Content Content::Slice(uint64_t offset, uint64_t length) const {
  Content slice;
  const uint64_t stop = offset + length;
  for (size_t i = 0; i < extents_.size(); ++i) {
    const uint64_t start = StartOf(i);
    // An empty slice keeps an empty part of each extent that it touches, so
    // that Verify still checks their guards and blocks. Other slices drop
    // extents of which they have no byte.
    if (ends_[i] < offset || start > stop) continue;
    const uint64_t from = std::max(start, offset);
    const uint64_t to = std::min(ends_[i], stop);
    if (from == to && length > 0) continue;
    slice.Append(std::visit(ExtentSlicer{from - start, to - from}, extents_[i]),
                 to - from);
  }
  return slice;
}

Status Content::Read(uint64_t offset, size_t length, const ReadContext& context,
                     Window& window) const {
  window.Clear();
  if (offset >= size()) return {};
  const uint64_t end = offset + std::min<uint64_t>(length, size() - offset);
  window.Reserve(static_cast<size_t>(end - offset));
  for (size_t i = ExtentAt(offset); offset < end; ++i) {
    const uint64_t start = StartOf(i);
    const uint64_t stop = std::min(ends_[i], end);
    if (Status wanted = context.Check(); !wanted) {
      window.Clear();
      return wanted;
    }
    const ExtentReader reader{offset - start,
                              static_cast<size_t>(stop - offset),
                              ends_[i] - start, context, window};
    if (reader.length > 0) {
      if (Status read = std::visit(reader, extents_[i]); !read) {
        window.Clear();
        return read;
      }
    }
    offset = stop;
  }
  return {};
}

bool Content::ReadsOnly(const Source& source, uint64_t offset,
                        size_t length) const {
  if (offset >= size() || length == 0) return false;
  const uint64_t end = offset + std::min<uint64_t>(length, size() - offset);
  for (size_t i = ExtentAt(offset); offset < end; offset = ends_[i++]) {
    if (!std::visit(ExtentAsks{source}, extents_[i])) return false;
  }
  return true;
}

std::optional<Range> Content::AsStored() const {
  if (extents_.size() != 1) return std::nullopt;
  const auto* range = std::get_if<Range>(&extents_.front());
  if (range == nullptr) return std::nullopt;
  return *range;
}

std::shared_ptr<const Block> Content::AsBlock() const {
  if (extents_.size() != 1) return nullptr;
  const auto* decoded = std::get_if<Decoded>(&extents_.front());
  if (decoded == nullptr || decoded->offset != 0) return nullptr;
  return decoded->block;
}

Status Content::Verify(const ReadContext& context) const {
  for (const Extent& extent : extents_) {
    CTXFS_TRY(context.Check());
    CTXFS_TRY(std::visit(ExtentVerifier{context}, extent));
  }
  return {};
}

Status Content::Scan(const ReadContext& context) const {
  constexpr uint64_t kPiece = 1 << 20;
  Window window;
  uint64_t at = 0;
  for (size_t i = 0; i < extents_.size(); ++i) {
    const Extent& extent = extents_[i];
    CTXFS_TRY(std::visit(ExtentVerifier{context}, extent));
    const auto* range = std::get_if<Range>(&extent);
    if (range != nullptr && range->guard != nullptr) at = ends_[i];
    for (uint64_t length = 0; at < ends_[i]; at += length) {
      length = std::min(kPiece, ends_[i] - at);
      CTXFS_TRY(Read(at, static_cast<size_t>(length), context, window));
    }
  }
  window.Clear();
  MarkConsumed(context);
  return {};
}

bool Content::WorkExceeds(uint64_t bytes) const {
  for (size_t i = 0; i < extents_.size(); ++i) {
    const uint64_t work =
        std::visit(ExtentWork{ends_[i] - StartOf(i)}, extents_[i]);
    if (work > bytes) return true;
    bytes -= work;
  }
  return false;
}

bool Content::HasUnreadable(uint64_t& budget,
                            const ReadContext& context) const {
  for (const Extent& extent : extents_) {
    const auto* computed = std::get_if<Computed>(&extent);
    if (computed == nullptr) continue;
    if (!context.Check()) return false;
    if (computed->transform->HasUnreadable(budget, context)) return true;
  }
  return false;
}

uint64_t Content::LargestBlock() const {
  uint64_t largest = 0;
  for (const Extent& extent : extents_) {
    if (const auto* decoded = std::get_if<Decoded>(&extent)) {
      largest = std::max(largest, decoded->block->cost());
    }
  }
  return largest;
}

void Content::Prepare(const ReadContext& context) const {
  for (const Extent& extent : extents_) {
    if (std::holds_alternative<Computed>(extent)) continue;
    if (!std::visit(ExtentVerifier{context}, extent)) return;
  }
}

void Content::MarkConsumed(const ReadContext& context) const {
  for (const Extent& extent : extents_) {
    if (const auto* decoded = std::get_if<Decoded>(&extent)) {
      context.cache().MarkConsumed(*decoded->block);
    }
  }
}

Content LiteralContent(std::string text) {
  auto shared = std::make_shared<const std::string>(std::move(text));
  const uint64_t size = shared->size();
  return {Literal{std::move(shared)}, size};
}

Status ReadInto(const Content& content, uint64_t offset, MutableBytes out,
                const ReadContext& context) {
  if (!InBounds(offset, out.size(), content.size())) {
    return Error{Code::kCorrupt, "read past the end of a file", offset};
  }
  constexpr size_t kPiece = 4 << 20;
  Window window;
  while (!out.empty()) {
    const size_t length = std::min(kPiece, out.size());
    CTXFS_TRY(content.Read(offset, length, context, window));
    offset += length;
    for (const Bytes slice : window.slices()) {
      std::copy(slice.begin(), slice.end(), out.begin());
      out = out.subspan(slice.size());
    }
  }
  return {};
}

Result<std::string> ReadAll(const Content& content,
                            const ReadContext& context) {
  std::string all;
  Status read = ReadThrough(content, context, [&all](Bytes piece) {
    all += AsText(piece);
    return Status();
  });
  if (!read) return std::move(read).error();
  return all;
}

}  // namespace ctxfs

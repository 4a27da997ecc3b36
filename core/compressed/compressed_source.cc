// SPDX-License-Identifier: Apache-2.0
#include "core/compressed/compressed_source.h"

#include <algorithm>
#include <utility>

#include "core/base/interrupt_scope.h"
#include "core/compressed/stopped_decoders.h"
#include "core/content/block.h"
#include "core/content/block_cache.h"
#include "core/content/read_context.h"
#include "core/content/verdict.h"

namespace ctxfs {
namespace {

/// The decoded parts of all files. Not the cache of a mount: a container is
/// opened before there is one, and by programs that have none.
BlockCache& DecodedParts() {
  static BlockCache parts(64 * limits::kMiB);
  return parts;
}

Error Changed() {
  return {Code::kStale, "the file changed after it was verified"};
}

}  // namespace

class CompressedSource::Part final : public Block {
 public:
  Part(const CompressedSource& source, uint64_t part)
      : Block({source.owner_, part}), source_(source) {}

  uint64_t cost() const override {
    return source_.index_->PartSize(key().index);
  }
  bool verifies() const override { return true; }
  const Source* made_from() const override { return source_.compressed_.get(); }
  Result<Buffer> Produce(const ReadContext& context) const override {
    return source_.DecodePart(key().index, context.interrupt());
  }

 private:
  const CompressedSource& source_;
};

CompressedSource::CompressedSource(SourcePtr compressed,
                                   std::shared_ptr<const DecodedIndex> index)
    : DerivedSource(compressed),
      compressed_(std::move(compressed)),
      index_(std::move(index)),
      owner_(NewOwner()) {}

CompressedSource::~CompressedSource() { StoppedDecoders::Of().Drop(owner_); }

std::string CompressedSource::name() const {
  const std::string whole = from().name();
  const PlainName plain = WithoutCompression(whole);
  if (plain.stem.empty()) return whole;
  return std::string(plain.stem) + std::string(plain.suffix);
}

Status CompressedSource::ReadAt(uint64_t offset, MutableBytes out) const {
  if (!InBounds(offset, out.size(), size())) {
    return Error{Code::kCorrupt, "read past the end", offset};
  }
  const ReadContext context(DecodedParts(), InterruptScope::OfThread());
  while (!out.empty()) {
    const Part part(*this, offset / DecodedIndex::kPart);
    const BlockCache::Pinned bytes = CTXFS_TRY(context.Get(part));
    const Bytes rest = bytes->span().subspan(
        static_cast<size_t>(offset % DecodedIndex::kPart));
    const size_t length = std::min(rest.size(), out.size());
    std::copy_n(rest.data(), length, out.data());
    out = out.subspan(length);
    offset += length;
  }
  return CheckUnchanged();
}

Result<Buffer> CompressedSource::DecodePart(uint64_t part,
                                            const Interrupt& interrupt) const {
  const uint64_t start = part * DecodedIndex::kPart;
  const Place& place = index_->PlaceBefore(start);
  StoppedDecoder run = StoppedDecoders::Of().Take(owner_, place.decoded, start);
  if (run.decoder == nullptr) {
    run = {owner_, place.decoded, index_->DecoderAt(compressed_, place)};
  }
  Buffer decoded(static_cast<size_t>(index_->PartSize(part)));
  Buffer skipped(run.at < start ? DecodedIndex::kPart : 0);
  Status checked;
  while (run.at < start) {
    checked = interrupt.Check();
    if (!checked) break;
    const MutableBytes out = skipped.span().first(static_cast<size_t>(
        std::min<uint64_t>(skipped.size(), start - run.at)));
    const size_t made = CTXFS_TRY(run.decoder->Fill(out, interrupt));
    if (made < out.size()) return Changed();
    run.at += made;
  }
  if (!checked) {
    // Who comes next goes on from here.
    StoppedDecoders::Of().Keep(std::move(run));
    return checked.error();
  }
  const size_t made = CTXFS_TRY(run.decoder->Fill(decoded.span(), interrupt));
  if (made < decoded.size() ||
      PartHash(decoded.span()) != index_->hashes[static_cast<size_t>(part)]) {
    return Changed();
  }
  run.at += made;
  StoppedDecoders::Of().Keep(std::move(run));
  return decoded;
}

Result<SourcePtr> OpenCompressed(SourcePtr compressed, Compression compression,
                                 const Interrupt& interrupt) {
  std::shared_ptr<const DecodedIndex> index =
      CTXFS_TRY(IndexCompressed(compressed, compression, interrupt));
  return SourcePtr(std::make_shared<const CompressedSource>(
      std::move(compressed), std::move(index)));
}

}  // namespace ctxfs

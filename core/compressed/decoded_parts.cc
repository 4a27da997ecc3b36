// SPDX-License-Identifier: Apache-2.0
#include "core/compressed/decoded_parts.h"

#include "core/content/block.h"
#include "core/content/block_cache.h"

namespace ctxfs {

class DecodedParts::Part final : public Block {
 public:
  Part(const DecodedParts& all, uint64_t part)
      : Block({all.layout_.owner, part}), all_(all) {}

  uint64_t cost() const override {
    return all_.PartSize(key().index) + all_.layout_.memory;
  }
  bool verifies() const override { return true; }
  const Source* made_from() const override { return all_.layout_.stored.get(); }
  Result<Buffer> Produce(const ReadContext& context) const override {
    return all_.DecodePart(key().index, context);
  }

 private:
  const DecodedParts& all_;
};

Status DecodedParts::ReadParts(uint64_t offset, MutableBytes out,
                               const ReadContext& context) const {
  while (!out.empty()) {
    const Part part(*this, offset / layout_.part);
    const BlockCache::Pinned bytes = CTXFS_TRY(context.Get(part));
    const Bytes rest =
        bytes->span().subspan(static_cast<size_t>(offset % layout_.part));
    const size_t length = std::min(rest.size(), out.size());
    std::copy_n(rest.data(), length, out.data());
    out = out.subspan(length);
    offset += length;
  }
  return layout_.stored->CheckUnchanged();
}

}  // namespace ctxfs

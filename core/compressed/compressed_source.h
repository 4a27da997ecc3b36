// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/request.h"
#include "core/base/result.h"
#include "core/compressed/decoded_index.h"
#include "core/compressed/decoded_parts.h"
#include "core/compressed/opening_reads.h"
#include "core/content/block_cache.h"
#include "core/content/read_context.h"
#include "core/io/source.h"

namespace ctxfs {

class PersistentCache;

/// The decoded bytes of a compressed file. Parts of 256 KiB are decoded when
/// they are read, from the last place before them or by a decoder that has
/// stopped nearer, and compared with their hashes. Parts, and the memory of
/// decoders, are in a cache that outlives the source.
///
/// Beside this file are those beside the compressed one.
class CompressedSource final : public DerivedSource, private DecodedParts {
 public:
  /// `owner` is that of its parts in `cache`.
  CompressedSource(SourcePtr compressed,
                   std::shared_ptr<const DecodedIndex> index,
                   std::unique_ptr<OpeningReads> reads, uint64_t owner,
                   BlockCache& cache);
  ~CompressedSource() override;

  uint64_t size() const override { return index_->size; }
  FileIdentity identity() const override { return from().identity(); }
  /// The name without the suffix of the compression.
  std::string name() const override;
  std::optional<uint64_t> opening_digest() const override {
    return from().opening_digest();
  }
  std::optional<PackedFile> packed_file() const override {
    return PackedFile{CompressionName(index_->compression),
                      layout().stored->size(), index_->verified};
  }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& request) const override;
  /// Its container is open: what that took is kept in `kept`, unless it is null
  /// or has it already.
  void EndOpening(PersistentCache* kept) const;
  /// The compressed file, which is decoded again when it is opened.
  Result<SourcePtr> Renew() const override { return from().Renew(); }
  Result<SourcePtr> OpenBeside(const std::string& path,
                               const Request& request) const override {
    return from().OpenBeside(path, request);
  }
  Result<SourcePtr> OpenSibling(const std::string& path,
                                const Request& request) const override {
    return from().OpenSibling(path, request);
  }
  Result<SourcePtr> OpenDirectoryBeside(const std::string& path,
                                        const Request& request) const override {
    return from().OpenDirectoryBeside(path, request);
  }

 private:
  Result<Buffer> DecodePart(uint64_t part,
                            const ReadContext& context) const override;

  const std::shared_ptr<const DecodedIndex> index_;
  const std::unique_ptr<OpeningReads> reads_;
  BlockCache& cache_;
};

/// Decodes a compressed file once, and returns its decoded bytes. See
/// IndexCompressed. The pass is not needed if `kept`, which may be null, has
/// what it found (EndOpening). The cache of `context` has to outlive them,
/// unless it keeps nothing (LoneContext): then it is one of 64 MiB for all such
/// files.
Result<std::shared_ptr<const CompressedSource>> OpenCompressed(
    SourcePtr compressed, Compression compression, PersistentCache* kept,
    const ReadContext& context);

}  // namespace ctxfs

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

/// The decoded bytes of a compressed file. Each read decodes the parts of 256
/// KiB that it needs, and compares them with their hashes. Decoding starts at
/// the last place before the part, or continues a stopped decoder if that is
/// nearer. The cache stores the parts, is charged for the decoders, and must
/// outlive the source.
///
/// OpenBeside and similar functions open the neighbours of the compressed file.
class CompressedSource final : public DerivedSource, private DecodedParts {
 public:
  /// `owner` identifies the parts in `cache`.
  CompressedSource(SourcePtr compressed,
                   std::shared_ptr<const DecodedIndex> index,
                   std::unique_ptr<OpeningReads> reads, uint64_t owner,
                   BlockCache& cache);
  ~CompressedSource() override;

  uint64_t size() const override { return index_->size; }
  FileIdentity identity() const override { return from().identity(); }
  /// The name without the suffix of the compression: "a.tar" for "a.tar.gz" and
  /// "a.tgz". The whole name if it has no such suffix.
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
  /// Must be called when the container in the file has been opened. Saves the
  /// index and the bytes that opening read in `kept`, unless `kept` is null or
  /// already has them.
  void EndOpening(PersistentCache* kept) const;
  /// Renews the compressed file. Opening the result decodes it again.
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

/// Decodes a compressed file once (IndexCompressed), and returns its decoded
/// bytes. Skips the decoding if `kept`, which may be null, has a saved index
/// (EndOpening). The cache of `context` must outlive the result. If that cache
/// has no budget (LoneContext), a shared cache of 64 MiB is used instead.
Result<std::shared_ptr<const CompressedSource>> OpenCompressed(
    SourcePtr compressed, Compression compression, PersistentCache* kept,
    const ReadContext& context);

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#include "core/cache/block_file.h"

#include <sys/stat.h>

#include <algorithm>

#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#define XXH_DISPATCH_DISABLE_REPLACE
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

#include "core/cache/block_files.h"
#include "core/io/transfer.h"

namespace ctxfs {

using block_files::kMagic;

namespace {

constexpr uint32_t kVersion = 1;
constexpr size_t kFixedBytes = 64;
constexpr size_t kDigestAt = 32;

/// The xxh3 of a block or of a head. XXH3_64bits_dispatch uses the widest
/// vectors of this processor, and XXH3_64bits only those that all processors
/// have.
uint64_t ChecksumOf(Bytes bytes) {
#ifdef XXH_DISPATCH_DISABLE_REPLACE
  return XXH3_64bits_dispatch(bytes.data(), bytes.size());
#else
  return XXH3_64bits(bytes.data(), bytes.size());
#endif
}

/// The number of leading `blocks` that are adjacent in memory, at most `most`.
size_t RunLength(std::span<const MutableBytes> blocks, size_t most) {
  size_t length = 1;
  while (length < std::min(most, blocks.size()) &&
         blocks[length - 1].data() + blocks[length - 1].size() ==
             blocks[length].data()) {
    ++length;
  }
  return length;
}

}  // namespace

size_t BlockFile::HeadBytes(uint32_t count) {
  return kFixedBytes + (size_t{count} + 1) * sizeof(uint64_t);
}

std::string BlockFile::HeadOf(std::string_view digest, uint64_t first,
                              const std::vector<Bytes>& blocks) {
  uint64_t bytes = 0;
  for (const Bytes block : blocks) bytes += block.size();
  std::string head(kMagic);
  AppendLe(kVersion, head);
  AppendLe(static_cast<uint32_t>(blocks.size()), head);
  AppendLe(first, head);
  AppendLe(bytes, head);
  head += digest;
  for (const Bytes block : blocks) AppendLe(ChecksumOf(block), head);
  AppendLe(ChecksumOf(AsBytes(head)), head);
  return head;
}

std::optional<BlockFile> BlockFile::Load(Fd file, uint64_t first,
                                         uint32_t count,
                                         std::string_view digest) {
  std::string head(HeadBytes(count), '\0');
  if (!file.ok() ||
      !PreadAll(file.get(), 0, std::as_writable_bytes(std::span(head)))) {
    return std::nullopt;
  }
  const size_t summed = head.size() - sizeof(uint64_t);
  const auto* const bytes = reinterpret_cast<const std::byte*>(head.data());
  if (LoadLe<uint64_t>(bytes + summed) !=
          ChecksumOf(AsBytes(head).first(summed)) ||
      !head.starts_with(kMagic) || LoadLe<uint32_t>(bytes + 8) != kVersion ||
      LoadLe<uint32_t>(bytes + 12) != count ||
      LoadLe<uint64_t>(bytes + 16) != first ||
      std::string_view(head).substr(kDigestAt, kDigestBytes) != digest) {
    return std::nullopt;
  }
  BlockFile loaded(std::move(file));
  loaded.digest_ = digest;
  loaded.first_ = first;
  loaded.bytes_ = LoadLe<uint64_t>(bytes + 24);
  for (size_t at = kFixedBytes; at < summed; at += sizeof(uint64_t)) {
    loaded.sums_.push_back(LoadLe<uint64_t>(bytes + at));
  }
  return loaded;
}

bool BlockFile::ReadRun(uint64_t i, MutableBytes run) const {
  const uint64_t at = i * kBlockBytes;
  const uint64_t blocks = (run.size() + kBlockBytes - 1) / kBlockBytes;
  return InBounds(i, blocks, sums_.size()) &&
         InBounds(at, run.size(), bytes_) &&
         PreadAll(file_.get(), HeadBytes(count()) + at, run);
}

size_t BlockFile::Read(uint64_t first,
                       std::span<const MutableBytes> out) const {
  // Reads at most this number of blocks at once, so that they stay in the
  // processor's cache until their checksums are computed.
  size_t most = 4;
  size_t done = 0;
  while (done < out.size()) {
    const uint64_t i = first - first_ + done;
    const auto blocks = out.subspan(done, RunLength(out.subspan(done), most));
    const MutableBytes run(blocks.front().data(),
                           blocks.back().data() + blocks.back().size());
    if (!ReadRun(i, run)) {
      if (blocks.size() == 1) return done;
      most = 1;  // the first block alone may be complete
      continue;
    }
    for (size_t k = 0; k < blocks.size(); ++k, ++done) {
      if (ChecksumOf(blocks[k]) != sums_[static_cast<size_t>(i + k)]) {
        return done;
      }
    }
  }
  return done;
}

bool BlockFile::dropped() const {
  struct stat st {};
  return ::fstat(file_.get(), &st) != 0 || st.st_nlink == 0;
}

}  // namespace ctxfs

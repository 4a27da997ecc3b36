// SPDX-License-Identifier: Apache-2.0
//
// Opens entries: as a range of the file, a decoded block or a decrypted block.
#include <memory>
#include <optional>
#include <utility>

#include "core/formats/shard/shard.h"

namespace ctxfs::shard {

bool ShardContainer::IsPlain(uint32_t entry) const {
  return !Encoded(Record(entry)) && Seal(entry) == nullptr;
}

Result<std::shared_ptr<const Block>> ShardContainer::OpenBlock(
    uint32_t entry, bool in_memory) const {
  if (std::optional<Error> fault = EntryFault(entry)) return *std::move(fault);
  if (Seal(entry) != nullptr) return OpenSealedBlock(entry);
  return OpenStoredBlock(entry, in_memory);
}

std::shared_ptr<const ChecksumGuard> ShardContainer::OpenGuard(
    uint32_t entry) const {
  const ShardRecord record = Record(entry);
  const Checksum checksum = ExpectedChecksum(record);
  if (!checksum) return nullptr;
  const ChecksumGuard::Guarded guarded{source(), record.data_offset,
                                       record.disk_size, checksum};
  return std::make_shared<ChecksumGuard>(Key{owner_, entry}, guarded,
                                         VerdictOf(entry));
}

Result<Content> ShardContainer::OpenEntry(
    uint32_t entry, const ReadContext& /*context*/) const {
  if (std::optional<Error> fault = EntryFault(entry)) return *std::move(fault);
  const ShardRecord record = Record(entry);
  if (IsPlain(entry)) {
    return Content(Range{source(), record.data_offset, OpenGuard(entry)},
                   record.disk_size);
  }
  std::shared_ptr<const Block> block =
      CTXFS_TRY(OpenBlock(entry, /*in_memory=*/false));
  return Content(Decoded{std::move(block), 0}, EntrySize(entry));
}

}  // namespace ctxfs::shard

// SPDX-License-Identifier: Apache-2.0
#include "core/formats/cowrie/array_files.h"

#include "core/base/heap/heap_allowance.h"
#include "core/container/file_set.h"
#include "core/formats/cowrie/numbers.h"

namespace ctxfs::cowrie {

std::shared_ptr<const FileTable> ArrayFiles::Table(
    std::string directory, std::shared_ptr<const void> owner) const {
  return MakeTable({.placement = {.role = Role::kEntries,
                                  .directory = std::move(directory),
                                  .shared = true},
                    .count = static_cast<uint32_t>(arrays_.size()),
                    .path = [this](uint32_t array, std::string& /*scratch*/)
                        -> std::string_view { return arrays_[array].name; },
                    .open =
                        [this](uint32_t array, const ReadContext& /*context*/) {
                          return Open(arrays_[array]);
                        },
                    .facts =
                        [this](uint32_t array) {
                          return FileFacts{CowrieArraySize(arrays_[array])};
                        },
                    .describe =
                        [this](uint32_t array, const ReadContext& /*context*/) {
                          return Describe(arrays_[array]);
                        },
                    .owner = std::move(owner)});
}

std::vector<ArrayInfo> ArrayFiles::All(
    const std::shared_ptr<const void>& owner) const {
  std::vector<ArrayInfo> all;
  for (const CowrieArray& array : arrays_) {
    if (!AdmitGrowth(all)) break;
    all.push_back({array.name, array.dtype, array.shape,
                   [this, owner, &array](const ReadContext& /*context*/) {
                     return Open(array);
                   }});
  }
  return all;
}

Result<Content> ArrayFiles::Open(const CowrieArray& array) const {
  return CowrieElements(array, data_, {owner_, array.offset});
}

EntryInfo ArrayFiles::Describe(const CowrieArray& array) const {
  EntryInfo info;
  info.name = array.name;
  info.kind = "array";
  info.size = CowrieArraySize(array);
  info.stored_size = array.length;
  info.offset = array.offset;
  if (array.coding != CowrieCoding::kPlain || packed_) info.codec = "cowrie";
  info.verified = verified_;
  info.dtype = DTypeName(array.dtype);
  info.shape = array.shape;
  return info;
}

}  // namespace ctxfs::cowrie

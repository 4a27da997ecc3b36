// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/container/file_table.h"

namespace ctxfs {

/// A file for each item of a list. The container answers for an item in
/// FilePath, OpenFile, FileSize and DescribeFile, and, if some cannot be read,
/// in FileFault: it is asked neither to open nor to measure those.
template <typename Owner, typename Item>
class ListedFiles : public FileTable {
 public:
  ListedFiles(Placement placement, std::shared_ptr<const Owner> owner,
              std::shared_ptr<const std::vector<Item>> items)
      : FileTable(std::move(placement)),
        owner_(std::move(owner)),
        items_(std::move(items)) {}

  uint32_t count() const final { return static_cast<uint32_t>(items_->size()); }

  std::optional<std::string_view> Path(uint32_t file,
                                       std::string& /*scratch*/) const final {
    return owner_->FilePath((*items_)[file]);
  }

  Result<Content> Open(uint32_t file, const ReadContext& context) const final {
    if (std::optional<Error> fault = Fault(file)) return *std::move(fault);
    return owner_->OpenFile((*items_)[file], context);
  }

  std::optional<uint64_t> KnownSize(uint32_t file) const final {
    return Fault(file) ? 0 : owner_->FileSize((*items_)[file]);
  }

  std::optional<EntryInfo> Describe(
      uint32_t file, const ReadContext& /*context*/) const final {
    EntryInfo info = owner_->DescribeFile((*items_)[file]);
    info.size = *KnownSize(file);
    return info;
  }

  std::optional<Error> Fault([[maybe_unused]] uint32_t file) const final {
    if constexpr (requires { owner_->FileFault((*items_)[file]); }) {
      return owner_->FileFault((*items_)[file]);
    }
    return std::nullopt;
  }

 protected:
  const Owner& owner() const { return *owner_; }

 private:
  const std::shared_ptr<const Owner> owner_;
  const std::shared_ptr<const std::vector<Item>> items_;
};

/// The table of `items`, for which `owner` answers.
template <typename Owner, typename Item>
std::shared_ptr<const FileTable> ListFiles(
    Placement placement, std::shared_ptr<const Owner> owner,
    std::shared_ptr<const std::vector<Item>> items) {
  return std::make_shared<const ListedFiles<Owner, Item>>(
      std::move(placement), std::move(owner), std::move(items));
}

}  // namespace ctxfs

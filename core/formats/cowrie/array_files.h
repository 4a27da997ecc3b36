// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/container/entry.h"
#include "core/container/exports.h"
#include "core/container/file_table.h"
#include "core/formats/cowrie/arrays.h"
#include "core/io/source.h"

namespace ctxfs::cowrie {

/// Shows the arrays of one cowrie value as files (docs/formats/cowrie.md,
/// section 4).
class ArrayFiles {
 public:
  /// `data` contains the arrays; `packed`: whether it was decompressed.
  ArrayFiles(std::vector<CowrieArray> arrays,
             std::shared_ptr<const Source> data, bool packed,
             std::string verified)
      : arrays_(std::move(arrays)),
        data_(std::move(data)),
        packed_(packed),
        verified_(std::move(verified)) {}

  size_t count() const { return arrays_.size(); }
  /// Returns the size of the data that contains the arrays, in bytes.
  uint64_t data_size() const { return data_->size(); }

  /// Returns the entries DIRECTORY/NAME. `owner` must keep this alive.
  std::shared_ptr<const FileTable> Table(
      std::string directory, std::shared_ptr<const void> owner) const;
  /// Returns the arrays for views. `owner` must keep this alive.
  std::vector<ArrayInfo> All(const std::shared_ptr<const void>& owner) const;

 private:
  Result<Content> Open(const CowrieArray& array) const;
  EntryInfo Describe(const CowrieArray& array) const;

  std::vector<CowrieArray> arrays_;
  std::shared_ptr<const Source> data_;
  bool packed_;
  std::string verified_;  // EntryInfo::verified
  const uint64_t owner_ = NewOwner();
};

}  // namespace ctxfs::cowrie

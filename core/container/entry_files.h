// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/container/container.h"
#include "core/container/derived.h"

namespace ctxfs {

/// A directory of files made of entries: an entry has one file in it at the
/// most, of the entry's own number and under the entry's own name ('#N' for
/// entry N without one), and maybe a suffix. Whoever derives from it says which
/// entries those are.
class EntryFiles : public DerivedFiles {
 public:
  uint32_t count() const final { return container_->entry_count(); }

  std::optional<std::string> Path(uint32_t entry) const final {
    if (!MayHave(entry)) return std::nullopt;
    const std::optional<std::string_view> name = container_->EntryName(entry);
    std::string path;
    path.reserve(directory_.size() + 1 + name.value_or("").size() +
                 suffix_.size());
    path.append(directory_) += '/';
    if (name) {
      path.append(*name);
    } else {
      path += "#" + std::to_string(entry);
    }
    path += suffix_;
    return path;
  }

  /// Whether the entry may have a file, as far as the index tells. Asked once
  /// of every entry, when the tree is made: reads nothing.
  virtual bool MayHave(uint32_t entry) const = 0;

 protected:
  /// `directory` at the container's root and `suffix` are literals; `container`
  /// is whoever hands these files out, and lives as long as they do.
  EntryFiles(std::shared_ptr<const Container> container,
             std::string_view directory, std::string_view suffix = {})
      : container_(std::move(container)),
        directory_(directory),
        suffix_(suffix) {}

 private:
  std::shared_ptr<const Container> container_;
  std::string_view directory_;
  std::string_view suffix_;
};

}  // namespace ctxfs

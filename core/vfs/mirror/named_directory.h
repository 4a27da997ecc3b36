// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "core/base/mutex.h"
#include "core/vfs/mirror/cache_names.h"
#include "core/vfs/mirror/directory.h"

namespace ctxfs {

/// The directory of a cache under the names of its program (docs/caches.md). Of
/// the raw names, a listing has only those at the root that the program's names
/// do not replace (CacheNames::Hides). Find finds all raw names.
class NamedDirectory final : public Directory {
 public:
  NamedDirectory(std::unique_ptr<Directory> raw,
                 std::unique_ptr<const CacheNames> names)
      : names_(std::move(names)), raw_(std::move(raw)) {}

  FileIdentity identity() const override { return raw_->identity(); }
  bool is_for_others() const override { return raw_->is_for_others(); }
  Maybe<Item> Find(const std::string& path,
                   const Request& request) const override;
  Result<Item> FindDirectory(const std::string& path,
                             const Request& request) const override;
  Status List(const Item& directory, const Visit& visit,
              const Request& request) const override;
  Result<SourcePtr> Open(const Item& item, const SourceOptions& options,
                         const Request& request) const override {
    return raw_->Open(item, options, request);
  }
  std::optional<struct statvfs> FileSystemOf(
      const std::string& /*path*/) const override {
    return raw_->FileSystemOf("");
  }
  void Watch(Inode inode, const std::string& path) override;
  void Unwatch(Inode inode) override;
  void SetListener(ChangeListener listener) override;
  void StopWatching() override { raw_->StopWatching(); }

 private:
  using Place = CacheNames::Place;

  /// A directory of names, which does not exist in raw_.
  Item DirectoryAt(const std::string& path, const Request& request) const;
  Item LinkAt(const std::string& path, const std::string& target,
              const Request& request) const;

  mutable Mutex mutex_;
  /// Paths of the directories of names that are watched.
  std::unordered_map<Inode, std::string> watched_ CTXFS_GUARDED_BY(mutex_);
  const std::unique_ptr<const CacheNames> names_;
  const std::unique_ptr<Directory> raw_;  // last: its thread uses the other
                                          // members
};

}  // namespace ctxfs

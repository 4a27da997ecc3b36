// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/mutex.h"
#include "core/io/urls/url_store.h"
#include "core/vfs/mirror/directory.h"

namespace ctxfs {

/// A directory of an object store (UrlStore). Names follow the rules for
/// entries of a container (docs/tree.md, section 7): they are made safe, and an
/// object beside a directory of the same name appears as NAME~file. Names that
/// no URL can have are left out, with a line in the log. Files have no owner.
/// Changes are not reported; they show when the store lists the directory
/// again.
class StoreDirectory final : public Directory {
 public:
  /// `url` must be the URL of a directory, with or without a trailing '/'.
  explicit StoreDirectory(std::string url);

  FileIdentity identity() const override;
  Maybe<Item> Find(const std::string& path,
                   const Request& request) const override;
  Result<Item> FindDirectory(const std::string& path,
                             const Request& request) const override;
  Status List(const Item& directory, const Visit& visit,
              const Request& request) const override;
  /// The path of an Item is relative to this directory.
  Result<SourcePtr> Open(const Item& item, const SourceOptions& options,
                         const Request& request) const override;

 private:
  class Shown;
  using ShownPtr = std::shared_ptr<const Shown>;

  /// A name, and the directory that it is in.
  struct Place {
    std::string directory;  // URL
    ShownPtr shown;         // keeps `name`
    const StoreName* name;
  };

  /// The shown names of the directory at `url`.
  Result<ShownPtr> ShownIn(const std::string& url,
                           const Request& request) const;
  /// Finds a non-empty path.
  Maybe<Place> Walk(std::string_view path, const Request& request) const;
  /// The URL of the directory at a path; nothing if there is none.
  Maybe<std::string> UrlOf(const std::string& path,
                           const Request& request) const;
  static Item ItemOf(const Place& place, const std::string& path);

  const std::string url_;
  mutable Mutex mutex_;
  /// The latest listing of each directory, by its URL.
  mutable std::map<std::string, ShownPtr> shown_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs

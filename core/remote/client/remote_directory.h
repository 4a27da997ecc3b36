// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/io/urls/url_store.h"

namespace ctxfs::remote {

/// A directory of a store, for containers of several objects. Names are those
/// of keys. Opening a name that the listing lacks requests no object.
class RemoteDirectory final : public Source {
 public:
  /// `url` must end in '/'. `store` must outlive this object.
  RemoteDirectory(UrlStore& store, std::string url)
      : store_(store), url_(std::move(url)) {}

  uint64_t size() const override { return 0; }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& request) const override;
  std::string name() const override;
  bool is_remote() const override { return true; }
  FileIdentity identity() const override;
  bool is_directory() const override { return true; }
  Result<std::vector<DirectoryEntry>> List(
      const Request& request) const override;
  Result<SourcePtr> OpenBeside(const std::string& path,
                               const Request& request) const override;
  Result<SourcePtr> OpenDirectoryBeside(const std::string& path,
                                        const Request& request) const override;

 private:
  Result<SourcePtr> OpenBelow(std::string_view path, bool directory,
                              const Request& request) const;

  UrlStore& store_;
  const std::string url_;
};

}  // namespace ctxfs::remote

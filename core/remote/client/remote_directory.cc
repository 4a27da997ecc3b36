// SPDX-License-Identifier: Apache-2.0
#include "core/remote/client/remote_directory.h"

#include <algorithm>

#include "core/io/io_error.h"
#include "core/remote/stores/url.h"

namespace ctxfs::remote {
namespace {

/// Removes and returns the first component of a path.
std::string_view TakeComponent(std::string_view& path) {
  const size_t slash = std::min(path.find('/'), path.size());
  const std::string_view component = path.substr(0, slash);
  path.remove_prefix(std::min(slash + 1, path.size()));
  return component;
}

}  // namespace

Status RemoteDirectory::ReadAt(uint64_t offset, MutableBytes out,
                               const Request& /*request*/) const {
  if (offset == 0 && out.empty()) return {};
  return PastTheEnd(offset);
}

std::string RemoteDirectory::name() const {
  return NameOf(url_.substr(0, url_.size() - 1));
}

FileIdentity RemoteDirectory::identity() const {
  return IdentityOfDirectory(url_);
}

Result<std::vector<DirectoryEntry>> RemoteDirectory::List(
    const Request& request) const {
  const StoreListingPtr listing = CTXFS_TRY(store_.List(url_, request));
  std::vector<DirectoryEntry> entries;
  entries.reserve(listing->names.size());
  for (const StoreName& name : listing->names) {
    // If an object and a directory have one name, lists it once, as a file
    // system would.
    if (!entries.empty() && entries.back().name == name.name) continue;
    entries.push_back({name.name, name.directory});
  }
  return entries;
}

Result<SourcePtr> RemoteDirectory::OpenBelow(std::string_view path,
                                             bool directory,
                                             const Request& request) const {
  if (path.starts_with('/')) {
    return Error{Code::kCorrupt, "leads out of the directory"};
  }
  std::string at = url_;
  while (true) {
    const std::string_view component = TakeComponent(path);
    if (component == "..") {
      return Error{Code::kCorrupt, "leads out of the directory"};
    }
    if (component == "." && !path.empty()) continue;
    const bool last = path.empty();
    const StoreListingPtr listing = CTXFS_TRY(store_.List(at, request));
    const StoreName* const found = listing->Find(component, !last || directory);
    if (found == nullptr) {
      return Error{Code::kNotFound, "there is no such object"};
    }
    if (last) return store_.OpenListed(at, *found, request);
    at = store_.UrlOf(at, *found);
  }
}

Result<SourcePtr> RemoteDirectory::OpenBeside(const std::string& path,
                                              const Request& request) const {
  return Noted(OpenBelow(path, /*directory=*/false, request));
}

Result<SourcePtr> RemoteDirectory::OpenDirectoryBeside(
    const std::string& path, const Request& request) const {
  return Noted(OpenBelow(path, /*directory=*/true, request));
}

}  // namespace ctxfs::remote

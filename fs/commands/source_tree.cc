// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/source_tree.h"

#include <algorithm>
#include <utility>

#include "core/base/limits.h"
#include "core/vfs/sources.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

constexpr uint64_t kCacheBytes = 256 * limits::kMiB;

}  // namespace

Target ParseTarget(const std::string& argument) {
  const size_t start = argument.find_first_not_of('/');
  const size_t cut = argument.find("//", start);
  if (start == std::string::npos || cut == std::string::npos) {
    return {argument, ""};
  }
  Target target{argument.substr(0, cut), ""};
  const size_t from = argument.find_first_not_of('/', cut);
  if (from != std::string::npos) {
    target.path = argument.substr(from);
    target.path.resize(target.path.find_last_not_of('/') + 1);
  }
  return target;
}

std::vector<std::string> SourcesOf(const std::vector<std::string>& arguments) {
  std::vector<std::string> sources;
  sources.reserve(arguments.size());
  for (const std::string& argument : arguments) {
    sources.push_back(ParseTarget(argument).source);
  }
  return sources;
}

SourceTree::SourceTree(std::unique_ptr<Namespace> files)
    : cache_(kCacheBytes), files_(std::move(files)) {}

Result<std::unique_ptr<SourceTree>> SourceTree::Open(const std::string& source,
                                                     const OpenOptions& options,
                                                     const ViewSet& views,
                                                     ListMode list) {
  std::string failed;
  Result<Sources> sources = FindSources({source}, options, &failed);
  if (!sources) return std::move(sources).error();
  const MountedContainers::Extras extras =
      [views](const std::shared_ptr<const Container>& of) {
        return AttachedViews(of, views);
      };
  const Mirror::Options shown{.list_inside = list == ListMode::kAll};
  auto files = sources->container != nullptr
                   ? std::make_unique<Namespace>(std::move(sources->container),
                                                 "", nullptr, options, extras)
                   : std::make_unique<Namespace>(
                         std::make_unique<Mirror>(sources->directory, shown),
                         nullptr, options, extras);
  if (Status usable = files->status(); !usable) {
    return std::move(usable).error();
  }
  files->SetListMode(list);
  return std::unique_ptr<SourceTree>(new SourceTree(std::move(files)));
}

Result<SourceTree::File> SourceTree::Find(std::string_view path) {
  File file{"", Namespace::kRoot, true};
  while (file.path.size() < path.size()) {
    const size_t from = file.path.empty() ? 0 : file.path.size() + 1;
    const size_t to = std::min(path.find('/', from), path.size());
    std::optional<Namespace::Found> found;
    if (file.directory) {
      Result<std::optional<Namespace::Found>> there =
          files_->Lookup(file.inode, path.substr(from, to - from), cache_);
      if (!there) return std::move(there).error();
      found = *there;
    }
    if (!found) return Error{Code::kNotFound, "no such file or directory"};
    file = {std::string(path.substr(0, to)), found->inode,
            found->attributes.directory};
  }
  return file;
}

Status SourceTree::ForEach(const File& directory,
                           const std::function<Status(const File&)>& visit) {
  Result<std::unique_ptr<Listing>> listing =
      files_->OpenDirectory(directory.inode, cache_);
  if (!listing) return std::move(listing).error();
  if (Status ready = (*listing)->Rewind(cache_); !ready) return ready;
  const std::string above = directory.path.empty() ? "" : directory.path + "/";
  for (uint64_t i = 0; i < (*listing)->count(); ++i) {
    const std::optional<Listing::Name> name = (*listing)->At(i, false, cache_);
    if (!name) continue;
    // The inode of a mirrored file is valid from its first look-up on. It is
    // not forgotten: `visit` may keep the file.
    File file{above + name->name, name->inode, name->directory};
    if ((name->inode & Mirror::kBit) != 0 || !name->type_known) {
      const Result<std::optional<Namespace::Found>> found =
          files_->Lookup(directory.inode, name->name, cache_);
      if (!found) return found.error();
      if (!*found) continue;  // removed since it was listed
      file.inode = (*found)->inode;
      file.directory = (*found)->attributes.directory;
    }
    Status visited = visit(file);
    if (!visited) return visited;
  }
  return {};
}

Result<uint64_t> SourceTree::Size(const File& file) {
  const Result<Attributes> attributes = files_->Examine(file.inode, cache_);
  if (!attributes) return attributes.error();
  return attributes->size;
}

Result<Namespace::OpenFile> SourceTree::Open(const File& file) {
  if (file.directory) return Error{Code::kNotFound, "is a directory"};
  return files_->Open(file.inode, cache_);
}

}  // namespace ctxfs

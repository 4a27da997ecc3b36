// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/source_tree.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/base/parallel.h"
#include "core/container/format.h"
#include "core/io/urls/url.h"
#include "core/vfs/sources.h"
#include "core/vfs/xattr.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

/// Fails for an empty directory: probably a wrong path, or a disk that is not
/// mounted. A mount accepts it, because it may be filled later.
Status CheckNotEmpty(const std::string& source) {
  std::error_code failed;
  const bool empty = std::filesystem::is_directory(source, failed) &&
                     std::filesystem::is_empty(source, failed);
  if (failed || !empty) return {};
  return Error{Code::kNotFound,
               "the directory is empty: there is no container in it"};
}

}  // namespace

Target ParseTarget(const std::string& argument) {
  const size_t start = IsUrl(argument) ? argument.find("://") + 3
                                       : argument.find_first_not_of('/');
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

Result<std::unique_ptr<SourceTree>> SourceTree::Open(
    const std::string& source, const OpenOptions& options, const ViewSet& views,
    ListMode list, LeavingLinks links, const RequestLimits& limits,
    ServerWait* waits) {
  CTXFS_TRY(CheckNotEmpty(source));
  std::string failed;
  Sources sources = CTXFS_TRY(FindSources({source}, options, &failed, 0,
                                          Request(*limits.interrupt, waits)));
  const auto show = [options, views, list, budget = BudgetFor(sources),
                     logs_damage = limits.logs_damage](
                        std::shared_ptr<const Container> container) {
    return Shown{.container = std::move(container),
                 .open = options,
                 .list_mode = list,
                 .extras =
                     [views](const std::shared_ptr<const Container>& of) {
                       return AttachedViews(of, views);
                     },
                 .budget = budget,
                 .logs_damage = logs_damage};
  };
  std::unique_ptr<SourceTree> tree(new SourceTree(show, IsUrl(source), limits));
  const MutexLock lock(tree->mutex_);
  if (sources.container != nullptr) {
    tree->alone_ = std::move(sources.container);
    return tree;
  }
  Shown shown = show(nullptr);
  const SystemDirectory::Options found{.refuses_leaving =
                                           links == LeavingLinks::kRefused};
  shown.mirror = std::make_unique<Mirror>(
      DirectoryOf(std::move(sources), found),
      Mirror::Options{.list_inside = list == ListMode::kAll});
  tree->files_ = std::make_unique<Namespace>(std::move(shown));
  return tree;
}

Result<const Namespace*> SourceTree::Files(const ReadContext& context) {
  const Namespace* files = nullptr;
  std::shared_ptr<const Container> container;
  const auto is_made = [&] {
    const MutexLock lock(mutex_);
    files = files_.get();
    container = alone_;
    return files != nullptr;
  };
  // Without the lock, because that may take long.
  const auto make = [&](const ReadContext& /*shared*/) -> Status {
    auto made = std::make_unique<Namespace>(show_(container));
    const MutexLock lock(mutex_);
    files_ = std::move(made);
    alone_ = nullptr;
    files = files_.get();
    return {};
  };
  if (!is_made()) {
    CTXFS_TRY(context.cache().Once({owner_, 0}, context, is_made, make));
  }
  CTXFS_TRY(files->status());
  return files;
}

std::shared_ptr<const Container> SourceTree::Alone() {
  std::shared_ptr<const Container> alone;
  {
    const MutexLock lock(mutex_);
    alone = alone_;
  }
  const bool usable = alone != nullptr && !alone->is_part() &&
                      alone->source()->CheckUnchanged();
  return usable ? alone : nullptr;
}

Result<std::shared_ptr<const Container>> SourceTree::ContainerAt(
    const File& directory, ServerWait* waits) {
  if (directory.inode == kRootInode) {
    if (auto alone = Alone()) return alone;
  }
  const ReadContext context = this->context(waits);
  const Namespace* const files = CTXFS_TRY(Files(context));
  return files->ContainerAt(directory.inode, context);
}

Result<std::string> SourceTree::ReadLink(const File& link, ServerWait* waits) {
  const ReadContext context = this->context(waits);
  const Namespace* const files = CTXFS_TRY(Files(context));
  return files->ReadLink(link.inode, context);
}

Result<std::optional<EntryInfo>> SourceTree::Describe(const File& file,
                                                      ServerWait* waits) {
  const ReadContext context = this->context(waits);
  const Namespace* const files = CTXFS_TRY(Files(context));
  return files->Describe(file.inode, context);
}

Result<Attributes> SourceTree::Examine(const File& file, ServerWait* waits) {
  const ReadContext context = this->context(waits);
  const Namespace* const files = CTXFS_TRY(Files(context));
  return files->Examine(file.inode, context);
}

Status SourceTree::GoTo(Walk& walk, std::string_view name, bool follow,
                        ServerWait* waits) {
  constexpr unsigned kMaxLinks = 40;  // as in Linux
  const Error missing{Code::kNotFound, "no such file or directory"};
  if (name.empty() || name == ".") return {};
  if (name == "..") {
    walk.leaves = walk.way.size() == 1;
    if (walk.leaves) return missing;
    walk.way.pop_back();
    return {};
  }
  const File& at = walk.way.back();
  if (!at.directory) return missing;
  const ReadContext context = this->context(waits);
  const Namespace* const files = CTXFS_TRY(Files(context));
  const std::optional<FoundNode> found =
      CTXFS_TRY(files->Lookup(at.inode, name, context));
  if (!found) return missing;
  const Attributes& attributes = found->attributes;
  File file{.path = at.path.empty() ? std::string(name)
                                    : at.path + "/" + std::string(name),
            .inode = found->inode,
            .directory = attributes.directory,
            .link = attributes.link,
            .has_others = attributes.names > 1};
  if (!file.link || (!follow && walk.rest.empty())) {
    walk.way.push_back(std::move(file));
    return {};
  }
  if (++walk.links > kMaxLinks) {
    return Error{Code::kNotFound, "too many levels of symbolic links"};
  }
  const std::string target = CTXFS_TRY(ReadLink(file, waits));
  walk.rest = walk.rest.empty() ? target : target + "/" + walk.rest;
  return {};
}

Status SourceTree::Go(Walk& walk, bool follow, ServerWait* waits) {
  while (!walk.rest.empty()) {
    const size_t slash = std::min(walk.rest.find('/'), walk.rest.size());
    const std::string name = walk.rest.substr(0, slash);
    walk.rest.erase(0, slash + 1);
    CTXFS_TRY(GoTo(walk, name, follow, waits));
  }
  return {};
}

Result<SourceTree::File> SourceTree::Find(std::string_view path, bool follow,
                                          ServerWait* waits) {
  Walk walk{.way = {{"", kRootInode, true}}, .rest = std::string(path)};
  CTXFS_TRY(Go(walk, follow, waits));
  File file = std::move(walk.way.back());
  file.path = path;
  return file;
}

Result<SourceTree::File> SourceTree::FindInside(const File& file,
                                                ServerWait* waits) {
  const Error none{Code::kNotFound, "it is no container"};
  const bool mirrored = (file.inode & Mirror::kBit) != 0;
  if (file.directory && !mirrored) return none;
  Result<File> inside =
      Find(file.path + std::string(Mirror::kInside), true, waits);
  if (!inside && inside.error().code == Code::kNotFound) {
    if (file.directory) return none;
    const std::string path = CTXFS_TRY(PathInViews(file, waits));
    if (path.empty()) return none;
    inside = Find(path, true, waits);
  }
  return inside && !inside->directory ? Result<File>(none) : inside;
}

Result<std::string> SourceTree::PathInViews(const File& file,
                                            ServerWait* waits) {
  if ((file.inode & Mirror::kBit) != 0) return std::string();
  const ReadContext context = this->context(waits);
  const Namespace* const files = CTXFS_TRY(Files(context));
  // Of a link, this is the path of its target; of a hard link, of its first
  // name.
  const std::string inside = files->PathInContainer(file.inode, context);
  if (!HasContainerExtension(inside)) return std::string();
  std::string above = file.path;
  do {
    above.resize(above.find('/') == above.npos ? 0 : above.rfind('/'));
    const File directory = CTXFS_TRY(Find(above, true, waits));
    const Result<std::string> views = files->ViewsAt(directory.inode, context);
    if (!views && views.error().code == Code::kNotContainer) continue;
    if (!views || views->empty()) return views;
    return above + (above.empty() ? "" : "/") + *views + "/" + inside +
           std::string(Mirror::kInside);
  } while (!above.empty());
  return std::string();
}

bool SourceTree::IsMirrored(const File& file) {
  if (file.inode != kRootInode && (file.inode & Mirror::kBit) == 0) {
    return false;
  }
  if (!file.directory) return true;
  const auto container = ContainerAt(file);
  return !container && container.error().code == Code::kNotContainer;
}

Result<std::shared_ptr<const Container>> SourceTree::ContainerOf(
    const File& file, ServerWait* waits) {
  if (file.directory) {
    auto container = ContainerAt(file, waits);
    const bool none =
        !container && container.error().code == Code::kNotContainer;
    if (!none) return container;
    const Result<File> inside = FindInside(file, waits);
    if (!inside) return container;
    auto whole = ContainerAt(*inside, waits);
    // A folder with an index, such as that of a model, has files of its own.
    return whole && (*whole)->source()->is_directory() ? whole : container;
  }
  const Result<File> inside = FindInside(file, waits);
  if (inside) return ContainerAt(*inside, waits);
  if (inside.error().code != Code::kNotFound) return inside.error();
  // An unreadable file has no NAME~dir either. Then Open returns the reason.
  if (ClaimOf(file.name()) != NameClaim::kNothing) CTXFS_TRY(Open(file, waits));
  return Error{Code::kNotContainer, "the file is no container"};
}

Status SourceTree::ForEachContainer(const File& top,
                                    const VisitContainer& visit) {
  CTXFS_TRY(context().Check());
  const auto is_one = [&](const File& file) {
    const auto container = ContainerOf(file);
    if (!container && container.error().code == Code::kNotContainer) {
      return false;
    }
    visit(file.path, container);
    return true;
  };
  if (is_one(top) || !top.directory) return {};
  std::vector<File> files;  // sorted by name, for the search
  const auto add = [&files](const File& file) -> Status {
    files.push_back(file);
    return {};
  };
  CTXFS_TRY(ForEach(top, add, visit));
  std::ranges::sort(files, {}, &File::path);
  for (const File& file : files) {
    if (!file.link) {
      CTXFS_TRY(ForEachContainer(file, visit));
      continue;
    }
    // Follows no link to a plain directory: it may form a cycle.
    const Result<File> target = Find(file.path);
    if (target) {
      (void)is_one(*target);
    } else if (!target.error().Permanent()) {
      visit(file.path, target.error());
    }
  }
  return {};
}

Result<bool> SourceTree::StaysBelow(const File& top, const File& link) {
  if (top.path.empty()) return true;  // a container's link stays in it
  Walk walk{.way = {top}, .rest = link.path.substr(top.path.size() + 1)};
  CTXFS_TRY(Go(walk, /*follow=*/false, nullptr));
  walk.way.pop_back();
  walk.rest = CTXFS_TRY(ReadLink(link));
  const Status gone = Go(walk, /*follow=*/true, nullptr);
  if (gone || gone.error().code == Code::kNotFound) return !walk.leaves;
  return gone.error();
}

bool SourceTree::NeedsLookup(const Listing::Name& name,
                             Children children) const {
  const bool mirrored = (name.inode & Mirror::kBit) != 0;
  if (name.type_known) return children == Children::kFound && mirrored;
  return children == Children::kFound || !of_store_ ||
         MayReplaceFile(name.name);
}

void SourceTree::LookAhead(const Namespace& files, const File& directory,
                           const Listing& listing, Children children,
                           const ReadContext& context) const {
  if (!of_store_) return;
  constexpr unsigned kAtOnce = 8;
  std::vector<std::string> names;
  for (uint64_t i = 0; i < listing.count(); ++i) {
    const std::optional<Listing::Name> name = listing.At(i, false, context);
    if (name && !name->type_known && NeedsLookup(*name, children)) {
      names.push_back(name->name);
    }
  }
  // Successful look-ups are cached; errors recur at the next look-up.
  ForEachInParallel(names.size(), kAtOnce, [&](uint64_t i) {
    (void)files.Lookup(directory.inode, names[i], context);
  });
}

Status SourceTree::ForEach(const File& directory,
                           const std::function<Status(const File&)>& visit,
                           const std::function<void(const std::string& path,
                                                    const Error& error)>& lost,
                           Children children, ServerWait* waits) {
  const ReadContext context = this->context(waits);
  const Namespace* const files = CTXFS_TRY(Files(context));
  const std::unique_ptr<Listing> listing =
      CTXFS_TRY(files->OpenDirectory(directory.inode, context));
  CTXFS_TRY(listing->Rewind(context));
  LookAhead(*files, directory, *listing, children, context);
  const std::string above = directory.path.empty() ? "" : directory.path + "/";
  for (uint64_t i = 0; i < listing->count(); ++i) {
    const std::optional<Listing::Name> name = listing->At(i, false, context);
    if (!name) continue;
    // The inode of a mirrored file is valid from its first look-up on, and
    // never forgotten: `visit` may keep the file.
    File file{above + name->name, name->inode, name->directory, name->link,
              name->has_others};
    if (NeedsLookup(*name, children)) {
      const Result<std::optional<FoundNode>> found =
          files->Lookup(directory.inode, name->name, context);
      if (!found && lost != nullptr) {
        lost(file.path, found.error());
        continue;
      }
      if (!found) return found.error();
      if (!*found) continue;  // removed since it was listed
      file.inode = (*found)->inode;
      file.directory = (*found)->attributes.directory;
      file.link = (*found)->attributes.link;
    }
    CTXFS_TRY(visit(file));
  }
  return {};
}

Result<uint64_t> SourceTree::Size(const File& file) {
  const Attributes attributes = CTXFS_TRY(Examine(file));
  return attributes.size;
}

Result<std::optional<uint64_t>> SourceTree::CheapSize(const File& file) {
  const ReadContext context = this->context();
  const Namespace* const files = CTXFS_TRY(Files(context));
  const Cost cost = CTXFS_TRY(files->SizeCost(file.inode, context));
  if (cost > Cost::kSmallRead) return std::optional<uint64_t>();
  const uint64_t size = CTXFS_TRY(Size(file));
  return std::optional(size);
}

Result<std::vector<std::pair<std::string, std::string>>> SourceTree::Xattrs(
    const File& file, ServerWait* waits) {
  const std::optional<EntryInfo> info = CTXFS_TRY(Describe(file, waits));
  if (!info) return std::vector<std::pair<std::string, std::string>>();
  const ReadContext context = this->context(waits);
  const Namespace* const files = CTXFS_TRY(Files(context));
  return EntryXattrs(*info, files->PathInContainer(file.inode, context));
}

Result<OpenFile> SourceTree::Open(const File& file, ServerWait* waits) {
  if (file.directory) return Error{Code::kNotFound, "is a directory"};
  const ReadContext context = this->context(waits);
  const Namespace* const files = CTXFS_TRY(Files(context));
  return files->Open(file.inode, context);
}

}  // namespace ctxfs

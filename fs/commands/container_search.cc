// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/container_search.h"

#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string_view>

#include "core/base/errors.h"
#include "core/base/mutex_unlock.h"
#include "core/container/foreign/foreign_formats.h"
#include "core/container/format.h"
#include "core/container/unreadable.h"
#include "core/io/directory.h"
#include "core/io/download_cache.h"
#include "core/io/io_error.h"
#include "core/io/urls/url.h"
#include "core/io/urls/url_store.h"
#include "core/tree/safe_name.h"
#include "core/vfs/containers/open_container.h"
#include "core/vfs/mirror/hub_names.h"
#include "core/vfs/sources.h"
#include "fs/commands/named_files.h"

namespace ctxfs {
namespace {

namespace fs = std::filesystem;

constexpr NameClaim kNoClaim = NameClaim::kNothing;

/// `path` without links, ending in a slash.
std::string RealDirectory(const std::string& path) {
  std::error_code failed;
  std::string real = fs::canonical(path, failed).string();
  if (failed) real = path;
  if (!real.ends_with('/')) real += '/';
  return real;
}

/// Returns why an object or directory of a server, or a path that does not
/// exist, cannot be examined. Nothing of it was read, so an error that means
/// damage becomes kIo.
Error Unread(Error error) {
  if (IsDamage(error)) error.code = Code::kIo;
  return error;
}

/// The format of a directory that is one container; null if there is none. A
/// container with a Format::folder_index is found by that file instead, and
/// other containers may lie beside it.
const Format* FormatOfWhole(const Source& directory) {
  const Format* const format = FormatOfDirectory(directory);
  return format != nullptr && format->folder_index.empty() ? format : nullptr;
}

/// Whether the folder at `path`, which ends in a slash, has the name of a
/// repository of the hub's cache, and has snapshots.
bool IsHubRepository(const std::string& path) {
  std::error_code failed;
  const std::string name = BaseName(RealDirectory(path));
  return !RepositoryOf(name).empty() &&
         fs::is_directory(path + "snapshots", failed);
}

/// Returns the name of the blob that the link at `path` leads to; empty if it
/// leads to anything else. `real` is the path that the link resolves to.
std::string NameOfBlob(const std::string& path, const std::string& real) {
  std::error_code failed;
  std::string folder = RealDirectory(fs::path(path).parent_path().string());
  folder.pop_back();
  const std::string target = fs::read_symlink(path, failed).string();
  const std::optional<std::string> blob = BlobOf(folder, target);
  if (!blob || StoredAt(*blob) != real) return {};
  const fs::path repository = fs::path(*blob).parent_path().parent_path();
  if (RepositoryOf(repository.filename().string()).empty()) return {};
  return BaseName(*blob);
}

/// Whether huggingface_hub may have listed the files of the directory at `path`
/// (CommitTrees).
bool IsOfCommit(const std::string& path) {
  std::error_code failed;
  if (fs::is_directory(path + "/.cache/huggingface/trees", failed)) return true;
  const fs::path real = fs::canonical(path, failed);
  return IsCommit(real.filename().string()) &&
         real.parent_path().filename() == "snapshots";
}

/// Whether the file `name` of the folder `above` is no container of its own,
/// but a part of the container that another file of the folder describes.
bool IsPart(const std::string& above, const std::string& name) {
  const Format* const format = FormatOfPart(name);
  if (format == nullptr) return false;
  const Result<SourcePtr> whole =
      OpenSource(above + std::string(format->folder_index));
  if (!whole || (*whole)->is_directory()) return false;
  const Result<Buffer> head = ReadHead(**whole, Request());
  return head && format->probe(head->span());
}

}  // namespace

ContainerSearch::ContainerSearch(const std::vector<std::string>& sources,
                                 const OpenOptions& open, Others others)
    : open_(open), find_others_(others) {
  const MutexLock lock(mutex_);
  for (const std::string& path : sources) sources_.push_back({path});
}

ContainerSearch::Kind ContainerSearch::KindOf(const File& file,
                                              SourcePtr& kept) {
  const std::string name = BaseName(file.path);
  const size_t above = file.path.rfind('/') + 1;
  if (IsPart(file.path.substr(0, above), name)) return Kind::kPassedOver;
  const Result<SourcePtr> source = OpenSource(file.path);
  if (source && IsUrl(file.path)) kept = *source;
  // The sandbox makes OpenSource fail for a link that leads out of the SOURCE's
  // directory, except to blobs of a download cache.
  if (!source && file.link == Link::kOutside && ClaimOf(name) == kNoClaim) {
    return Kind::kPassedOver;
  }
  if (!source) return Kind::kBeside;  // opening it again gives the reason
  const Result<Buffer> head = ReadHead(**source, Request());
  if (!head) return Kind::kBeside;
  const Bytes bytes = head->span();
  if (IsContainer(bytes)) {
    if (file.link == Link::kInside) return Kind::kPassedOver;
    return IsContainerInPlaceOfFile(bytes) ? Kind::kInPlace : Kind::kBeside;
  }
  if (!file.foreign && ClaimsContainer(name, bytes)) return Kind::kBeside;
  const auto opened = OpenContainer(*source, {.found = true});
  if (opened || !opened.error().Permanent()) return Kind::kBeside;
  return file.link == Link::kInside ? Kind::kPassedOver : Kind::kOther;
}

std::optional<FoundContainer> ContainerSearch::Next() {
  std::optional<FoundContainer> found = NextInTurn();
  if (found) EndTurn(found->turn);
  return found;
}

std::optional<FoundContainer> ContainerSearch::NextInTurn() {
  const MutexLock lock(mutex_);
  while (std::optional<Step> step = Take()) {
    const uint64_t turn = next_turn_++;
    turns_.insert(turn);
    std::optional<FoundContainer> found = Conclude(*std::move(step));
    if (!found) {
      turns_.erase(turn);
      continue;
    }
    found->turn = turn;
    return found;
  }
  return std::nullopt;
}

bool ContainerSearch::IsFirstTurn(uint64_t turn) const {
  const MutexLock lock(mutex_);
  return !turns_.empty() && *turns_.begin() == turn;
}

void ContainerSearch::EndTurn(uint64_t turn) {
  const MutexLock lock(mutex_);
  turns_.erase(turn);
}

std::optional<FoundContainer> ContainerSearch::Conclude(Step step) {
  if (auto* container = std::get_if<FoundContainer>(&step)) {
    ++sources_[container->source].found;
    return std::move(*container);
  }
  if (const auto* const inside = std::get_if<Inside>(&step)) {
    ++sources_[inside->found.source].found;
    const MutexUnlock unlocked(mutex_);
    return OpenInside(*inside);
  }
  File* file = std::get_if<File>(&step);
  if (file == nullptr) return std::nullopt;
  FoundContainer found = Found(file->path);
  Kind kind = Kind::kOther;
  {
    const MutexUnlock unlocked(mutex_);
    kind = KindOf(*file, found.opened);
  }
  if (kind == Kind::kOther) ++others_;
  found.other = kind == Kind::kOther;
  if (found.other && find_others_ == Others::kFound) return found;
  if (kind == Kind::kOther || kind == Kind::kPassedOver) return std::nullopt;
  if (kind == Kind::kBeside) found.mounted += "~dir";
  ++sources_[found.source].found;
  return found;
}

std::optional<ContainerSearch::Step> ContainerSearch::Take() {
  if (!inside_.empty()) {
    Inside inside = std::move(inside_.front());
    inside_.pop_front();
    return inside;
  }
  while (!levels_.empty() && levels_.back().names.empty()) levels_.pop_back();
  if (levels_.empty()) {
    if (started_ == sources_.size()) return std::nullopt;
    return StartSource();
  }
  Level& level = levels_.back();
  const Name next = std::move(level.names.back());
  level.names.pop_back();
  const std::string path = level.path + next.name;
  switch (next.type) {
    case fs::file_type::regular:
      return File{path, Link::kNone, level.foreign};
    case fs::file_type::directory:
      if (IsOfHub(level, next.name)) return Step{};
      return TakeDirectory(path, level.foreign);
    case fs::file_type::symlink:
      return TakeLink(path);
    default:  // a device or a pipe: opening it fails without waiting
      if (ClaimOf(next.name) == kNoClaim) return Step{};
      return File{path};
  }
}

bool ContainerSearch::IsOfHub(const Level& level, std::string_view name) {
  const auto is = [name](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
  };
  if (is({"download", "trees"}) &&
      level.path.ends_with("/.cache/huggingface/")) {
    return true;
  }
  if (is({"blobs", "trees", "refs", ".no_exist"}) &&
      IsHubRepository(level.path)) {
    return true;
  }
  // These names sort before the names of the repositories, which are still in
  // `level`.
  return is({"blobs", ".locks"}) &&
         std::ranges::any_of(level.names, [&level](const Name& one) {
           return !RepositoryOf(one.name).empty() &&
                  IsHubRepository(level.path + one.name + "/");
         });
}

Result<std::deque<ContainerSearch::Inside>> ContainerSearch::ContainersIn(
    const Target& target, const OpenOptions& open) {
  const std::shared_ptr<SourceTree> tree = CTXFS_TRY(
      SourceTree::Open(target.source, open, ViewSet(), ListMode::kPrimary,
                       LeavingLinks::kRefused, {.logs_damage = false}));
  std::deque<Inside> all;
  std::string matching;  // the file that a pattern names
  const auto add = [&](const std::string& path, const auto& container) {
    // The container that PATH names stays open. There may be many others, so
    // each of them is opened again in its turn.
    Inside one{tree, path, path == matching, std::nullopt};
    if (path == target.path) one.opened = container;
    all.push_back(std::move(one));
  };
  const auto visit = [&](const SourceTree::File& file, bool matched) {
    matching = matched ? file.path : "";
    return tree->ForEachContainer(file, add);
  };
  CTXFS_TRY(ForEachNamed(*tree, target.path, /*follow=*/true, visit, add));
  if (!all.empty()) return all;
  return Error{Code::kNotFound, "there is no container in it"};
}

ContainerSearch::Step ContainerSearch::StartInside(const Target& target) {
  FoundContainer found = Found(sources_[started_ - 1].path);
  const OpenOptions& open = open_;
  Result<std::deque<Inside>> all = std::deque<Inside>();
  {
    const MutexUnlock unlocked(mutex_);
    all = ContainersIn(target, open);
  }
  if (!all) {
    found.no_container = all.error().code == Code::kNotFound;
    const bool unread = IsUrl(target.source) || found.no_container;
    found.error = unread ? Unread(all.error()) : all.error();
    found.named = true;
    return found;
  }
  for (Inside& one : *all) {
    one.found = found;
    one.found.path = target.source + "//" + one.path;
    one.found.mounted = one.path;
    one.found.matched = one.matched;
    one.found.named = one.path == target.path;
    inside_.push_back(std::move(one));
  }
  return {};
}

FoundContainer ContainerSearch::OpenInside(const Inside& inside) {
  FoundContainer found = inside.found;
  found.tree = inside.tree;
  const auto open = [&]() -> Result<std::shared_ptr<const Container>> {
    return inside.tree->ContainerOf(CTXFS_TRY(inside.tree->Find(inside.path)));
  };
  const Result<std::shared_ptr<const Container>> container =
      inside.opened ? *inside.opened : open();
  if (!container) {
    found.error = container.error();
  } else if (const std::optional<Error> why = WhyUnreadable(**container)) {
    found.error = *why;
  } else {
    found.container = *container;
  }
  return found;
}

ContainerSearch::Step ContainerSearch::StartSource() {
  Source& source = sources_[started_++];
  const Target target = ParseTarget(source.path);
  if (IsUrl(source.path)) {
    const Result<SourcePtr> opened = OpenSource(source.path);
    if (!opened) {
      if (!target.path.empty()) return StartInside(target);
      FoundContainer failed = Found(source.path);
      failed.error = Unread(opened.error());
      failed.named = true;
      return failed;
    }
  }
  if (IsPlainDirectory(source.path)) {
    source.real = IsUrl(source.path) ? source.path : RealDirectory(source.path);
    return TakeDirectory(source.path, /*foreign=*/false);
  }
  FoundContainer named = Found(source.path);
  struct stat st {};
  if (!IsUrl(source.path) && ::stat(source.path.c_str(), &st) != 0) {
    if (!target.path.empty()) return StartInside(target);
    named.error = IoError("cannot be opened");
    if (auto missing = MissingFromStore(source.path)) {
      named.error = Unread(*std::move(missing));
    }
  }
  named.named = true;
  named.mounted = SafeComponent(BaseName(source.path));
  return named;
}

FoundContainer ContainerSearch::FoundDirectory(const std::string& path,
                                               const Format& format) const {
  FoundContainer found = Found(path);
  if (format.traits.stays_file) found.mounted += "~dir";
  return found;
}

ContainerSearch::Step ContainerSearch::TakeDirectory(const std::string& path,
                                                     bool foreign) {
  if (IsUrl(path)) return TakePrefix(path, foreign);
  const bool top = levels_.empty();
  const Result<std::shared_ptr<const ctxfs::Source>> directory =
      OpenSource(path);
  const Format* const format =
      top || !directory ? nullptr : FormatOfWhole(**directory);
  if (format != nullptr) return FoundDirectory(path, *format);
  foreign = foreign || (directory && !ForeignDirectory(**directory).empty());
  Level level{path.ends_with('/') ? path : path + "/", {}, foreign};
  if (IsOfCommit(path)) commits_.push_back(path);
  std::error_code failed;
  for (fs::directory_iterator at(path, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code gone;
    level.names.push_back(
        {at->path().filename().string(), at->symlink_status(gone).type()});
  }
  std::ranges::sort(level.names, std::greater<>(), &Name::name);
  levels_.push_back(std::move(level));
  if (!failed) return {};
  FoundContainer found = Found(path);
  found.error = SystemError("cannot be listed", failed.value());
  return found;
}

ContainerSearch::Step ContainerSearch::TakePrefix(const std::string& url,
                                                  bool foreign) {
  const bool top = levels_.empty();
  const std::string above = url.ends_with('/') ? url : url + "/";
  const FoundContainer found = Found(url);
  const auto failed = [&found](const Error& error) {
    FoundContainer with_error = found;
    with_error.error = Unread(error);
    return with_error;
  };
  const Result<SourcePtr> directory = OpenSource(above);
  if (!directory) return failed(directory.error());
  const Format* const format = top ? nullptr : FormatOfWhole(**directory);
  if (format != nullptr) return FoundDirectory(url, *format);
  const Result<StoreListingPtr> listing = TheUrlStore()->List(above, Request());
  if (!listing) return failed(listing.error());
  foreign = foreign || !ForeignDirectory(**directory).empty();
  Level level{above, {}, foreign};
  for (const StoreName& name : (*listing)->names) {
    level.names.push_back(
        {TheUrlStore()->UrlOf(above, name).substr(above.size()),
         name.directory ? fs::file_type::directory : fs::file_type::regular});
  }
  std::ranges::sort(level.names, std::greater<>(), &Name::name);
  levels_.push_back(std::move(level));
  return {};
}

ContainerSearch::Step ContainerSearch::TakeLink(const std::string& path) {
  const std::string name = BaseName(path);
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    if (ClaimOf(name) == kNoClaim) return {};
    return File{path};
  }
  if (!S_ISREG(st.st_mode)) return {};
  std::error_code failed;
  const std::string real = fs::canonical(path, failed).string();
  const bool inside = !failed && real.starts_with(sources_[started_ - 1].real);
  const std::string blob = NameOfBlob(path, real);
  if (!blob.empty()) {
    const auto [first, added] =
        blobs_.try_emplace({st.st_dev, st.st_ino, blob}, path);
    if (!added) {
      other_names_.push_back({path, first->second});
      return {};
    }
    linked_.insert({st.st_dev, st.st_ino});
    return File{path, Link::kOutside};
  }
  // Another link into the SOURCE is skipped, because its target is found by its
  // own name, unless only the link's name claims a container.
  if (inside &&
      (ClaimOf(name) == kNoClaim || ClaimOf(BaseName(real)) != kNoClaim)) {
    return {};
  }
  if (!linked_.insert({st.st_dev, st.st_ino}).second) return {};
  return File{path, inside ? Link::kInside : Link::kOutside};
}

FoundContainer ContainerSearch::Found(const std::string& path) const {
  FoundContainer found;
  found.path = path;
  found.source = started_ - 1;
  const std::string& top = sources_[found.source].path;
  if (path.size() > top.size()) {
    const size_t from = path.find_first_not_of('/', top.size());
    if (from != std::string::npos) found.mounted = path.substr(from);
  }
  return found;
}

bool ContainerSearch::searched() const {
  const MutexLock lock(mutex_);
  return std::ranges::any_of(
      sources_, [](const Source& source) { return !source.real.empty(); });
}

std::vector<std::string> ContainerSearch::commits() const {
  const MutexLock lock(mutex_);
  return commits_;
}

std::vector<ContainerSearch::OtherName> ContainerSearch::other_names() const {
  const MutexLock lock(mutex_);
  return other_names_;
}

uint64_t ContainerSearch::others() const {
  const MutexLock lock(mutex_);
  return others_;
}

std::vector<std::string> ContainerSearch::Empty() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> empty;
  for (const Source& source : sources_) {
    if (!source.real.empty() && source.found == 0) empty.push_back(source.path);
  }
  return empty;
}

Result<std::shared_ptr<const Container>> ContainerOf(
    const FoundContainer& found, const OpenOptions& open) {
  if (found.error) return *found.error;
  if (found.container != nullptr) return found.container;
  return OpenContainerFile(found.path, open);
}

Error NoContainerIn(const std::string& path) {
  const auto directory = OpenSource(path);
  return {Code::kNotFound,
          "there is no container in it" +
              (directory ? ForeignDirectory(**directory) : "")};
}

}  // namespace ctxfs

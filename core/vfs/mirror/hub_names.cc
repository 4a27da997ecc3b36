// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/mirror/hub_names.h"

#include <algorithm>
#include <utility>

#include "core/base/text/text.h"
#include "core/io/download_cache.h"

namespace ctxfs {
namespace {

constexpr std::string_view kHubSeparator = kRepositorySeparator;
constexpr std::string_view kSnapshots = "/snapshots/";
/// Maximum bytes of a file in refs/. Such a file has a commit of 40 bytes.
constexpr uint64_t kMaxRefBytes = 255;

/// The prefix of a repository's folder: "models--".
std::string FolderOf(std::string_view type) {
  return std::string(type) + std::string(kHubSeparator);
}

/// The prefix of a repository's path: empty for models, "datasets/".
std::string PathOf(std::string_view type) {
  return type == kRepositoryTypes.front() ? "" : std::string(type) + "/";
}

bool IsHubName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) ==
             std::string_view::npos &&
         name.find(kHubSeparator) == std::string_view::npos;
}

/// A path, split into its repository and the rest.
struct RepositorySplit {
  std::string folder;  // "models--ORG--NAME"
  std::string rest;    // "REVISION/FILE"; empty for the repository itself
};

/// The possible splits of a path, the longer repository name first: "A/B" may
/// be the repository B of an organisation A, or B in a repository A without an
/// organisation.
std::vector<RepositorySplit> SplitsOf(std::string_view path) {
  std::vector<RepositorySplit> splits;
  for (const std::string_view type : kRepositoryTypes) {
    const std::string above = PathOf(type);
    if (!path.starts_with(above)) continue;
    const auto components = ComponentsOf(path.substr(above.size()));
    for (const size_t count : {size_t{2}, size_t{1}}) {
      if (components.size() < count) continue;
      RepositorySplit split{FolderOf(type), ""};
      bool names = true;
      for (size_t i = 0; i < components.size(); ++i) {
        std::string& to = i < count ? split.folder : split.rest;
        if (i != 0 && i != count) to += i < count ? kHubSeparator : "/";
        to += components[i];
        names = names && (i >= count || IsHubName(components[i]));
      }
      if (names) splits.push_back(std::move(split));
    }
  }
  return splits;
}

Result<bool> HasDirectory(const Directory& raw, const std::string& path,
                          const Request& request) {
  const Maybe<Directory::Item> found = raw.Find(path, request);
  if (!found) return found.error();
  return *found && (*found)->directory;
}

/// The place of `rest` in a repository, where files keep their own names.
Result<CacheNames::Place> InRepository(const Directory& raw,
                                       const RepositorySplit& split,
                                       const Request& request) {
  using enum CacheNames::Place::Kind;
  if (split.rest.empty()) return CacheNames::Place{kDirectory};
  const std::string below = split.folder + std::string(kSnapshots);
  const std::string revision = split.rest.substr(0, split.rest.find('/'));
  if (CTXFS_TRY(HasDirectory(raw, below + revision, request))) {
    return CacheNames::Place{kRaw, below + split.rest};
  }
  // A ref: "main", or "refs/pr/1" from the file refs/refs/pr/1.
  const std::string ref = split.folder + "/refs/" + split.rest;
  if (CTXFS_TRY(HasDirectory(raw, ref, request)))
    return CacheNames::Place{kDirectory};
  std::optional<std::string> commit =
      CTXFS_TRY(SmallFile(raw, ref, kMaxRefBytes, request));
  if (!commit) return CacheNames::Place{};
  commit->resize(commit->find_last_not_of(" \t\r\n") + 1);
  if (!IsHubName(*commit)) return CacheNames::Place{};
  if (!CTXFS_TRY(HasDirectory(raw, below + *commit, request))) {
    return CacheNames::Place{};
  }
  std::string up;
  const auto depth = std::ranges::count(split.rest, '/');
  for (auto i = depth; i > 0; --i) up += "../";
  return CacheNames::Place{kLink, up + *commit};
}

/// Whether some repository's name begins with `path` and a slash.
Result<bool> IsAbove(const Directory& raw, const std::string& path,
                     const Request& request) {
  for (const std::string& folder : CTXFS_TRY(NamesIn(raw, "", request))) {
    if (RepositoryOf(folder).starts_with(path + "/")) return true;
  }
  return false;
}

}  // namespace

std::string RepositoryOf(std::string_view folder) {
  for (const std::string_view type : kRepositoryTypes) {
    const std::string begin = FolderOf(type);
    if (!folder.starts_with(begin)) continue;
    const std::string_view name = folder.substr(begin.size());
    const size_t cut = name.find(kHubSeparator);
    std::string path = PathOf(type);
    if (cut == std::string_view::npos) {
      return IsHubName(name) ? path.append(name) : "";
    }
    const std::string_view organisation = name.substr(0, cut);
    const std::string_view last = name.substr(cut + kHubSeparator.size());
    if (!IsHubName(organisation) || !IsHubName(last)) return "";
    return path.append(organisation).append("/").append(last);
  }
  return "";
}

bool HubNames::Recognise(const Directory& raw) {
  return AnyName(
      raw, "",
      [&raw](const std::string& name) {
        if (RepositoryOf(name).empty()) return false;
        const Result<bool> snapshots =
            HasDirectory(raw, name + "/snapshots", Request());
        const Result<bool> blobs =
            HasDirectory(raw, name + "/blobs", Request());
        return snapshots && blobs && *snapshots && *blobs;
      },
      Request());
}

Result<CacheNames::Place> HubNames::Find(const Directory& raw,
                                         const std::string& path,
                                         const Request& request) const {
  for (const RepositorySplit& split : SplitsOf(path)) {
    if (!CTXFS_TRY(HasDirectory(raw, split.folder, request))) continue;
    Place place = CTXFS_TRY(InRepository(raw, split, request));
    if (place.kind != Place::Kind::kNothing) return place;
  }
  const size_t depth = ComponentsOf(path).size();
  if (depth <= 2 && CTXFS_TRY(IsAbove(raw, path, request))) {
    return Place{Place::Kind::kDirectory};
  }
  return Place{};
}

Status HubNames::List(const Directory& raw, const std::string& path,
                      const Visit& visit, const Request& request) const {
  const Place directory{Place::Kind::kDirectory};
  const std::string above = path.empty() ? "" : path + "/";
  for (const std::string& folder : CTXFS_TRY(NamesIn(raw, "", request))) {
    const std::string repository = RepositoryOf(folder);
    if (repository.empty() || !repository.starts_with(above)) continue;
    const std::string_view below =
        std::string_view(repository).substr(above.size());
    CTXFS_TRY(visit(below.substr(0, below.find('/')), directory));
  }
  for (const RepositorySplit& split : SplitsOf(path)) {
    const std::string refs =
        split.folder + "/refs" + (split.rest.empty() ? "" : "/" + split.rest);
    std::vector<std::string> names = CTXFS_TRY(NamesIn(raw, refs, request));
    if (split.rest.empty()) {
      std::ranges::move(
          CTXFS_TRY(NamesIn(raw, split.folder + "/snapshots", request)),
          std::back_inserter(names));
    }
    for (const std::string& name : names) {
      Result<Place> place = Find(raw, above + name, request);
      // A look-up of the name returns the error.
      if (!place) place = Place{Place::Kind::kRaw, refs + "/" + name};
      if (place->kind != Place::Kind::kNothing) CTXFS_TRY(visit(name, *place));
    }
  }
  return {};
}

bool HubNames::Hides(std::string_view name) const {
  // The store's files have names in the snapshots of repositories.
  return name == "blobs" || !RepositoryOf(name).empty();
}

std::optional<std::string> HubNames::WatchedFor(const std::string& path) const {
  const size_t depth = ComponentsOf(path).size();
  // A single component may be an owner, or a repository without one.
  if (depth < 2) return "";
  const std::vector<RepositorySplit> splits = SplitsOf(path);
  if (splits.empty() || !splits.front().rest.empty()) return std::nullopt;
  return splits.front().folder + "/snapshots";
}

std::string HubNames::ChangedName(const std::string& path,
                                  const std::string& name) const {
  if (ComponentsOf(path).size() >= 2) return name;
  const std::string above = path.empty() ? "" : path + "/";
  const std::string repository = RepositoryOf(name);
  if (!repository.starts_with(above)) return "";
  const std::string_view below =
      std::string_view(repository).substr(above.size());
  return std::string(below.substr(0, below.find('/')));
}

}  // namespace ctxfs

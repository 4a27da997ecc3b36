// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/named_files.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text/text.h"
#include "core/container/unreadable.h"
#include "fs/common/glob.h"
#include "fs/common/nearest_word.h"

namespace ctxfs {
namespace {

/// A directory of this many names or more is not sorted.
constexpr size_t kMaxSorted = 100'000;

/// Names that listings omit, but that the user may have meant.
constexpr std::string_view kUnlisted[] = {"views", ".ctxfs"};

std::string Below(const std::string& directory, std::string_view name) {
  return directory.empty() ? std::string(name)
                           : directory + "/" + std::string(name);
}

/// Removes the first name of a path, and the slashes around it; empty after the
/// last one.
std::string TakeName(std::string_view& path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  const std::string name(path.substr(0, path.find('/')));
  path.remove_prefix(name.size());
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  return name;
}

/// The name in `directory` that `typed` was probably meant to be; empty if none
/// is near.
std::string NearestNameIn(SourceTree& tree, const SourceTree::File& directory,
                          const std::string& typed) {
  NearestWordFinder finder(typed, kMaxNearNameBytes);
  const auto offer = [&](std::string_view name) {
    if (name != typed) finder.Offer(name);
  };
  for (const std::string_view name : kUnlisted) {
    if (tree.Find(Below(directory.path, name))) offer(name);
  }
  size_t offered = 0;
  const auto visit = [&](const SourceTree::File& file) -> Status {
    if (++offered > kMaxNamesOffered)
      return Error{Code::kLimit, "enough names"};
    offer(file.name());
    return {};
  };
  (void)tree.ForEach(
      directory, visit, [](const auto&, const Error&) {},
      SourceTree::Children::kNamed);
  return finder.nearest();
}

/// The path that `path`, which does not exist, was probably meant to be; empty
/// if none is near.
std::string MeantPath(SourceTree& tree, std::string_view path) {
  Result<SourceTree::File> at = tree.Find("");
  while (at && at->directory && !path.empty()) {
    const std::string name = TakeName(path);
    Result<SourceTree::File> next = tree.Find(Below(at->path, name));
    if (next) {
      at = std::move(next);
      continue;
    }
    const std::string nearest = NearestNameIn(tree, *at, name);
    if (nearest.empty()) return {};
    std::string meant = Below(at->path, nearest);
    const std::string whole = Below(meant, path);
    return !path.empty() && tree.Find(whole) ? whole : meant;
  }
  return {};
}

/// Finds the files that a path with patterns names.
class Expansion {
 public:
  Expansion(SourceTree& tree, bool follow, const VisitNamed& visit,
            const OnLost& lost)
      : tree_(tree), follow_(follow), visit_(visit), lost_(lost) {}

  /// Visits what `path` names below `directory`.
  Status Expand(const SourceTree::File& directory, std::string_view path) {
    const std::string name = TakeName(path);
    const std::string below = Below(directory.path, name);
    const Result<SourceTree::File> literal = Find(below, path);
    if (literal) return Go(*literal, path);
    if (literal.error().code != Code::kNotFound) return literal.error();
    if (!Glob::IsPattern(name) || !directory.directory) return {};
    const Glob glob(name);
    return ForEachSorted(
        tree_, directory,
        [&](const SourceTree::File& child) -> Status {
          if (!glob.Matches(child.name())) return {};
          return GoTo(child.path, path);
        },
        lost_, SourceTree::Children::kNamed);
  }

  uint64_t found() const { return found_; }

 private:
  /// Finds `path`. Follows a link if `follow_` is set, or if a `rest` of the
  /// path comes after it.
  Result<SourceTree::File> Find(const std::string& path,
                                std::string_view rest) {
    return tree_.Find(path, follow_ || !rest.empty());
  }

  Status GoTo(const std::string& path, std::string_view rest) {
    const Result<SourceTree::File> file = Find(path, rest);
    if (file) return Go(*file, rest);
    if (rest.empty()) {
      ++found_;
      lost_(path, file.error());
    }
    return {};
  }

  Status Go(const SourceTree::File& file, std::string_view rest) {
    if (!rest.empty()) {
      return file.directory ? Expand(file, rest) : Status();
    }
    ++found_;
    return visit_(file, /*matched=*/true);
  }

  SourceTree& tree_;
  const bool follow_;
  const VisitNamed& visit_;
  const OnLost& lost_;
  uint64_t found_ = 0;
};

}  // namespace

Result<SourceTree::File> FindNamed(SourceTree& tree, const std::string& path,
                                   bool follow) {
  Result<SourceTree::File> file = tree.Find(path, follow);
  if (file || file.error().code != Code::kNotFound) return file;
  Error error = file.error();
  const std::string meant = MeantPath(tree, path);
  if (!meant.empty()) error.what += " (did you mean " + Quote(meant) + "?)";
  return error;
}

std::string LiteralPart(SourceTree& tree, const std::string& path) {
  std::string literal;
  std::string_view rest = path;
  while (!rest.empty()) {
    const std::string name = TakeName(rest);
    const std::string below = Below(literal, name);
    if (Glob::IsPattern(name) && !tree.Find(below)) return literal;
    literal = below;
  }
  return path;
}

Status ForEachNamed(SourceTree& tree, const std::string& path, bool follow,
                    const VisitNamed& visit, const OnLost& lost) {
  const Result<SourceTree::File> literal = tree.Find(path, follow);
  if (literal) return visit(*literal, /*matched=*/false);
  const std::string above = LiteralPart(tree, path);
  if (literal.error().code != Code::kNotFound || above == path) {
    return FindNamed(tree, path, follow).error();
  }
  const SourceTree::File directory = CTXFS_TRY(FindNamed(tree, above));
  Expansion expansion(tree, follow, visit, lost);
  CTXFS_TRY(expansion.Expand(directory, path.substr(above.size())));
  if (expansion.found() > 0) return {};
  return Error{Code::kNotFound, "no name matches the pattern"};
}

Status ForEachSorted(
    SourceTree& tree, const SourceTree::File& directory,
    const std::function<Status(const SourceTree::File&)>& visit,
    const OnLost& lost, SourceTree::Children children) {
  if (!tree.IsMirrored(directory)) {
    return tree.ForEach(directory, visit, lost, children);
  }
  std::vector<SourceTree::File> files;
  const auto pass_on = [&]() -> Status {
    for (const SourceTree::File& file : std::exchange(files, {})) {
      CTXFS_TRY(visit(file));
    }
    return {};
  };
  bool few = true;
  const auto collect = [&](const SourceTree::File& file) -> Status {
    if (few) files.push_back(file);
    if (few && files.size() < kMaxSorted) return {};
    if (!std::exchange(few, false)) return visit(file);
    return pass_on();
  };
  CTXFS_TRY(tree.ForEach(directory, collect, lost, children));
  std::ranges::sort(files, {}, &SourceTree::File::path);
  return pass_on();
}

Result<SourceTree::File> InsideOf(SourceTree& tree,
                                  const SourceTree::File& file) {
  if (file.directory) return file;
  Result<SourceTree::File> inside = tree.FindInside(file);
  if (!inside && inside.error().code == Code::kNotFound) return file;
  if (!inside) return inside;
  const auto container = CTXFS_TRY(tree.ContainerAt(*inside));
  if (std::optional<Error> why = WhyUnreadable(*container)) return *why;
  return inside;
}

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#include "fs/browse/browser.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "core/base/text/text.h"
#include "core/vfs/mirror/mirror.h"
#include "fs/common/shown_text.h"

namespace ctxfs {
namespace {

// Maximum depth of a search: containers may nest without end.
constexpr unsigned kMaxDepth = 16;

const std::string kInside(Mirror::kInside);

bool Contains(std::string_view name, std::string_view text) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  return std::search(name.begin(), name.end(), text.begin(), text.end(),
                     same) != name.end();
}

/// The directory part of `path`.
std::string_view Above(std::string_view path) {
  const size_t slash = path.rfind('/');
  return path.substr(0, slash == std::string_view::npos ? 0 : slash);
}

/// Sorts the files of a directory that is not in a container, which have no
/// order of their own, by name.
void SortIfMirrored(std::vector<SourceTree::File>& files) {
  const auto is_mirrored = [](const SourceTree::File& file) {
    return (file.inode & Mirror::kBit) != 0;
  };
  if (!std::ranges::all_of(files, is_mirrored)) return;
  std::ranges::sort(files, {}, &SourceTree::File::path);
}

Error NotFound(const std::string& text) {
  return {Code::kNotFound, "no name has " + Quote(text)};
}

}  // namespace

Status Browser::Open(std::string_view path) {
  const SourceTree::File file = CTXFS_TRY(tree_.Find(path));
  if (file.directory) return List(file);
  const Result<SourceTree::File> inside = tree_.FindInside(file);
  return inside ? List(*inside) : Show(file.path);
}

Status Browser::Show(std::string path) {
  CTXFS_TRY(List(CTXFS_TRY(tree_.Find(Above(path)))));
  const std::string name = path.substr(path.rfind('/') + 1);
  const auto found = std::ranges::find_if(files_, [&name](const auto& file) {
    return file.name() == name || file.name() + kInside == name;
  });
  if (found != files_.end()) {
    selected_ = static_cast<size_t>(found - files_.begin());
  }
  return {};
}

Status Browser::List(const SourceTree::File& directory) {
  std::vector<SourceTree::File> files;
  uint64_t left_out = 0;
  const auto add = [&](const SourceTree::File& file) -> Status {
    if (files.size() < kMaxFiles) {
      files.push_back(file);
    } else {
      ++left_out;
    }
    return {};
  };
  const auto lost = [](const std::string& /*path*/, const Error& /*error*/) {};
  CTXFS_TRY(tree_.ForEach(directory, add, lost));
  SortIfMirrored(files);
  directory_ = directory;
  files_ = std::move(files);
  longest_name_ = 0;
  for (const SourceTree::File& file : files_) {
    const size_t mark = file.directory || file.link ? 1 : 0;
    longest_name_ =
        std::max(longest_name_, ListedName(file.name()).size() + mark);
  }
  sizes_.assign(files_.size(), std::nullopt);
  left_out_ = left_out;
  selected_ = 0;
  return {};
}

void Browser::Move(ptrdiff_t by) {
  if (files_.empty()) return;
  const auto last = static_cast<ptrdiff_t>(files_.size()) - 1;
  const auto at = static_cast<ptrdiff_t>(selected_);
  const ptrdiff_t to = by > last - at ? last : std::max(at + by, ptrdiff_t{0});
  selected_ = static_cast<size_t>(to);
}

std::vector<Browser::Measured> Browser::Unmeasured(size_t page) const {
  std::vector<Measured> found;
  const size_t first = selected_ / page * page;
  for (size_t i = first; i < std::min(first + page, files_.size()); ++i) {
    if (files_[i].directory || files_[i].link || sizes_[i]) continue;
    found.push_back({i, files_[i], std::nullopt});
  }
  return found;
}

void Browser::Take(const std::vector<Measured>& measured) {
  for (const Measured& one : measured) sizes_[one.number] = one.size;
}

Result<bool> Browser::Enter() {
  if (selection() == nullptr) return true;
  SourceTree::File file = *selection();
  if (file.link) file = CTXFS_TRY(tree_.Find(file.path));
  if (!file.directory) {
    const Result<SourceTree::File> inside = tree_.FindInside(file);
    if (!inside) return false;
    file = *inside;
  }
  CTXFS_TRY(List(file));
  return true;
}

Status Browser::Leave() {
  if (path().empty()) return {};
  return Show(directory_.path);
}

Status Browser::Search(const std::string& text) {
  for (size_t i = 1; i <= files_.size(); ++i) {
    const size_t at = (selected_ + i) % files_.size();
    if (Contains(files_[at].name(), text)) {
      selected_ = at;
      if (i < files_.size()) return {};
    }
  }
  // No other file of this directory matches, so its subdirectories are
  // searched.
  for (const SourceTree::File& file : std::vector(files_)) {
    if (!file.directory) continue;
    const Result<SourceTree::File> found = FindBelow(file, text, 1);
    if (found) return Show(found->path);
    if (found.error().code == Code::kInterrupted) return found.error();
  }
  const bool here =
      selection() != nullptr && Contains(selection()->name(), text);
  return here ? Status() : NotFound(text);
}

Result<SourceTree::File> Browser::FindBelow(const SourceTree::File& directory,
                                            const std::string& text,
                                            unsigned depth) {
  std::optional<SourceTree::File> found;
  const auto visit = [&](const SourceTree::File& file) -> Status {
    if (found) return {};
    if (Contains(file.name(), text)) {
      found = file;
    } else if (file.directory && depth < kMaxDepth) {
      Result<SourceTree::File> below = FindBelow(file, text, depth + 1);
      if (below) {
        found = *std::move(below);
      } else if (below.error().code == Code::kInterrupted) {
        return std::move(below).error();
      }
    }
    return {};
  };
  const auto lost = [](const std::string& /*path*/, const Error& /*error*/) {};
  CTXFS_TRY(tree_.ForEach(directory, visit, lost));
  if (found) return *found;
  return NotFound(text);
}

}  // namespace ctxfs

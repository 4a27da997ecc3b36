// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/sources.h"

#include <sys/stat.h>

#include <filesystem>
#include <unordered_set>

#include "core/container/foreign_formats.h"
#include "core/io/directory.h"
#include "core/tree/free_names.h"
#include "core/tree/safe_name.h"
#include "core/vfs/open_container.h"

namespace ctxfs {
namespace {

/// The daemon changes its directory.
Result<std::string> AbsolutePath(const std::string& path) {
  std::error_code failed;
  std::string absolute = std::filesystem::absolute(path, failed);
  if (failed) return Error{Code::kIo, failed.message()};
  while (absolute.size() > 1 && absolute.back() == '/') absolute.pop_back();
  return absolute;
}

/// Whether a source among several is anything that can be shown.
Status CheckTop(const std::string& path) {
  const Result<std::shared_ptr<const Source>> source = OpenSource(path);
  if (!source) return source.error();
  if ((*source)->is_directory()) return {};
  const Result<Buffer> head = ReadHead(**source);
  if (!head) return head.error();
  if (IsContainer(head->span())) return {};
  return Error{Code::kNotContainer, WhyNoContainer(head->span())};
}

}  // namespace

bool IsPlainDirectory(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) return false;
  const Result<std::shared_ptr<const Source>> directory = OpenSource(path);
  return !directory || !(IsContainerDirectory(**directory) ||
                         ResemblesContainer(**directory));
}

std::string BaseName(const std::string& path) {
  const size_t end = path.find_last_not_of('/');
  const std::string trimmed = path.substr(0, end + 1);
  return trimmed.substr(trimmed.rfind('/') + 1);
}

Result<Sources> FindSources(const std::vector<std::string>& paths,
                            const OpenOptions& options, std::string* failed) {
  Sources sources;
  const std::string& first = *failed = paths.front();
  if (paths.size() == 1 && IsPlainDirectory(first)) {
    Result<std::string> path = AbsolutePath(first);
    if (!path) return std::move(path).error();
    sources.directory = std::move(*path);
    return sources;
  }
  if (paths.size() == 1) {
    Result<std::shared_ptr<const Container>> container =
        OpenContainerFile(first, options);
    if (!container) return std::move(container).error();
    sources.container = std::move(*container);
    return sources;
  }
  std::unordered_set<std::string> names;
  FreeNames free_names;
  for (const std::string& source : paths) {
    *failed = source;
    if (Status shown = CheckTop(source); !shown) return shown.error();
    Result<std::string> path = AbsolutePath(source);
    if (!path) return std::move(path).error();
    const std::string name = SafeComponent(BaseName(*path));
    std::string free = free_names.Find(
        {.name = name},
        [&](const std::string& one) { return !names.insert(one).second; });
    sources.tops.push_back({std::move(free), std::move(*path)});
  }
  return sources;
}

}  // namespace ctxfs

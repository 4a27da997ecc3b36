// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/sources.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <unordered_set>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/heap/heap_meter.h"
#include "core/base/limits.h"
#include "core/container/foreign/foreign_formats.h"
#include "core/io/directory.h"
#include "core/io/download_cache.h"
#include "core/io/urls/url.h"
#include "core/tree/free_names.h"
#include "core/tree/safe_name.h"
#include "core/vfs/containers/open_container.h"
#include "core/vfs/mirror/cache_names.h"
#include "core/vfs/mirror/named_directory.h"
#include "core/vfs/mirror/store_directory.h"

namespace ctxfs {
namespace {

/// The daemon changes its directory, so paths must be absolute.
Result<std::string> AbsolutePath(const std::string& path) {
  if (IsUrl(path)) return path;
  std::error_code failed;
  std::string absolute = std::filesystem::absolute(path, failed);
  if (failed) return Error{Code::kIo, failed.message()};
  while (absolute.size() > 1 && absolute.back() == '/') absolute.pop_back();
  return absolute;
}

/// Fails unless `path`, one of several sources, can be shown.
Status CheckTop(const std::string& path) {
  const std::shared_ptr<const Source> source = CTXFS_TRY(OpenSource(path));
  if (source->is_directory()) return {};
  const Buffer head = CTXFS_TRY(ReadHead(*source, Request()));
  if (IsContainer(head.span())) return {};
  return Error{Code::kNotContainer, WhyNoContainer(head.span(), source.get())};
}

}  // namespace

bool IsPlainDirectory(const std::string& path, const Request& request) {
  struct stat st {};
  const bool url = IsUrl(path);
  if (!url && (::stat(path.c_str(), &st) != 0 || !S_ISDIR(st.st_mode))) {
    return false;
  }
  const Result<std::shared_ptr<const Source>> directory =
      OpenSource(path, {}, request);
  if (url && (!directory || !(*directory)->is_directory())) return false;
  return !directory || !(IsContainerDirectory(**directory, request) ||
                         ResemblesContainer(**directory, request));
}

std::vector<std::string> TreesOf(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path real = fs::canonical(path, failed);
  if (failed) return {};
  std::vector<std::string> trees = {real};
  fs::path around = real;
  if (!fs::is_directory(real, failed)) {
    trees = {real.parent_path()};
    around = fs::canonical(fs::absolute(path, failed).parent_path(), failed);
    if (failed) return trees;
    if (around != real.parent_path()) trees.push_back(around);
  }
  for (std::string& beside : TreesBeside(around.string())) {
    // Ignores `beside` if it is a link, because a link could lead anywhere.
    if (fs::canonical(beside, failed) == beside) trees.push_back(beside);
  }
  return trees;
}

std::string BaseName(const std::string& path) {
  std::string trimmed = WithoutVersion(WithoutQuery(path));
  trimmed.resize(trimmed.find_last_not_of('/') + 1);
  return trimmed.substr(trimmed.rfind('/') + 1);
}

std::unique_ptr<Directory> DirectoryOf(
    Sources sources, const SystemDirectory::Options& options) {
  if (sources.tops.empty() && IsUrl(sources.directory)) {
    return std::make_unique<StoreDirectory>(std::move(sources.directory));
  }
  if (sources.tops.empty()) {
    SystemDirectory::Options own = options;
    auto names = CacheNamesOf(SystemDirectory(sources.directory, {}));
    // The links of a cache lead to files of the cache, so others are refused.
    own.refuses_leaving = own.refuses_leaving || names != nullptr;
    std::unique_ptr<Directory> directory =
        std::make_unique<SystemDirectory>(std::move(sources.directory), own);
    if (names == nullptr) return directory;
    return std::make_unique<NamedDirectory>(std::move(directory),
                                            std::move(names));
  }
  return std::make_unique<SystemDirectory>(std::move(sources.tops), options);
}

MountedContainers::Budget BudgetFor(const Sources& sources, uint64_t index) {
  const uint64_t usual = sources.container == nullptr
                             ? limits::kOpenContainerBytes
                             : limits::kOpenBytes;
  return {.bytes = index == 0 ? usual : index, .top = sources.bytes};
}

Result<Sources> FindSources(const std::vector<std::string>& paths,
                            const OpenOptions& options, std::string* failed,
                            uint64_t index, const Request& request) {
  Sources sources;
  const std::string& first = *failed = paths.front();
  // Opens a URL first, so that a failing server is queried only once. Later
  // opens reuse its answers.
  if (paths.size() == 1 && IsUrl(first))
    CTXFS_TRY(OpenSource(first, {}, request));
  if (paths.size() == 1 && IsPlainDirectory(first, request)) {
    sources.directory = CTXFS_TRY(AbsolutePath(first));
    return sources;
  }
  if (paths.size() == 1) {
    const HeapMeter meter;
    const HeapAllowance allowance(index == 0 ? limits::kOpenBytes : index,
                                  {Code::kLimit, "index="});
    sources.container = CTXFS_TRY(OpenContainerFile(first, options, request));
    sources.bytes = meter.bytes();
    return sources;
  }
  const auto url = std::ranges::find_if(paths, IsUrl);
  if (url != paths.end()) {
    *failed = *url;
    return Error{Code::kUnsupported, "a URL must be the only SOURCE"};
  }
  std::unordered_set<std::string> names;
  FreeNames free_names;
  for (const std::string& source : paths) {
    *failed = source;
    CTXFS_TRY(CheckTop(source));
    std::string path = CTXFS_TRY(AbsolutePath(source));
    const std::string name = SafeComponent(BaseName(path));
    std::string free = free_names.Find(
        {.name = name},
        [&](const std::string& one) { return !names.insert(one).second; });
    sources.tops.push_back({std::move(free), std::move(path)});
  }
  return sources;
}

}  // namespace ctxfs

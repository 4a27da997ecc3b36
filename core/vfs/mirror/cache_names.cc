// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/mirror/cache_names.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/vfs/mirror/hub_names.h"
#include "core/vfs/mirror/ollama_names.h"

namespace ctxfs {

std::unique_ptr<const CacheNames> CacheNamesOf(const Directory& raw) {
  if (HubNames::Recognise(raw)) return std::make_unique<HubNames>();
  if (OllamaNames::Recognise(raw)) return std::make_unique<OllamaNames>();
  return nullptr;
}

std::vector<std::string_view> ComponentsOf(std::string_view path) {
  std::vector<std::string_view> components;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    components.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return components;
}

Result<std::vector<std::string>> NamesIn(const Directory& raw,
                                         const std::string& path,
                                         const Request& request) {
  std::vector<std::string> names;
  const std::optional<Directory::Item> found =
      CTXFS_TRY(raw.Find(path, request));
  if (!found || !found->directory) return names;
  const Directory::Item directory = CTXFS_TRY(raw.FindDirectory(path, request));
  CTXFS_TRY(raw.List(
      directory,
      [&names](const Directory::Name& name) {
        if (names.size() == limits::kDirectoryNames) {
          return Status(Error{Code::kLimit,
                              fmt::format("more than {} names in a directory",
                                          limits::kDirectoryNames)});
        }
        names.emplace_back(name.name);
        return Status();
      },
      request));
  return names;
}

bool AnyName(const Directory& raw, const std::string& path,
             const std::function<bool(const std::string& name)>& is,
             const Request& request) {
  constexpr unsigned kMaxTried = 1000;
  unsigned tried = 0;
  bool any = false;
  const Result<Directory::Item> directory = raw.FindDirectory(path, request);
  if (!directory) return false;
  (void)raw.List(
      *directory,
      [&](const Directory::Name& name) -> Status {
        any = is(std::string(name.name));
        if (!any && ++tried < kMaxTried) return {};
        return Error{Code::kInterrupted, "enough names"};
      },
      request);
  return any;
}

Maybe<std::string> SmallFile(const Directory& raw, const std::string& path,
                             uint64_t most, const Request& request) {
  const std::optional<Directory::Item> found =
      CTXFS_TRY(raw.Find(path, request));
  if (!found || found->directory) return std::optional<std::string>();
  if (found->identity.size > most) {
    return Error{Code::kLimit,
                 fmt::format("{} has {} bytes, at most {}", Quote(path),
                             found->identity.size, most)};
  }
  const SourcePtr source = CTXFS_TRY(raw.Open(*found, {}, request));
  const Buffer bytes = CTXFS_TRY(
      ReadBuffer(*source, 0, std::min(source->size(), most), "file", request));
  return std::optional(std::string(AsText(bytes.span())));
}

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/mirror/store_directory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/text/text.h"
#include "core/tree/free_names.h"
#include "core/tree/safe_name.h"
#include "core/vfs/log.h"

namespace ctxfs {
namespace {

// Directories whose shown names are cached, for look-ups of many files in each.
constexpr size_t kMaxShown = 256;

Error NoDirectory() {
  return {Code::kIo, "there is no such directory", kNoOffset, ENOENT};
}

}  // namespace

/// The shown names of a listing. Most equal the stored names; only the others
/// take memory.
class StoreDirectory::Shown {
 public:
  explicit Shown(StoreListingPtr listing) : listing_(std::move(listing)) {
    const std::vector<StoreName>& names = listing_->names;
    for (size_t i = 0; i < names.size(); ++i) {
      std::string safe = SafeComponent(names[i].name);
      if (safe != names[i].name) Rename(i, std::move(safe));
    }
    FreeNames free;
    for (size_t i = 0; i + 1 < names.size(); ++i) {
      if (names[i].name != names[i + 1].name) continue;
      const std::string safe(NameAt(i));
      Rename(i, free.Find({.name = safe, .mark = "~file"},
                          [this](const std::string& one) {
                            return Find(one) != nullptr;
                          }));
    }
  }

  const StoreListing& listing() const { return *listing_; }

  /// Returns the entry that is shown as `name`; null if there is none.
  const StoreName* Find(const std::string& name) const {
    const auto renamed = by_name_.find(name);
    if (renamed != by_name_.end()) return &listing_->names[renamed->second];
    for (const bool directory : {true, false}) {
      const StoreName* const found = listing_->Find(name, directory);
      if (found != nullptr && !renamed_.contains(IndexOf(found))) return found;
    }
    return nullptr;
  }

  std::string_view NameAt(size_t index) const {
    const auto renamed = renamed_.find(index);
    return renamed == renamed_.end() ? listing_->names[index].name
                                     : renamed->second;
  }

 private:
  size_t IndexOf(const StoreName* name) const {
    return static_cast<size_t>(name - listing_->names.data());
  }

  void Rename(size_t index, std::string name) {
    // If an object and a directory get the same name, the directory keeps it,
    // because it comes after the object.
    by_name_[name] = index;
    renamed_[index] = std::move(name);
  }

  const StoreListingPtr listing_;
  std::unordered_map<size_t, std::string> renamed_;
  std::unordered_map<std::string, size_t> by_name_;
};

StoreDirectory::StoreDirectory(std::string url)
    : url_(url.ends_with('/') ? std::move(url) : url + "/") {}

FileIdentity StoreDirectory::identity() const {
  return IdentityOfDirectory(url_);
}

Result<StoreDirectory::ShownPtr> StoreDirectory::ShownIn(
    const std::string& url, const Request& request) const {
  UrlStore* const store = TheUrlStore();
  if (store == nullptr) {
    return Error{Code::kUnsupported, "URLs cannot be opened here"};
  }
  StoreListingPtr listing = CTXFS_TRY(store->List(url, request));
  {
    const MutexLock lock(mutex_);
    const auto found = shown_.find(url);
    if (found != shown_.end() && &found->second->listing() == listing.get()) {
      return found->second;
    }
  }
  if (listing->left_out > 0) {
    Log(LogLevel::kWarning,
        fmt::format("{}: names left out because no URL can have them: {}, the "
                    "first is '{}'",
                    Quote(url), listing->left_out, listing->first_left_out));
  }
  auto shown = std::make_shared<const Shown>(std::move(listing));
  const MutexLock lock(mutex_);
  if (shown_.size() >= kMaxShown) shown_.clear();
  shown_[url] = shown;
  return ShownPtr(std::move(shown));
}

Maybe<StoreDirectory::Place> StoreDirectory::Walk(
    std::string_view path, const Request& request) const {
  std::string url = url_;
  while (true) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string component(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
    ShownPtr shown = CTXFS_TRY(ShownIn(url, request));
    const StoreName* const found = shown->Find(component);
    if (found == nullptr) return std::optional<Place>();
    if (path.empty()) {
      return std::optional(Place{std::move(url), std::move(shown), found});
    }
    if (!found->directory) return std::optional<Place>();
    url = TheUrlStore()->UrlOf(url, *found);
  }
}

Maybe<std::string> StoreDirectory::UrlOf(const std::string& path,
                                         const Request& request) const {
  if (path.empty()) return std::optional(url_);
  const std::optional<Place> place = CTXFS_TRY(Walk(path, request));
  if (!place || !place->name->directory) return std::optional<std::string>();
  return std::optional(TheUrlStore()->UrlOf(place->directory, *place->name));
}

Directory::Item StoreDirectory::ItemOf(const Place& place,
                                       const std::string& path) {
  Item item;
  item.directory = place.name->directory;
  item.identity = IdentityOf(TheUrlStore()->UrlOf(place.directory, *place.name),
                             *place.name);
  item.path = path;
  return item;
}

Maybe<Directory::Item> StoreDirectory::Find(const std::string& path,
                                            const Request& request) const {
  const std::optional<Place> place = CTXFS_TRY(Walk(path, request));
  if (!place) return std::optional<Item>();
  return std::optional(ItemOf(*place, path));
}

Result<Directory::Item> StoreDirectory::FindDirectory(
    const std::string& path, const Request& request) const {
  const std::optional<std::string> url = CTXFS_TRY(UrlOf(path, request));
  if (!url) return NoDirectory();
  Item item;
  item.directory = true;
  item.identity = IdentityOfDirectory(*url);
  item.path = path;
  return item;
}

Status StoreDirectory::List(const Item& directory, const Visit& visit,
                            const Request& request) const {
  const std::optional<std::string> url =
      CTXFS_TRY(UrlOf(directory.path, request));
  if (!url) return NoDirectory();
  const ShownPtr shown = CTXFS_TRY(ShownIn(*url, request));
  const std::string above = directory.path.empty() ? "" : directory.path + "/";
  const std::vector<StoreName>& names = shown->listing().names;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string_view name = shown->NameAt(i);
    CTXFS_TRY(visit(
        {name,
         names[i].directory ? Name::Type::kDirectory : Name::Type::kFarFile,
         ItemOf({*url, shown, &names[i]}, above + std::string(name))}));
  }
  return {};
}

Result<SourcePtr> StoreDirectory::Open(const Item& item,
                                       const SourceOptions& /*options*/,
                                       const Request& request) const {
  const std::optional<Place> place = CTXFS_TRY(Walk(item.path, request));
  if (!place || ItemOf(*place, item.path).identity != item.identity) {
    return Error{Code::kStale, "is another object by now"};
  }
  return TheUrlStore()->OpenListed(place->directory, *place->name, request);
}

}  // namespace ctxfs

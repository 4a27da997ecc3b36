// SPDX-License-Identifier: Apache-2.0
#include "core/io/urls/url_store.h"

#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <tuple>

namespace ctxfs {
namespace {

std::atomic<UrlStore*> g_store = nullptr;

}  // namespace

const StoreName* StoreListing::Find(std::string_view name,
                                    bool directory) const {
  const auto key = std::tuple(name, directory);
  const auto found =
      std::ranges::lower_bound(names, key, {}, [](const StoreName& one) {
        return std::tuple(std::string_view(one.name), one.directory);
      });
  if (found == names.end() || found->name != name ||
      found->directory != directory) {
    return nullptr;
  }
  return &*found;
}

void SetUrlStore(UrlStore* store) { g_store = store; }

UrlStore* TheUrlStore() { return g_store; }

FileIdentity IdentityOf(const std::string& url, const StoreName& name) {
  // No file system has this device number.
  constexpr uint64_t kDevice = UINT64_MAX;
  constexpr int64_t kSecond = 1'000'000'000;
  // A new version of an object is another file.
  const std::string text = url + '\0' + name.version;
  FileIdentity identity;
  identity.device = kDevice;
  identity.inode = XXH3_64bits(text.data(), text.size());
  if (name.directory) return identity;
  identity.size = name.size;
  identity.mtime = {name.modified_ns / kSecond, name.modified_ns % kSecond};
  return identity;
}

FileIdentity IdentityOfDirectory(const std::string& url) {
  StoreName name;
  name.directory = true;
  return IdentityOf(url, name);
}

}  // namespace ctxfs

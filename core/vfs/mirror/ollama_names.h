// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/io/identity.h"
#include "core/vfs/mirror/cache_names.h"

namespace ctxfs {

/// The models of ollama: [[REGISTRY/]NAMESPACE/]MODEL:TAG/FILE for the layers
/// in manifests/REGISTRY/NAMESPACE/MODEL/TAG, whose bytes are in
/// blobs/sha256-HEX. Ollama's own registry and library are omitted from names,
/// as in ollama's commands.
class OllamaNames final : public CacheNames {
 public:
  /// Whether manifests and blobs of ollama are at the root of `raw`.
  static bool Recognise(const Directory& raw);

  Result<Place> Find(const Directory& raw, const std::string& path,
                     const Request& request) const override;
  Status List(const Directory& raw, const std::string& path, const Visit& visit,
              const Request& request) const override;
  bool Hides(std::string_view name) const override;
  std::optional<std::string> WatchedFor(const std::string& path) const override;
  std::string ChangedName(const std::string& path,
                          const std::string& name) const override;

 private:
  /// The files of a model: each name, and the path of its bytes.
  using Files = std::vector<std::pair<std::string, std::string>>;
  using FilesPtr = std::shared_ptr<const Files>;

  struct Kept {
    FileIdentity identity;
    FilesPtr files;
  };

  /// The files of the manifest at `path` of `raw`; null if there is none.
  Result<FilesPtr> FilesOf(const Directory& raw, const std::string& path,
                           const Request& request) const;

  mutable Mutex mutex_;
  mutable std::map<std::string, Kept> kept_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs

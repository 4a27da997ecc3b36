// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/vfs/mirror/cache_names.h"

namespace ctxfs {

/// The cache of huggingface_hub: ORG/NAME/REVISION/FILE for the file
/// models--ORG--NAME/snapshots/REVISION/FILE, and a symbolic link ORG/NAME/REF
/// for each file in refs/. Data sets, spaces and kernels are in datasets/,
/// spaces/ and kernels/. The store blobs/, which repositories share, has no
/// names.
class HubNames final : public CacheNames {
 public:
  /// Whether a repository of the cache is at the root of `raw`.
  static bool Recognise(const Directory& raw);

  Result<Place> Find(const Directory& raw, const std::string& path,
                     const Request& request) const override;
  Status List(const Directory& raw, const std::string& path, const Visit& visit,
              const Request& request) const override;
  bool Hides(std::string_view name) const override;
  std::optional<std::string> WatchedFor(const std::string& path) const override;
  std::string ChangedName(const std::string& path,
                          const std::string& name) const override;
};

/// "ORG/NAME", or "datasets/ORG/NAME", of the folder "models--ORG--NAME" of the
/// cache; empty if `folder` is no repository.
std::string RepositoryOf(std::string_view folder);

}  // namespace ctxfs

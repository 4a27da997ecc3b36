// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/vfs/mirror/directory.h"

namespace ctxfs {

/// The names that the cache of another program has for its files, where the
/// files themselves have digests for names (docs/caches.md). A path of these
/// names stands for one of the cache's own directory, `raw`. Safe for any
/// number of threads.
class CacheNames {
 public:
  /// The file that a path stands for.
  struct Place {
    enum class Kind : uint8_t {
      kNothing,    // the cache has no such name
      kRaw,        // `text` is the path in `raw`; nothing need be there
      kDirectory,  // of names that the cache has
      kLink,       // a symbolic link, `text` is its target
    };
    Kind kind = Kind::kNothing;
    std::string text = {};
  };
  using Visit =
      std::function<Status(std::string_view name, const Place& place)>;

  CacheNames() = default;
  virtual ~CacheNames() = default;
  CacheNames(const CacheNames&) = delete;
  CacheNames& operator=(const CacheNames&) = delete;

  /// Returns the place of a path that is not empty.
  virtual Result<Place> Find(const Directory& raw, const std::string& path,
                             const Request& request) const = 0;

  /// Calls `visit` with each name in a directory of this kind; the root, too,
  /// whose path is empty. Names may repeat.
  virtual Status List(const Directory& raw, const std::string& path,
                      const Visit& visit, const Request& request) const = 0;

  /// Whether the name at the root of `raw` is left out of listings because its
  /// files have names here.
  virtual bool Hides(std::string_view name) const = 0;

  /// The directory of `raw` whose changes are those of the directory `path`;
  /// nullopt if there is no single one.
  virtual std::optional<std::string> WatchedFor(
      const std::string& path) const = 0;

  /// The name in the directory `path` that changes with `name` in the watched
  /// directory; empty for none.
  virtual std::string ChangedName(const std::string& path,
                                  const std::string& name) const = 0;
};

/// The names of the cache that `raw` is: of huggingface_hub or of ollama; null
/// if it is neither.
std::unique_ptr<const CacheNames> CacheNamesOf(const Directory& raw);

/// The components of a path.
std::vector<std::string_view> ComponentsOf(std::string_view path);

/// The names in the directory `path` of `raw`; none if there is no such
/// directory. Fails with kLimit for more than limits::kDirectoryNames.
Result<std::vector<std::string>> NamesIn(const Directory& raw,
                                         const std::string& path,
                                         const Request& request);

/// Whether one of the first names in the directory `path` of `raw` is what `is`
/// looks for. Many names that are not are no cache, and take long to list.
bool AnyName(const Directory& raw, const std::string& path,
             const std::function<bool(const std::string& name)>& is,
             const Request& request);

/// All of the small file at `path` of `raw`; nullopt if nothing is there. Fails
/// with kLimit if it has more than `most` bytes.
Maybe<std::string> SmallFile(const Directory& raw, const std::string& path,
                             uint64_t most, const Request& request);

}  // namespace ctxfs

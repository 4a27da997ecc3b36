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

/// Readable names for the files of another program's cache, in which the files
/// themselves are named by digests (docs/caches.md). A path of these names maps
/// to a path of the cache's own directory, `raw`. Safe for any number of
/// threads.
class CacheNames {
 public:
  /// The file that a path maps to.
  struct Place {
    enum class Kind : uint8_t {
      kNothing,    // the cache has no such name
      kRaw,        // `text` is the path in `raw`, which may not exist
      kDirectory,  // of these names
      kLink,       // a symbolic link to `text`
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

  /// Returns the place of `path`, which must not be empty.
  virtual Result<Place> Find(const Directory& raw, const std::string& path,
                             const Request& request) const = 0;

  /// Calls `visit` with each name in the directory `path`: the root if `path`
  /// is empty, else a kDirectory. Names may repeat.
  virtual Status List(const Directory& raw, const std::string& path,
                      const Visit& visit, const Request& request) const = 0;

  /// Whether listings leave out `name` at the root of `raw`, because its files
  /// have readable names.
  virtual bool Hides(std::string_view name) const = 0;

  /// The directory of `raw` to watch for changes of the directory `path`;
  /// nullopt if there is no single one.
  virtual std::optional<std::string> WatchedFor(
      const std::string& path) const = 0;

  /// The name in the directory `path` that a change of `name` in the watched
  /// directory affects; empty for none.
  virtual std::string ChangedName(const std::string& path,
                                  const std::string& name) const = 0;
};

/// The names for the cache `raw`, of huggingface_hub or of ollama; null if it
/// is neither.
std::unique_ptr<const CacheNames> CacheNamesOf(const Directory& raw);

std::vector<std::string_view> ComponentsOf(std::string_view path);

/// The names in the directory `path` of `raw`; none if there is no such
/// directory. Fails with kLimit for more than limits::kDirectoryNames.
Result<std::vector<std::string>> NamesIn(const Directory& raw,
                                         const std::string& path,
                                         const Request& request);

/// Whether `is` accepts one of the first names in the directory `path` of
/// `raw`. Only the first are tried: a directory with many other names is no
/// cache, and takes long to list.
bool AnyName(const Directory& raw, const std::string& path,
             const std::function<bool(const std::string& name)>& is,
             const Request& request);

/// All bytes of the small file at `path` of `raw`; nullopt if it does not
/// exist. Fails with kLimit if it has more than `most` bytes.
Maybe<std::string> SmallFile(const Directory& raw, const std::string& path,
                             uint64_t most, const Request& request);

}  // namespace ctxfs

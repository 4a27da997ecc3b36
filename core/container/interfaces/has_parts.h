// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/content/read_context.h"
#include "core/io/identity.h"
#include "core/io/source.h"

namespace ctxfs {

/// A container that shows entries of other files as its own, such as a model of
/// several shards. A separate interface, because few formats have parts.
class HasParts {
 public:
  virtual ~HasParts() = default;

  /// Returns the paths of the other files, relative to the container's folder.
  /// Omits files that cannot be read.
  virtual std::vector<std::string> PartsBeside(
      const ReadContext& context) const = 0;

  /// Whether the container shows all that is in its parts. If not, it shows
  /// only their arrays for which ShowsArray is true.
  virtual bool ShowsWholeParts() const { return false; }
  virtual bool ShowsArray(std::string_view /*name*/) const { return true; }

  /// The file that has the bytes of an entry. Null: the container's own file,
  /// or several.
  virtual const Source* FileOf(uint32_t /*entry*/) const { return nullptr; }

  /// Files that Container::StoredSize counts, besides those of FileOf.
  struct PartFile {
    FileIdentity identity;
    uint64_t stored_size;
  };
  virtual std::vector<PartFile> OtherFiles() const { return {}; }
};

}  // namespace ctxfs

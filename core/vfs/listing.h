// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/vfs/attributes.h"

namespace ctxfs {

/// Which of the directories that show no primary files are in the listing of
/// the directory that they are in (docs/tree.md, section 2). Look-ups find all.
enum class ListMode : uint8_t {
  kPrimary,  // none
  kViews,    // views/
  kAll,      // .ctxfs/ as well, and NAME~dir in mirrored directories
};

/// A directory as one who has opened it sees it. Names are numbered from 0 and
/// keep their numbers until the next Rewind.
class Listing {
 public:
  struct Name {
    Inode inode = 0;
    std::string name;
    bool directory = false;
    /// False if the file could not be examined; `directory` is then unset.
    bool type_known = true;
    /// Set if they need no large read and the kernel may cache them.
    std::optional<Attributes> attributes = std::nullopt;
    bool link = false;        // a symbolic one
    bool has_others = false;  // names with the same inode: hard links
  };

  Listing() = default;
  virtual ~Listing() = default;
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;

  /// To be called before the first At, and when the reader starts over.
  virtual Status Rewind(const ReadContext& /*context*/) { return {}; }

  virtual uint64_t count() const = 0;

  /// Returns nothing for a name that turns out to have no file. `attributes`:
  /// whether to fill in Name::attributes.
  virtual std::optional<Name> At(uint64_t index, bool attributes,
                                 const ReadContext& context) const = 0;

  /// Whether a name is in the directory. False, too, if finding out would take
  /// long.
  virtual bool Has(std::string_view /*name*/,
                   const ReadContext& /*context*/) const {
    return false;
  }

  /// Whether Rewind never changes the names.
  virtual bool immutable() const { return true; }
};

}  // namespace ctxfs

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

/// Which special directories (without primary files) a listing includes
/// (docs/tree.md, section 2). Look-ups find all of them.
enum class ListMode : uint8_t {
  kPrimary,  // none
  kViews,    // views/
  kAll,      // .ctxfs/ as well, and NAME~dir in mirrored directories
};

/// The names of an open directory. Names are numbered from 0 and keep their
/// numbers until the next Rewind.
class Listing {
 public:
  struct Name {
    Inode inode = 0;
    std::string name;
    bool directory = false;
    /// False if the file was not examined, because that would take long or
    /// failed; `directory` is then unset.
    bool type_known = true;
    /// Set if the attributes are cheap to find and the kernel may cache them.
    std::optional<Attributes> attributes = std::nullopt;
    bool link = false;        // a symbolic one
    bool has_others = false;  // other names with this inode: hard links
  };

  Listing() = default;
  virtual ~Listing() = default;
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;

  /// Must be called before the first At, and when the reader starts over.
  virtual Status Rewind(const ReadContext& /*context*/) { return {}; }

  virtual uint64_t count() const = 0;

  /// Returns nothing if the name must not be listed, for instance because its
  /// file turns out not to exist. `attributes`: whether to fill in
  /// Name::attributes.
  virtual std::optional<Name> At(uint64_t index, bool attributes,
                                 const ReadContext& context) const = 0;

  /// Whether a name is in the directory; false if finding out takes long.
  virtual bool Has(std::string_view /*name*/,
                   const ReadContext& /*context*/) const {
    return false;
  }

  /// Whether Rewind never changes the names.
  virtual bool immutable() const { return true; }
};

}  // namespace ctxfs

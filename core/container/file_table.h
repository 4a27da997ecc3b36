// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "core/container/entry.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/io/identity.h"

namespace ctxfs {

/// The most that answering a question about a file may read.
enum class Cost : uint8_t {
  kNone,       // reads nothing
  kSmallRead,  // reads at most a few KiB, decodes nothing large
  kDecode,     // may read or decode the whole file
};

/// Whether a file can be opened, as far as the index tells.
enum class Access : uint8_t { kOk, kLocked, kUnreadable };

/// Which directory of a container shows a table's files.
enum class Role : uint8_t {
  kEntries,     // the root; names of entries take precedence over all others
  kRawEntries,  // .ctxfs/raw/; entries that other files show better
  kPrimary,     // the root
  kViews,       // views/
  kRaw,         // .ctxfs/raw/; stored bytes that are not decoded
  kMetadata,    // .ctxfs/
};

/// Whether the files of a table of this role are the container's entries.
constexpr bool HoldsEntries(Role role) {
  return role == Role::kEntries || role == Role::kRawEntries;
}

/// Whether files of this role are primary ones, which show every stored byte
/// once (docs/tree.md, section 2).
constexpr bool IsPrimary(Role role) {
  return role == Role::kEntries || role == Role::kPrimary;
}

/// Whether files of this role hold bytes of the container, decoded or as
/// stored, and are not made from its index or computed for views.
constexpr bool IsStored(Role role) {
  return role != Role::kViews && role != Role::kMetadata;
}

/// Names of numbered files: at least `digits` decimal digits, then `suffix`.
struct Numbering {
  unsigned digits = 6;
  std::string suffix = {};
};

/// Where and how a container shows a table's files.
struct Placement {
  Role role = Role::kPrimary;
  /// The directory that paths are relative to, below that of the role; empty
  /// for the role's directory itself. Made safe like an entry's name.
  std::string directory = {};
  /// Set if all names are numbers. Such a table costs one node, whatever its
  /// size: its Path is never called.
  std::optional<Numbering> numbering = std::nullopt;
  /// For entries: their names were chosen by the format, so files of its other
  /// tables may be in the same directories.
  bool shared = false;
  /// A file that is a container itself is also shown as a directory.
  bool may_nest = false;
  /// For entries: of several with one name the last keeps it, not the first.
  /// Archives need this, because unpacking one leaves the last.
  bool last_keeps_name = false;
  /// For entries: names with "//", "./" or a leading '/' are shown at their
  /// plain paths where these are free, as archives are unpacked.
  bool plain_paths = false;
  /// For entries: some may be directories, symbolic links or hard links. If not
  /// set, the tree takes all for files.
  bool has_kinds = false;
  /// Cost of Exists; kNone if every file exists.
  Cost exists_cost = Cost::kNone;
  /// Whether the bytes may differ from one Open to the next.
  bool live = false;
};

enum class FileKind : uint8_t {
  kFile,
  kDirectory,  // Path is that of a directory, which is shown even if empty
  kLink,       // a symbolic link
};

/// What the index says of a file. Finding it reads nothing.
struct FileFacts {
  /// 0 for a file that cannot be read; nullopt if finding it would read
  /// something.
  std::optional<uint64_t> size = std::nullopt;
  /// Why Open fails, if the index shows that it does; kLocked for a missing
  /// key.
  std::optional<Error> fault = std::nullopt;
  /// Cost of Size if `size` is not known. Listings call it only for
  /// kSmallRead.
  Cost size_cost = Cost::kDecode;
  // Of entries whose table has Placement::has_kinds.
  FileKind kind = FileKind::kFile;
  /// The target of a link, as it is stored; empty for other files. Links stay
  /// in the container (LinkPlan), and their content is their target.
  std::string_view target = {};
  /// The file that a hard link is another name of: it has the same bytes and is
  /// no hard link itself.
  std::optional<uint32_t> original = std::nullopt;
};

/// What an archive says of the file or directory that it made an entry of.
struct StoredAttributes {
  std::optional<FileTime> mtime = std::nullopt;
  std::optional<uint16_t> mode = std::nullopt;  // permission bits: 0777
};

/// A numbered set of files: the entries of an index, documents that describe
/// them, files derived from entries, or files computed from their number. A
/// file costs no object of its own. Immutable and safe for any number of
/// threads; keeps whatever it reads from alive. MakeTable (file_set.h) makes
/// one of functions.
class FileTable {
 public:
  explicit FileTable(Placement placement) : placement_(std::move(placement)) {}
  virtual ~FileTable() = default;
  FileTable(const FileTable&) = delete;
  FileTable& operator=(const FileTable&) = delete;

  const Placement& placement() const { return placement_; }

  /// Files are numbered from 0 to count() - 1; below UINT32_MAX.
  virtual uint32_t count() const = 0;

  /// The path in the placement's directory, any bytes; nullopt if this number
  /// has no file. Called once per file, when the tree is built; reads nothing.
  /// The result may point into `scratch` and is valid until its next use.
  virtual std::optional<std::string_view> Path(uint32_t file,
                                               std::string& scratch) const = 0;

  /// Fails with Fault(file) if there is one.
  virtual Result<Content> Open(uint32_t file,
                               const ReadContext& context) const = 0;

  virtual FileFacts Facts(uint32_t /*file*/) const { return {}; }

  /// The attributes that an archive states for an entry, directories and links
  /// included. All names of a file (FileFacts::original) share them. Reads
  /// nothing.
  virtual StoredAttributes StoredAttributesOf(uint32_t /*file*/) const {
    return {};
  }

  /// The size of the file; 0 if Open fails for good. Opens the file by default,
  /// if Facts does not know the size.
  virtual Result<uint64_t> Size(uint32_t file,
                                const ReadContext& context) const;

  /// Whether the file exists. Reads at most `most`, and returns true if that is
  /// not enough to know. By default a file exists unless Open fails for good.
  virtual Result<bool> Exists(uint32_t file, Cost most,
                              const ReadContext& context) const;

  /// Everything that the index says about the file, for extended attributes and
  /// index.json. The result is always the same, except for `verified`. nullopt
  /// for a file that the index does not describe.
  virtual std::optional<EntryInfo> Describe(
      uint32_t /*file*/, const ReadContext& /*context*/) const {
    return std::nullopt;
  }

  // Parts of Facts.

  std::optional<uint64_t> KnownSize(uint32_t file) const {
    return Facts(file).size;
  }
  std::optional<Error> Fault(uint32_t file) const { return Facts(file).fault; }
  /// Cost of Size.
  Cost size_cost(uint32_t file) const;
  Access access(uint32_t file) const;
  bool live() const { return placement_.live; }

 private:
  const Placement placement_;
};

// What FileTable::Exists and Size return, given the result of examining a file.

/// Whether it exists; `otherwise` if examining it failed for good.
template <typename T>
Result<bool> ExistsIf(const Result<T>& found, bool otherwise = false) {
  if (!found && !found.error().Permanent()) return found.error();
  return found.has_value() || otherwise;
}

/// Its size, a member of T; 0 if examining it failed for good.
template <typename T, typename Member>
Result<uint64_t> SizeIn(const Result<T>& found, Member size) {
  if (!found && !found.error().Permanent()) return found.error();
  return found ? std::invoke(size, *found) : 0;
}

}  // namespace ctxfs

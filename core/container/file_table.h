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

/// Upper bound of the reading that a query about a file may cause.
enum class Cost : uint8_t {
  kNone,       // reads nothing
  kSmallRead,  // reads at most a few KiB, decodes nothing large
  kDecode,     // may read or decode the whole file
};

/// Whether a file can be opened, according to the index.
enum class Access : uint8_t { kOk, kLocked, kUnreadable };

/// The directory of a container that shows a table's files.
enum class Role : uint8_t {
  kEntries,     // the root; names of entries take precedence over all others
  kRawEntries,  // .ctxfs/raw/; entries that other files show better
  kPrimary,     // the root
  kViews,       // views/
  kRaw,         // .ctxfs/raw/; stored bytes that are not decoded
  kMetadata,    // .ctxfs/
};

/// Whether files of this role are the container's entries.
constexpr bool HoldsEntries(Role role) {
  return role == Role::kEntries || role == Role::kRawEntries;
}

/// Whether files of this role are primary ones, which show every stored byte
/// once (docs/tree.md, section 2).
constexpr bool IsPrimary(Role role) {
  return role == Role::kEntries || role == Role::kPrimary;
}

/// Whether files of this role contain bytes of the container, decoded or as
/// stored, rather than data generated from its index or for views.
constexpr bool IsStored(Role role) {
  return role != Role::kViews && role != Role::kMetadata;
}

class Container;

/// Names of numbered files: at least `digits` decimal digits, then `suffix`.
struct Numbering {
  unsigned digits = 6;
  std::string suffix = {};
  /// If set, finds the suffix when someone first looks into the directory,
  /// because it depends on the bytes of the files. It then stays the same.
  /// Fails only with transient errors.
  std::function<Result<std::string>(const ReadContext&)> find_suffix = nullptr;
  /// For views: if set, the numbers are directories instead of files. Opens the
  /// container that is shown in one, at the first look inside. Fails only with
  /// transient errors.
  std::function<Result<std::shared_ptr<const Container>>(uint32_t,
                                                         const ReadContext&)>
      open_directory = nullptr;
  /// The sum of the sizes of all files; nullopt if the index does not have it.
  std::optional<uint64_t> bytes = std::nullopt;
};

/// Where and how a container shows a table's files.
struct Placement {
  Role role = Role::kPrimary;
  /// The base directory of paths, below that of the role; empty for the role's
  /// directory itself. Made safe like an entry's name.
  std::string directory = {};
  /// Set if all names are numbers. Such a table costs one node, whatever its
  /// size: its Path is never called. A listing streams the names, and calls
  /// Size only if its cost is small.
  std::optional<Numbering> numbering = std::nullopt;
  /// For entries: directories of entries may contain files of the container's
  /// other tables, too. If not set, the directory of such files gets a free
  /// name, such as NAME~2.
  bool shared = false;
  /// A file that is itself a container is also shown as a directory.
  bool may_nest = false;
  /// For entries: of several entries with one name, the last keeps the name
  /// instead of the first, because unpacking an archive also leaves the last.
  bool last_keeps_name = false;
  /// For entries: names with "//", "./" or a leading '/' are shown at their
  /// plain paths if these are free, as unpacking does.
  bool plain_paths = false;
  /// For entries: some may be directories, symbolic links or hard links. If not
  /// set, the tree treats all as files.
  bool has_kinds = false;
  /// Cost of Exists; kNone if every file exists.
  Cost exists_cost = Cost::kNone;
  /// Whether the bytes may differ between two calls of Open.
  bool live = false;
};

enum class FileKind : uint8_t {
  kFile,
  kDirectory,  // a directory, which is shown even if empty
  kLink,       // a symbolic link
};

/// The properties of a file that its container's index states. Collecting them
/// reads nothing.
struct FileFacts {
  /// 0 for an unreadable file; nullopt if finding the size would read.
  std::optional<uint64_t> size = std::nullopt;
  /// The error of Open, if the index suffices to predict it; kLocked for a
  /// missing key.
  std::optional<Error> fault = std::nullopt;
  /// Cost of Size if `size` is unknown. Listings call Size only for kSmallRead.
  Cost size_cost = Cost::kDecode;
  // For entries whose table has Placement::has_kinds.
  FileKind kind = FileKind::kFile;
  /// The stored target of a link; empty for other files. Links stay in the
  /// container (LinkPlan), and their content is their target.
  std::string_view target = {};
  /// For a hard link, the number of the file of which it is another name. That
  /// file has the same bytes and is no hard link.
  std::optional<uint32_t> original = std::nullopt;
};

/// The attributes of an entry that an archive stores.
struct StoredAttributes {
  std::optional<FileTime> mtime = std::nullopt;
  std::optional<uint16_t> mode = std::nullopt;  // permission bits: 0777
};

/// A numbered set of files: the entries of an index, documents that describe
/// them, files derived from entries, or files computed from their number. A
/// file needs no object of its own. Immutable and safe for any number of
/// threads; keeps its data sources alive. MakeTable (file_set.h) makes one from
/// functions.
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
  /// has no file. Reads nothing: the tree calls it for every file when it is
  /// built, and other readers of the table call it again. The result may point
  /// into `scratch` and is valid until its next use.
  virtual std::optional<std::string_view> Path(uint32_t file,
                                               std::string& scratch) const = 0;

  /// Returns the content of the file. Fails with Fault(file) if there is one.
  virtual Result<Content> Open(uint32_t file,
                               const ReadContext& context) const = 0;

  virtual FileFacts Facts(uint32_t /*file*/) const { return {}; }

  /// The attributes that an archive stores for an entry, including directories
  /// and links. All names of a file (FileFacts::original) share them. Reads
  /// nothing.
  virtual StoredAttributes StoredAttributesOf(uint32_t /*file*/) const {
    return {};
  }

  /// The size of the file; 0 if Open fails permanently. By default opens the
  /// file if Facts has no size.
  virtual Result<uint64_t> Size(uint32_t file,
                                const ReadContext& context) const;

  /// Whether the file exists. Spends at most the cost `most`, and returns true
  /// if that does not suffice to find out. By default, with
  /// Placement::exists_cost kNone, every file exists. Otherwise the default
  /// calls Open, whatever `most` is, and a file exists unless Open fails
  /// permanently.
  virtual Result<bool> Exists(uint32_t file, Cost most,
                              const ReadContext& context) const;

  /// The index's description of the file, for extended attributes and
  /// index.json. The result is constant except for `verified`. nullopt for a
  /// file that the index does not describe.
  virtual std::optional<EntryInfo> Describe(
      uint32_t /*file*/, const ReadContext& /*context*/) const {
    return std::nullopt;
  }

  // Members of the result of Facts.

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

// Results of FileTable::Exists and Size, derived from examining a file.

/// Whether the file exists; `otherwise` after a permanent error.
template <typename T>
Result<bool> ExistsIf(const Result<T>& found, bool otherwise = false) {
  if (!found && !found.error().Permanent()) return found.error();
  return found.has_value() || otherwise;
}

/// The file's size, a member of T; 0 after a permanent error.
template <typename T, typename Member>
Result<uint64_t> SizeIn(const Result<T>& found, Member size) {
  if (!found && !found.error().Permanent()) return found.error();
  return found ? std::invoke(size, *found) : 0;
}

}  // namespace ctxfs

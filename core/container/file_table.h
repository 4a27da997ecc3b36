// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "core/container/entry.h"
#include "core/content/content.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// What it takes to answer a question about a file.
enum class Cost : uint8_t {
  kNone,       // reads nothing
  kSmallRead,  // reads at most a few KiB, decodes nothing large
  kDecode,     // may read or decode the whole file
};

/// Whether a file can be opened, as far as the index tells.
enum class Access : uint8_t { kOk, kLocked, kUnreadable };

/// Which directory of a container shows a table's files.
enum class Role : uint8_t {
  kEntries,     // the root; an entry's name takes precedence over all others
  kRawEntries,  // .ctxfs/raw/; entries that other files show in a better form
  kPrimary,     // the root
  kViews,       // views/
  kRaw,         // .ctxfs/raw/; what is stored and not decoded
  kMetadata,    // .ctxfs/
};

/// Whether a table of this role is that of the container's entries.
constexpr bool HoldsEntries(Role role) {
  return role == Role::kEntries || role == Role::kRawEntries;
}

/// Whether files of this role are primary ones, which show every stored byte
/// once (docs/tree.md, section 2).
constexpr bool IsPrimary(Role role) {
  return role == Role::kEntries || role == Role::kPrimary;
}

/// Whether files of this role hold what the container stores, decoded or not.
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
  /// Of entries: the format chose their names, so that its other files may
  /// share their directories.
  bool shared = false;
  /// A file that is a container itself is also shown as a directory.
  bool may_nest = false;
  /// Of entries with one name the last keeps it, not the first: in an archive,
  /// where unpacking leaves the last.
  bool last_keeps_name = false;
};

/// A numbered set of files: the entries of an index, documents that describe
/// them, files derived from entries, or files computed from their number. A
/// file costs no object of its own. Immutable and safe for any number of
/// threads; keeps whatever it reads from alive.
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

  /// Of entries: whether Path is that of a directory, which has no content and
  /// is shown even if it is empty.
  virtual bool IsDirectory(uint32_t /*file*/) const { return false; }

  /// Fails with Fault(file) if there is one.
  virtual Result<Content> Open(uint32_t file,
                               const ReadContext& context) const = 0;

  /// Bytes of the file if telling them reads nothing; 0 for a file that is
  /// unreadable.
  virtual std::optional<uint64_t> KnownSize(uint32_t /*file*/) const {
    return std::nullopt;
  }

  /// Bytes of the file; 0 if Open fails for good. Opens the file by default.
  virtual Result<uint64_t> Size(uint32_t file,
                                const ReadContext& context) const;

  /// What Size takes. Listings call it up to kSmallRead.
  virtual Cost size_cost(uint32_t file) const {
    return KnownSize(file) ? Cost::kNone : Cost::kDecode;
  }

  /// Whether the file exists, if only reading tells. Spends at most `most`, and
  /// returns true if that does not suffice.
  virtual Result<bool> Exists(uint32_t /*file*/, Cost /*most*/,
                              const ReadContext& /*context*/) const {
    return true;
  }

  /// What Exists takes; kNone if every file exists.
  virtual Cost exists_cost() const { return Cost::kNone; }

  /// Everything that the index tells about the file, for extended attributes
  /// and index.json: the same at each call, but for `verified`. nullopt for a
  /// file of which nothing is known.
  virtual std::optional<EntryInfo> Describe(
      uint32_t /*file*/, const ReadContext& /*context*/) const {
    return std::nullopt;
  }

  /// Adds to `info`, the result of Describe, what reading the file has shown so
  /// far. For extended attributes alone.
  virtual void AddFindings(uint32_t /*file*/, EntryInfo& /*info*/) const {}

  /// Why Open fails, as far as the index tells; kLocked for a missing key.
  virtual std::optional<Error> Fault(uint32_t /*file*/) const {
    return std::nullopt;
  }

  /// Whether the bytes may differ from one Open to the next.
  virtual bool live() const { return false; }

  Access access(uint32_t file) const;

 private:
  const Placement placement_;
};

/// A table of no entries.
std::shared_ptr<const FileTable> EmptyTable();

/// The size of a file that has to be opened to be measured: 0 if opening it
/// failed for good.
Result<uint64_t> SizeOf(const Result<Content>& opened);

}  // namespace ctxfs

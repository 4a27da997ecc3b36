// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/container/entry.h"
#include "core/container/exports.h"
#include "core/container/file_table.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/io/source.h"

namespace ctxfs {

/// The effect of a warning on the result of a check.
enum class Severity : uint8_t {
  kNote,       // odd, but every byte is available
  kOfEntries,  // a count of faults that the entries report one by one
  kPartial,    // the container does not show a part of the file
  kDamage,     // a part of the container cannot be read
};

/// A defect or oddity that leaves the container usable.
struct Warning {
  std::string text;
  uint64_t offset = kNoOffset;  // byte of the container
  Severity severity = Severity::kNote;

  /// "byte 40: ...", or the text alone without an offset.
  std::string Text() const {
    return Error{Code::kCorrupt, text, offset}.Text();
  }
};

class Container;

/// A container inside or beside a container, shown as a directory and opened at
/// the first look inside.
struct ChildContainer {
  std::string path;  // made safe like an entry's name
  /// Opens the source of its bytes. Null if `open` is set.
  std::function<Result<std::shared_ptr<const Source>>(const ReadContext&)>
      open_source;
  /// kEntries for a member of an archive: it shares the directories of entries,
  /// and further members may be below it.
  Role role = Role::kPrimary;
  /// If set, opens the container itself, instead of open_source. Fails only
  /// with transient errors.
  std::function<Result<std::shared_ptr<const Container>>(const ReadContext&)>
      open = nullptr;
};

/// The paths at which a tree shows the entries of a container, after it has
/// made their names safe and numbered repeated ones.
class PathsInTree {
 public:
  virtual ~PathsInTree() = default;
  /// Returns the paths of entries [first, end); the path of an entry without a
  /// file is empty. Numbers from the count of entries on are those of
  /// Container::Children. Takes time in proportion to all names of the tree.
  virtual std::vector<std::string> Of(uint32_t first, uint32_t end) const = 0;
  /// Returns the path of the directory of numbered files that a table places at
  /// `directory` (Placement).
  virtual std::string OfNumbered(std::string_view directory) const = 0;
};

/// An opened container: its index, parsed once, as tables of files. Immutable
/// and safe for any number of threads. An entry costs the memory of its index
/// record; descriptions are made on demand.
class Container : public std::enable_shared_from_this<Container> {
 public:
  using Tables = std::vector<std::shared_ptr<const FileTable>>;

  /// `part`: whether it is only a directory of another container.
  explicit Container(std::shared_ptr<const Source> source, bool part = false)
      : source_(std::move(source)),
        stored_size_(source_->stored_size()),
        part_(part) {}
  virtual ~Container() = default;
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  const std::shared_ptr<const Source>& source() const { return source_; }

  /// Bytes of all files of the container. The work that a request may cause is
  /// limited to limits::kWorkBytes and a multiple of this size.
  uint64_t StoredSize() const { return stored_size_; }

  /// Whether it is a directory of another container, without a `.ctxfs/`.
  bool is_part() const { return part_; }

  /// The size in bytes that the index requires. Greater than the actual size
  /// only if the file was truncated.
  uint64_t NeededSize() const { return needed_size_; }
  /// The truncated part of the index, such as "the central directory";
  /// NeededSize() is then a lower bound. Empty if the index is complete.
  std::string_view LostPart() const { return lost_part_; }

  /// Returns the warnings from opening. Info() may also list later ones.
  const std::vector<Warning>& warnings() const { return warnings_; }

  /// The contents of info.json: format, version, counts, sizes, warnings,
  /// "packed" for a file that is compressed as a whole, and "incomplete" with
  /// the reason why JoinedView does not exist. If `context` is interrupted, the
  /// result is incomplete and must not be used.
  Json Info(const ReadContext& context) const;
  /// The format in info.json. Computes less than Info.
  std::string FormatName(const ReadContext& context) const;

  /// Whether the result of Info() may change when entries are read.
  virtual bool InfoMayChange() const { return false; }

  /// Whether a file may have an unreadable part beside a readable one in the
  /// same page, so that reading it may have to bypass the page cache.
  virtual bool PartsFailAlone() const { return false; }

  /// The tables of all files. The table of the entries (HoldsEntries), if there
  /// is one, is the first. The tree calls Files once. Files may read metadata,
  /// but no entry.
  virtual Tables Files() const = 0;

  /// Tables of files whose text contains the paths of entries. `paths` stays
  /// valid as long as the tables and their contents, but must not be used
  /// before the first Open.
  virtual Tables FilesWithPaths(const PathsInTree& /*paths*/) const {
    return {};
  }

  /// The containers inside or beside this one. The tree calls it once.
  virtual std::vector<ChildContainer> Children() const { return {}; }

  /// The parts for views. Reads nothing.
  virtual Exports Export() const { return {}; }

  /// The container's own metadata, parsed at each call; null if there is none,
  /// discarded (Json::is_discarded) if the read failed.
  virtual Json Metadata(const Request& /*request*/) const { return nullptr; }

  /// Adds to `info` the properties of its entry that `metadata`, the result of
  /// Metadata(), contains.
  virtual void Annotate(const Json& /*metadata*/, EntryInfo& /*info*/) const {}

  /// Returns the faults of the container itself that opening it has found:
  /// violations of its format that concern no single entry. They are its
  /// warnings of kDamage.
  std::vector<Error> Faults() const;

  /// Returns Faults(), and further faults that neither opening the container
  /// nor reading its files finds. May read everything; for a check, not for a
  /// mount.
  virtual std::vector<Error> Inspect(const ReadContext& /*context*/) const {
    return Faults();
  }

  /// The entries' table; an empty one if there is none.
  std::shared_ptr<const FileTable> Entries() const;

 protected:
  /// Adds the members of info.json that depend on the format, after size and
  /// warnings. They are Json, not text, because commands and the report read
  /// them.
  virtual void AddInfo(Json& info, const ReadContext& context) const = 0;

  /// A pointer to `part`, this container or a member of it, that keeps the
  /// container alive.
  template <typename T>
  std::shared_ptr<const T> Share(const T& part) const {
    return std::shared_ptr<const T>(shared_from_this(), &part);
  }

  // These functions take no lock. They must be called only while the container
  // is being opened.

  /// Adds the size of a further file of the container.
  void AddStoredSize(uint64_t bytes);
  /// Records that the index refers to bytes of the file up to `end`.
  void Need(uint64_t end) { needed_size_ = std::max(needed_size_, end); }
  /// Like Need. Also records that a part of the index, `lost`, was truncated.
  void NeedMore(uint64_t end, std::string_view lost) {
    Need(end);
    lost_part_ = lost;
  }
  void Warn(Warning warning) { warnings_.push_back(std::move(warning)); }
  void WarnAll(const std::vector<Warning>& warnings);
  /// The texts of all warnings, as in info.json.
  Json WarningTexts() const;

 private:
  const std::shared_ptr<const Source> source_;
  uint64_t stored_size_;
  uint64_t needed_size_ = 0;
  std::string_view lost_part_;  // a literal
  const bool part_;
  std::vector<Warning> warnings_;
};

}  // namespace ctxfs

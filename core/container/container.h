// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/json.h"
#include "core/base/result.h"
#include "core/container/derived.h"
#include "core/container/entry.h"
#include "core/container/numbered.h"
#include "core/container/table.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/io/source.h"

namespace ctxfs {

/// Something wrong or odd that does not stop a container from being used.
struct Warning {
  std::string text;
  uint64_t offset = kNoOffset;  // byte of the container
  bool damage = false;          // not odd alone: something cannot be had

  /// "byte 40: ..." or just the text.
  std::string Text() const {
    return Error{Code::kCorrupt, text, offset}.Text();
  }
};

/// Those that tell of damage.
std::vector<Error> DamageIn(const std::vector<Warning>& warnings);

/// A file that stands beside the entries: a JSON view, the bytes of a section,
/// the data of a tensor without its header. It never takes an entry's name.
struct OwnFile {
  std::string path;  // made safe like an entry's name
  std::function<Result<Content>(const ReadContext&)> open;
  bool live = false;  // its bytes may differ from one open to the next
  /// Its length where that is known without opening it, so that listings tell.
  std::optional<uint64_t> size = std::nullopt;
  /// What its extended attributes say, where there is something to say.
  std::function<EntryInfo()> describe = nullptr;
  /// Whether it is there at all, where that takes reading to know.
  std::function<Result<bool>(const ReadContext&)> exists = nullptr;
};

/// An array that a container holds: what views are made of.
struct ArrayInfo {
  std::string name;  // a path, as the array's file has it
  DType dtype = DType::kU8;
  std::vector<uint64_t> shape;  // outermost first; empty for a scalar
  /// The elements, little-endian and row-major: exactly as many bytes as dtype
  /// and shape make, which was checked against the bytes that are there.
  std::function<Result<Content>(const ReadContext&)> open;
  /// Whether `open` reads the container, so that it is put off.
  bool opening_reads = false;
};

/// What views make of a container's arrays.
struct ArraysUse {
  /// What a file of all of them is called, without its suffix: "model"; empty
  /// where there is to be none.
  std::string_view together;
  /// The directory that their names begin with and that says nothing of them.
  std::string_view directory = {};
  /// Whether rows are vectors to be searched.
  bool vectors = false;
};

class Container;

/// A container within or beside a container, shown as a directory at `path` and
/// opened when someone first looks inside.
struct SubContainer {
  std::string path;  // made safe like an entry's name
  /// Opens its bytes; null where `open` makes it without any.
  std::function<Result<std::shared_ptr<const Source>>(const ReadContext&)>
      open_source;
  /// Whether it is a member as entries are, so that it lies in the directories
  /// that they make. More of them may lie below it.
  bool among_entries = false;
  /// Opens it in place of open_source. Fails only if it may succeed later.
  std::function<Result<std::shared_ptr<const Container>>(const ReadContext&)>
      open = nullptr;
};

/// An opened container: a table of entries, parsed once and immutable. An
/// entry costs its index record; what is said of it is made when asked for.
/// Entries are numbered from 0 in index order.
class Container : public std::enable_shared_from_this<Container> {
 public:
  explicit Container(std::shared_ptr<const Source> source)
      : source_(std::move(source)) {}
  virtual ~Container() = default;
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  const std::shared_ptr<const Source>& source() const { return source_; }

  /// Bytes of all files that the container is made from: what a request to it
  /// may cost is a multiple of them.
  virtual uint64_t StoredSize() const { return source_->stored_size(); }

  /// The contents of info.json: format, version, counts, sizes, warnings. If
  /// `context` is interrupted, the result is incomplete and must not be used.
  virtual Json Info(const ReadContext& context) const = 0;

  /// Whether Info() may say more after entries have been read.
  virtual bool InfoMayChange() const { return false; }

  virtual uint32_t entry_count() const = 0;

  /// The name as stored; nothing when it cannot be read at all.
  virtual std::optional<std::string_view> EntryName(uint32_t entry) const = 0;

  /// Where the entry's file is, if not at its name. Made safe like a name.
  virtual std::optional<std::string> EntryPath(uint32_t /*entry*/) const {
    return std::nullopt;
  }

  /// Bytes of the entry's file, exact; 0 for an entry that cannot be read.
  virtual uint64_t EntrySize(uint32_t entry) const = 0;

  /// Depends on the container alone: index.json is made of it.
  virtual EntryInfo Describe(uint32_t entry) const = 0;

  /// Adds to `info` what reading the entry has shown so far.
  virtual void AddFindings(uint32_t /*entry*/, EntryInfo& /*info*/) const {}

  /// The structural fault that makes an entry unreadable, if there is one: in
  /// salvaged containers, and where a format lets entries be faulty.
  virtual std::optional<Error> EntryFault(uint32_t /*entry*/) const {
    return std::nullopt;
  }

  /// Whether the entry cannot be read for want of a key: kLocked from
  /// OpenEntry.
  virtual bool EntryLocked(uint32_t /*entry*/) const { return false; }

  /// The faults that neither opening the container nor reading its files finds:
  /// in what is said of several entries, or of other files. Reads all that it
  /// takes; for a check, not for a mount.
  virtual std::vector<Error> Inspect(const ReadContext& /*context*/) const {
    return {};
  }

  /// The container's own metadata, parsed anew at each call; null for none,
  /// discarded (Json::is_discarded) when the store failed.
  virtual Json Metadata() const { return nullptr; }

  /// Adds to `info` what `metadata`, as Metadata() gave it, says of the entry.
  virtual void Annotate(const Json& /*metadata*/, EntryInfo& /*info*/) const {}

  /// The entry's bytes. Fails for an entry that is known to be unreadable.
  virtual Result<Content> OpenEntry(uint32_t entry,
                                    const ReadContext& context) const = 0;

  /// The directory that all entries lie in, empty for the container's root.
  virtual std::string_view EntryDirectory() const { return {}; }

  /// Whether the entries' names are of the format's making too, so that other
  /// files of its making may lie in the same directories.
  virtual bool NamesEntriesItself() const { return false; }

  /// Whether entries that are containers themselves are shown as such too.
  virtual bool EntriesMayBeContainers() const { return false; }

  /// Files of the format's making besides the entries. Asked once.
  virtual std::vector<OwnFile> OwnFiles() const { return {}; }

  /// Tables of further files of the format's making. Asked once.
  virtual std::vector<std::shared_ptr<const DerivedFiles>> Derived() const {
    return {};
  }

  /// Directories that are containers themselves. Asked once.
  virtual std::vector<SubContainer> SubContainers() const { return {}; }

  /// Directories of files that are computed from their number. Asked once.
  virtual std::vector<NumberedFiles> Numbered() const { return {}; }

  /// Every array that the container holds, in the order of its files. May read
  /// a little of each, so it is called when someone looks into a view. If
  /// `context` is interrupted, the result is incomplete and must not be used.
  virtual std::vector<ArrayInfo> Arrays(const ReadContext& /*context*/) const {
    return {};
  }

  /// The container as a table, where it is one. Reads nothing.
  virtual std::optional<Table> RowTable() const { return std::nullopt; }

  /// What to make of them; nothing where there cannot be any. Reads nothing.
  virtual std::optional<ArraysUse> ArraysUsed() const { return std::nullopt; }

  /// Whether it has a `.ctxfs/`: not where it is but a directory of another.
  virtual bool HasAbout() const { return true; }

 private:
  std::shared_ptr<const Source> source_;
};

}  // namespace ctxfs

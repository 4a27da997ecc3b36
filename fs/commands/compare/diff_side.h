// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/container/exports.h"
#include "core/container/interfaces/has_hub_names.h"
#include "core/container/interfaces/has_parts.h"
#include "core/vfs/source_tree.h"
#include "fs/commands/arguments.h"

namespace ctxfs {

/// Translates a path in a ctxfs mount visible to this process to SOURCE//PATH,
/// because files of a mount have no dtypes. Returns other operands unchanged.
/// Must run before the process is confined.
std::string WithoutMount(const std::string& operand);

/// A file, link or document of one side of `ctxfs diff`.
struct DiffEntry {
  std::string path;  // below the operand; empty for the operand itself
  SourceTree::File file = {};
  /// The table of a document; null for a file of the tree.
  std::shared_ptr<const FileTable> table = nullptr;
  uint32_t number = 0;  // in `table`
  uint64_t size = 0;
  uint64_t stored_size = 0;
  std::string dtype = {};  // empty: not an array
  std::vector<uint64_t> shape = {};
  std::string codec = {};
  std::string checksum = {};         // "crc32c:9a71bb4c" or empty
  const ArrayInfo* array = nullptr;  // null: elements unknown
  bool converted = false;  // `array` is not as stored: a converter changed it
  std::optional<Error> error = std::nullopt;  // why it cannot be compared

  bool is_array() const { return !dtype.empty(); }
  /// Whether the file's bytes are stored unchanged.
  bool plain() const { return size == stored_size; }
  /// Whether `array` has the stored elements, not dequantised ones.
  bool has_stored_elements() const;
};

/// A container of a side that lacks some of its entries, and the first reason.
struct IncompleteContainer {
  std::string path;  // below the operand; empty for the operand itself
  Error error;
};

/// One operand of `ctxfs diff`, and its entries by key. Entries of both sides
/// with equal keys are compared. The key of an array is its own name, in any
/// format; the key of another file is its path.
class DiffSide {
 public:
  using Entries = std::map<std::string, DiffEntry, std::less<>>;

  explicit DiffSide(const Arguments& arguments);

  /// Opens the operand and lists its entries without decoding them. Must be
  /// called only once.
  Status Open(const std::string& operand);

  const Entries& entries() const { return entries_; }
  /// Renames the entry `name` to `to`. Changes nothing and returns false if an
  /// entry has the name `to` already.
  bool Rename(const std::string& name, const std::string& to);
  /// Changes the values of the array `how.name` as a converter has done.
  void Convert(const HubArray& how);

  const std::vector<IncompleteContainer>& incomplete() const {
    return incomplete_;
  }
  /// The operand's format, such as "gguf"; empty if it is no container.
  const std::string& format() const { return format_; }
  /// The container that the operand is or is in; null if there is none.
  std::shared_ptr<const Container> container() const { return container_; }
  ReadContext context() const { return tree_->context(); }
  Result<std::string> ReadLink(const DiffEntry& entry) const {
    return tree_->ReadLink(entry.file);
  }
  Result<Content> OpenFile(const DiffEntry& entry) const;

 private:
  /// A container, and the names of its arrays.
  struct Scope {
    std::string path;  // of its directory; empty for the source
    std::shared_ptr<const Container> container;
    std::string format;
    std::optional<Error> error;  // why it does not parse
    /// The container that shows the arrays of this one; null if there is none.
    const HasParts* whole = nullptr;
    bool checked = false;  // CheckPresent was called
    std::vector<ArrayInfo> arrays;
    std::map<std::string_view, const ArrayInfo*> by_name;

    const ArrayInfo* Find(std::string_view name) const;
  };

  /// The container at a directory; null if there is none.
  Result<Scope*> ScopeAt(const SourceTree::File& directory);
  Result<Scope*> ScopeAround(const std::string& path);
  /// Returns the directory of the contents of `file`, which may be `file`
  /// itself; nullopt if it is no container or does not parse.
  Result<std::optional<SourceTree::File>> Inside(const SourceTree::File& file);
  /// A file or directory in a plain directory, and the result of Inside.
  struct Child {
    SourceTree::File file;
    std::optional<SourceTree::File> inside;
  };

  Status Walk(const SourceTree::File& directory, Scope* scope);
  Status WalkPlain(const SourceTree::File& directory);
  Status WalkChild(const Child& child);
  /// Adds to parts_ the parts of the container at `inside`.
  Status NoteParts(const SourceTree::File& file,
                   const SourceTree::File& inside);
  Status NoteIncomplete(Scope& scope);
  void NoteLost(const std::string& path, const Error& error) {
    (void)AddLost(path, error);
  }
  Status AddFile(const SourceTree::File& file, const Scope* scope);
  void AddDocuments(const Scope& scope);
  /// Adds an entry that cannot be compared.
  Status AddLost(const std::string& path, const Error& error);
  Status Add(std::string key, DiffEntry entry);
  /// A path relative to the operand.
  std::string Below(const std::string& path) const;

  const Arguments& arguments_;
  const std::shared_ptr<SpillFile> spill_file_;
  std::unique_ptr<SourceTree> tree_;
  std::string top_;  // the operand's path in the tree
  std::string format_;
  std::shared_ptr<const Container> container_;
  std::map<std::string, std::unique_ptr<Scope>> scopes_;  // by Scope::path
  /// By the path of a file: the container of which it is a part.
  std::map<std::string, const HasParts*> parts_;
  std::set<std::string> wholes_;  // paths of these containers
  std::vector<IncompleteContainer> incomplete_;
  Entries entries_;
  std::deque<ArrayInfo> converted_;
  uint64_t entry_bytes_ = 0;  // memory of the entries
};

}  // namespace ctxfs

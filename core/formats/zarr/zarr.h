// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/container/container.h"
#include "core/container/facts/facts.h"
#include "core/container/format.h"
#include "core/formats/zarr/array_content.h"
#include "core/formats/zarr/chunks.h"
#include "core/formats/zarr/store.h"

namespace ctxfs::zarr {

/// A store of Zarr, version 2 or 3 (docs/formats/zarr.md). Its entries are its
/// arrays and groups. For most arrays, it stores only the data that listings
/// need.
class Store final : public Container, public SaysFacts {
 public:
  Store(SourcePtr source, const OpenOptions& options)
      : Container(std::move(source)), options_(options) {}

  /// Reads the metadata of all nodes. Must be called once, first.
  Status Load(const ReadContext& context);

  void AddInfo(Json& info, const ReadContext& context) const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;
  bool PartsFailAlone() const override { return true; }
  Tables Files() const override;
  Exports Export() const override;

 private:
  struct Entry {
    Node node;
    uint64_t size = 0;
    uint64_t weight = 0;  // ArrayPlan::Weight
    bool number = false;
    char separator = '/';  // ArrayPlan::separator, perhaps guessed
    uint64_t owner = NewOwner();
    /// For lines: the table of the file, which caches the sizes of its parts.
    std::shared_ptr<const FileTable> text = nullptr;
    std::shared_ptr<AtomicVerdict> verdict = nullptr;  // of readable arrays

    /// Null unless the entry is one of the first kKeptPlans. The metadata of
    /// other arrays is read again when it is needed.
    std::shared_ptr<const ArrayPlan> plan = nullptr;

    bool is_group() const { return !node.is_array && !node.fault; }
  };
  using PlanPtr = std::shared_ptr<const ArrayPlan>;

  // Steps of Load.
  Status LoadNodes(ReadNode root, const ReadContext& context);
  Status WalkNodes(ReadNode root, std::optional<Consolidated> copy,
                   const ReadContext& context);
  Status AddNode(const ReadNode& read, const ReadContext& context);
  Status SetArray(const ReadNode& read, Entry& entry,
                  const ReadContext& context);
  /// Guesses the separator of a v2 array whose metadata has none.
  Status GuessSeparator(const std::string& path, ArrayPlan& plan,
                        const ReadContext& context);
  /// If all arrays together exceed kUnjustifiedBytes, counts the bytes of
  /// chunks, and refuses the arrays that these do not justify.
  Status JustifySizes(const ReadContext& context);
  /// Refuses the first arrays in `largest`, until `found` bytes of chunks
  /// justify the others. `largest` must be sorted by decreasing weight.
  void RefuseSparse(const std::vector<uint32_t>& largest, uint64_t found);
  void WarnOfFaults();

  /// Returns the plan of an array. Fails with the fault that Load found, and
  /// with kStale if the metadata has changed since.
  Result<PlanPtr> PlanOfEntry(const Entry& entry, const Request& request) const;
  std::shared_ptr<const ChunkReader> ReaderOf(const Entry& entry,
                                              PlanPtr plan) const;
  Result<Content> Open(uint32_t number, const ReadContext& context) const;
  EntryInfo Describe(uint32_t number, const ReadContext& context) const;
  void DescribePlan(const ArrayPlan& plan, EntryInfo& info) const;
  FileFacts FactsOf(uint32_t number) const;
  /// The name of an entry: the path of its node. The root has an entry only if
  /// it is an array, with the name "array".
  std::string_view NameOf(uint32_t number) const;

  /// Returns a table with at most one file for each entry, and for a root that
  /// is a group. `path` must return the path of a node's file, or an empty text
  /// if the node has none.
  std::shared_ptr<const FileTable> NodeFiles(
      Role role, std::function<std::string(const Node&)> path,
      std::function<Result<Content>(const Node&, const ReadContext&)> open)
      const;
  std::shared_ptr<const FileTable> EntryFiles() const;
  std::shared_ptr<const FileTable> AttributeFiles() const;
  /// Returns a table of metadata files as stored. `path` is as in NodeFiles.
  std::shared_ptr<const FileTable> RawFiles(
      std::function<std::string(const Node&)> path) const;
  Result<std::string> AttributesOf(const Node& node,
                                   const Request& request) const;
  std::vector<ArrayInfo> Arrays(const ReadContext& context) const;
  Status CheckArrays(const ReadContext& context) const;

  const OpenOptions options_;
  std::vector<Entry> entries_;
  Node root_;
  uint64_t arrays_ = 0;
  bool mixed_ = false;    // a directory has metadata of both versions
  bool guessed_ = false;  // a separator was guessed
  std::shared_ptr<const ChunkFiles> files_ =
      std::make_shared<const ChunkFiles>(source());
};

}  // namespace ctxfs::zarr

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/lru_map.h"
#include "core/base/mutex.h"
#include "core/container/container.h"
#include "core/container/facts/facts.h"
#include "core/container/format.h"
#include "core/formats/zarr/array_content.h"
#include "core/formats/zarr/chunks.h"
#include "core/formats/zarr/store.h"

namespace ctxfs::zarr {

/// A store of Zarr, version 2 or 3 (docs/formats/zarr.md). Its entries are its
/// arrays and groups. Only what listings need is kept of an array; its metadata
/// is read again when the array is.
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
    bool lines = false;
    bool number = false;
    BlockOwners owners = {};
    /// For lines: the file, which keeps their sizes.
    std::shared_ptr<const FileTable> text = nullptr;
    std::shared_ptr<AtomicVerdict> verdict = nullptr;  // of readable arrays

    bool is_readable() const { return node.is_array && !node.fault; }
  };
  using PlanPtr = std::shared_ptr<const ArrayPlan>;

  // Steps of Load.
  Status LoadNodes(ReadNode root, const ReadContext& context);
  Status AddNode(ReadNode read, const ReadContext& context);
  Status SetArray(const ReadNode& read, Entry& entry,
                  const ReadContext& context);
  /// Replaces the separator of a v2 array that has none in its metadata.
  Status GuessSeparator(const std::string& path, ArrayPlan& plan,
                        const ReadContext& context);
  /// Refuses the largest arrays of which too little is there.
  Status JustifySizes(const ReadContext& context);
  void WarnOfFaults();

  /// Returns the plan of an array, which was readable when it was loaded.
  Result<PlanPtr> PlanOfEntry(uint32_t number,
                              const ReadContext& context) const;
  Result<std::shared_ptr<const ChunkReader>> ReaderOf(
      uint32_t number, const ReadContext& context) const;
  Result<Content> Open(uint32_t number, const ReadContext& context) const;
  EntryInfo Describe(uint32_t number, const ReadContext& context) const;
  void DescribePlan(const ArrayPlan& plan, EntryInfo& info) const;
  FileFacts FactsOf(uint32_t number) const;

  Result<std::string> AttributesOf(const Node& node,
                                   const Request& request) const;
  std::shared_ptr<const FileTable> EntryFiles() const;
  std::shared_ptr<const FileTable> AttributeFiles() const;
  std::shared_ptr<const FileTable> RawFiles(const char* v2_name) const;
  std::vector<ArrayInfo> Arrays(const ReadContext& context) const;
  Status CheckArrays(const ReadContext& context) const;

  /// The number of the root among the entries if it is an array; it is called
  /// "array" then. A group has no entry.
  std::string_view NameOf(uint32_t number) const;

  const OpenOptions options_;
  std::vector<Entry> entries_;
  Node root_;
  uint64_t arrays_ = 0;
  uint64_t groups_ = 0;
  bool mixed_ = false;    // a directory has metadata of both versions
  bool guessed_ = false;  // a separator was guessed
  std::shared_ptr<const ChunkFiles> files_ =
      std::make_shared<const ChunkFiles>(source());
  mutable Mutex mutex_;
  mutable LruMap<uint32_t, PlanPtr> plans_ CTXFS_GUARDED_BY(mutex_);
};

/// Returns the bytes of files below a directory of a store, as soon as they are
/// `enough`.
Result<uint64_t> BytesBelow(const Source& store, const std::string& path,
                            uint64_t enough, const ReadContext& context);

}  // namespace ctxfs::zarr

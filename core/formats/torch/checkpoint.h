// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/container/facts/facts.h"
#include "core/container/format.h"
#include "core/container/tensor_container.h"
#include "core/formats/torch/global_names.h"
#include "core/formats/torch/objects.h"
#include "core/formats/torch/shared_values.h"
#include "core/formats/torch/value.h"
#include "core/formats/zip/zip.h"

namespace ctxfs::torch {

/// The bytes of a storage: a record of an archive, or a range of the file.
struct Storage {
  std::optional<uint32_t> member;  // of the archive
  uint64_t offset = 0;             // in the file, if it is not a record
  uint64_t size = 0;               // bytes
  uint64_t shown = 0;              // bytes that tensors use, <= size
  std::string fault;               // why it cannot be read; else empty
};

/// Dimensions of a shape, or strides.
using Extents = std::vector<uint64_t>;

/// A tensor's type, shape and position in its storage, checked
/// (docs/formats/torch.md, section 6). A tensor at several places has one
/// layout, and layouts share equal parts. A few bytes of a pickle create a
/// Tensor or a Layout, so both must stay small.
struct Layout {
  TypeInfo type;
  std::shared_ptr<const Extents> shape;
  std::shared_ptr<const Extents> strides;    // in elements
  std::shared_ptr<const std::string> fault;  // why it cannot be read, or null
  std::shared_ptr<const std::string> note;   // shown to users; null if none
  bool over_limit = false;                   // whether the fault is a limit
  uint64_t offset = 0;                       // in elements, from `start`
  uint64_t start = 0;                        // byte in the storage
  uint64_t size = 0;                         // bytes of the tensor's file
  uint32_t storage = 0;
  bool conjugate = false;
  bool negative = false;
};

/// A tensor at one place in the value.
struct Tensor {
  std::string name;
  std::shared_ptr<const Layout> layout;
};

/// A PyTorch checkpoint. The entries are the tensors.
class Checkpoint final : public TensorContainer, public SaysFacts {
 public:
  /// `archive`: null for the legacy format.
  Checkpoint(std::shared_ptr<const Source> source,
             std::shared_ptr<const zip::Archive> archive,
             const OpenOptions& options)
      : TensorContainer(std::move(source)),
        archive_(std::move(archive)),
        options_(options) {}

  /// Opens an archive of torch.save without salvage, and opens no file beside
  /// it. Fails with kNotContainer if `source` is not such an archive, and as
  /// zip::OpenDirectory and Load do.
  static Result<std::shared_ptr<const Checkpoint>> OpenArchive(
      std::shared_ptr<const Source> source, const OpenOptions& options,
      const ReadContext& context);

  /// Reads the checkpoint (sections 2 and 3). Must be called once, first. Fails
  /// with kLimit, and with kCorrupt or kVersion and a message that starts with
  /// a key of section 10.
  Status Load(const ReadContext& context);

  void AddInfo(Json& info, const ReadContext& context) const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;
  std::vector<Error> Inspect(const ReadContext& context) const override;
  Tables Files() const override;
  Tables FilesWithPaths(const PathsInTree& paths) const override;
  Exports Export() const override;

  uint32_t count() const override {
    return static_cast<uint32_t>(tensors_.size());
  }
  std::string_view TensorName(uint32_t number) const override {
    return tensors_[number].name;
  }
  uint64_t TensorSize(uint32_t number) const override {
    return tensors_[number].layout->size;
  }
  std::optional<Error> TensorFault(uint32_t number) const override;
  Result<Content> OpenTensor(uint32_t number,
                             const Request& request) const override;
  EntryInfo DescribeTensor(uint32_t number) const override;
  std::optional<ArrayInfo> ArrayOf(uint32_t number) const override;

  /// The two steps of OpenTensor. The tensor must have no fault. OpenStorageOf
  /// opens the tensor's storage; Arranged selects the tensor from `stored`, the
  /// bytes of that storage.
  Result<Content> OpenStorageOf(uint32_t number, const Request& request) const {
    return OpenStorage(storages_[tensors_[number].layout->storage], request);
  }
  Content Arranged(uint32_t number, const Content& stored) const;

  /// Returns the object as JSON, with each tensor under its name.
  Result<std::string> ValueOf(const ReadContext& context) const;
  const GlobalNames& globals() const { return globals_; }

 private:
  enum Which : uint8_t { kValue, kConstants };
  /// A pickle whose value is shown as a document.
  struct PickleFile {
    std::optional<Content> content;  // unset: there is no such pickle
    uint64_t offset = 0;
    size_t first_tensor = 0;  // number of its first tensor
    bool shown = false;
    std::optional<Pickle> parsed;  // only while opening
    /// Text of the document if every tensor is shown under its name; null if
    /// the text is too long to keep in memory.
    std::shared_ptr<const std::string> text;
  };

  Status LoadArchive(const ReadContext& context);
  // Steps of LoadArchive.
  Status FindTop(const ReadContext& context);
  Status ReadVersion(const ReadContext& context);
  Status ReadByteOrder(const ReadContext& context);
  Result<std::string> ReadRecord(uint32_t member, const ReadContext& context);
  Status ReadPickleRecord(Which which, const std::string& storages,
                          const ReadContext& context);
  void WarnOfMissingChecksums();
  /// If the archive was truncated, calls NeedMore with the least size that it
  /// must have had, including the missing records.
  void NeedRecords();

  /// Returns the record `name`; nullopt if there is none or several.
  std::optional<uint32_t> Record(std::string_view name) const;
  /// Returns the number of the storage in record `name`; adds it if it is new.
  uint32_t StorageRecord(const std::string& name, const StorageId& id);

  Status LoadLegacy(const ReadContext& context);
  // Steps of LoadLegacy.
  Status ReadLegacyHead(const ReadContext& context, uint64_t& at);
  Status ReadLegacyStorages(const Pickle& keys, uint64_t at,
                            const Pickle& object, const ReadContext& context);
  /// Warns of bytes after the storages; the storages end at byte `at`.
  Status WarnOfLegacyEnd(uint64_t at, const Request& request);
  /// Locates a storage at byte `at`: a count, which must be `elements`, and as
  /// many elements of `width` bytes. Moves `at` to the storage's end.
  Status PlaceLegacy(uint64_t width, int64_t elements, Storage& storage,
                     uint64_t& at, const Request& request) const;

  /// Adds the tensors of a pickle, with `prefix` before their names; `storages`
  /// precedes the key in the name of a storage's record. Fails as FindTensors
  /// and AddFound do, and with kLimit for too many tensors, which sets
  /// too_many_.
  Status AddPickle(Which which, const Pickle& pickle, const std::string& prefix,
                   const std::string& storages, const ReadContext& context);
  /// Adds the tensors `found` in `pickle`. Fails if interrupted or out of
  /// memory, and with kCorrupt if `found` is of another pickle.
  Status AddFound(const Pickle& pickle, std::vector<FoundTensor> found,
                  const std::string& storages, const ReadContext& context);
  void WarnOfFaults();
  /// Stores equal parts of layouts once.
  struct SharedParts {
    SharedValues<Extents> extents;
    SharedValues<std::string> faults;
  };
  /// Counts the bytes by which a tensor repeats its storage. Returns `layout`,
  /// or a layout with a fault if all tensors together exceed the limit.
  std::shared_ptr<const Layout> Charge(std::shared_ptr<const Layout> layout,
                                       SharedParts& parts);
  uint64_t MostRepeated() const;
  Layout Resolve(const TensorId& id, const std::string& storages,
                 SharedParts& parts);
  /// Locates a tensor in its storage. Returns the fault; empty for none.
  std::string Place(const TensorId& id, const Storage& storage,
                    SharedParts& parts, Layout& layout);
  /// Shows a tensor of unknown type as the `room` bytes of its storage.
  static void ShowAsBytes(const TensorId& id, uint64_t room, SharedParts& parts,
                          Layout& layout);
  /// Renders the documents, with each tensor under its name; warns of a
  /// document that cannot be rendered, for example because it is too large.
  Status MakeDocuments(const ReadContext& context);
  Result<std::string> TextWithNames(const PickleFile& file,
                                    const ReadContext& context) const;
  Result<std::string> DocumentText(Which which, const PathsInTree& paths,
                                   const ReadContext& context) const;
  /// Returns the tensors' paths in the tree, relative to tensors/.
  Result<std::vector<std::string>> ShownAt(const PathsInTree& paths) const;

  // globals.cc: functions that list the names that loading the checkpoint would
  // import (section 12).
  /// Lists the names in all records that torch may load, even if the values of
  /// these records cannot be read.
  Status ListGlobals(const ReadContext& context);
  Status ListGlobalsOf(uint32_t member, const ReadContext& context);
  /// Like ListGlobals, for the five pickles of the legacy format.
  Status ListLegacyGlobals(const ReadContext& context);
  /// Warns if the list of names is incomplete.
  void WarnOfGlobals();

  Result<Content> OpenStorage(const Storage& storage,
                              const Request& request) const;
  /// Whether a tensor's file is exactly its storage's record.
  bool IsWholeRecord(const Layout& tensor, const Storage& storage) const;

  const std::shared_ptr<const zip::Archive> archive_;
  const OpenOptions options_;
  const uint64_t owner_ = NewOwner();
  std::string top_;  // such as "archive/": the prefix of all records
  bool all_in_top_ = true;
  std::unordered_map<std::string_view, uint32_t> records_;  // by name
  std::set<std::string_view> repeated_;
  std::optional<uint64_t> version_;
  bool big_endian_ = false;
  bool script_ = false;
  bool too_many_ = false;        // more tensors than the limit
  uint64_t repeated_bytes_ = 0;  // see Charge
  uint64_t missing_bytes_ = 0;   // bytes that missing records need
  PickleFile pickles_[2];
  std::vector<Storage> storages_;
  std::unordered_map<std::string, uint32_t> storage_numbers_;
  std::vector<Tensor> tensors_;
  GlobalNames globals_;
  std::vector<Document> documents_;  // model files in the same folder
};

bool StartsLegacy(Bytes head);

}  // namespace ctxfs::torch

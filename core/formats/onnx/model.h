// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/seed.h"
#include "core/container/container.h"
#include "core/container/facts/facts.h"
#include "core/container/facts/name_list.h"
#include "core/container/format.h"
#include "core/container/interfaces/has_parts.h"
#include "core/formats/onnx/elements.h"
#include "core/formats/onnx/external.h"
#include "core/formats/onnx/graph.h"
#include "core/formats/onnx/tensor.h"
#include "core/formats/onnx/wire.h"

namespace ctxfs::onnx {

/// Whether ModelProto has a field with this number and type
/// (docs/formats/onnx.md, section 2). The type matters: other messages also
/// start with small field numbers, such as a TensorProto with a dim.
bool IsModelField(uint64_t number, WireType type);

/// The tensors of one TensorUse, in the order of docs/formats/onnx.md, section
/// 5. Each takes 52 bytes, plus its path, its dimensions and, unless kStored,
/// the detail of its storage.
class TensorList {
 public:
  struct Record {
    uint64_t at = 0;    // start of the bytes, or of the message
    uint64_t size = 0;  // bytes of the tensor's file; 0 for kFault
    uint64_t elements = 0;
    uint64_t dims_at = 0;  // in dims_
    uint32_t rank = 0;
    uint32_t detail = 0;  // index in the list for its storage
    int32_t data_type = 0;
    Tensor::Storage storage = Tensor::Storage::kFault;
  };

  uint32_t count() const { return static_cast<uint32_t>(records_.size()); }
  const Record& operator[](uint32_t tensor) const { return records_[tensor]; }
  std::string_view path(uint32_t tensor) const { return paths_[tensor]; }
  /// Returns the shape of a tensor; nullopt if a dimension is negative.
  std::optional<std::vector<uint64_t>> shape(uint32_t tensor) const;
  const ExternalData& external(uint32_t tensor) const {
    return external_[records_[tensor].detail];
  }
  const DecodedTensor& decoded(uint32_t tensor) const {
    return decoded_[records_[tensor].detail];
  }
  const std::string& fault(uint32_t tensor) const {
    return faults_[records_[tensor].detail];
  }
  uint64_t path_bytes() const { return paths_.bytes(); }
  uint64_t dim_count() const { return dims_.size(); }

  /// Adds a tensor. Fails if there is no memory.
  Status Add(const std::string& path, const WireRanges& message, Tensor tensor);

 private:
  std::deque<Record> records_;
  NameList paths_;
  std::deque<int64_t> dims_;
  std::deque<ExternalData> external_;
  std::deque<DecodedTensor> decoded_;
  std::deque<std::string> faults_;
};

/// An ONNX model. The entries are the initializers of its graphs.
class Model final : public Container,
                    public SaysFacts,
                    public HasParts,
                    private GraphVisitor {
 public:
  Model(std::shared_ptr<const Source> source, const OpenOptions& options);

  /// Walks all messages. Of the elements of tensors, reads only strings. Must
  /// be called once, first. Fails with kNotContainer if this is not a model,
  /// and with kCorrupt and kLimit (docs/formats/onnx.md, section 8).
  Status Load(const ReadContext& context);

  void AddInfo(Json& info, const ReadContext& context) const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;
  Tables Files() const override;
  Exports Export() const override;
  /// Omits files with bytes outside all tensors, apart from padding.
  std::vector<std::string> PartsBeside(
      const ReadContext& context) const override;
  bool ShowsWholeParts() const override { return true; }

  // Properties of a tensor of `list`, one of the model's lists.

  /// Returns the size of the tensor's file; nullopt for external data, whose
  /// size requires opening another file.
  std::optional<uint64_t> KnownSize(const TensorList& list,
                                    uint32_t tensor) const;
  Result<Content> Open(const TensorList& list, uint32_t tensor,
                       const Request& request) const;
  EntryInfo Describe(const TensorList& list, uint32_t tensor) const;
  std::optional<Error> Fault(const TensorList& list, uint32_t tensor) const;

 private:
  struct Parts;

  std::shared_ptr<const FileTable> TensorFiles(const TensorList& list,
                                               Role role,
                                               std::string directory) const;

  Status ReadModel(const ReadContext& context);
  Status ReadParts(WireReader& reader, Parts& parts);

  Status OnTensor(TensorUse use, const std::string& path,
                  const WireRanges& message, Tensor tensor) override;
  Status OnSparse(const std::string& name, const std::vector<int64_t>& dims,
                  int64_t data_type, uint64_t count) override;
  Status MeasureStrings(const WireRanges& message, Tensor& tensor);
  void NoteDuplicate(TensorUse use, const std::string& path, uint64_t at);

  std::string Label(const TensorList& list, uint32_t tensor) const;
  Result<Content> OpenExternal(const TensorList& list, uint32_t tensor,
                               const Request& request) const;
  /// Returns a warning with the number of external tensors that cannot be read,
  /// and the first of them; nullopt if none is found.
  std::optional<Warning> ExternalFaults(const ReadContext& context) const;
  /// Fails if a tensor cannot be read, or if its type or shape is unknown.
  /// `examined` counts external tensors; beyond limits::kHeadersExamined, their
  /// files are not opened.
  Status CheckElements(const TensorList& list, uint32_t tensor,
                       uint64_t& examined, const ReadContext& context) const;
  /// Fails if CheckElements fails for any tensor, with the number of these
  /// tensors and the first error.
  Status CheckTensors(const ReadContext& context) const;
  void AddArrays(const TensorList& list, const std::string& directory,
                 const ReadContext& context,
                 std::vector<ArrayInfo>& arrays) const;

  const OpenOptions options_;
  const uint64_t owner_ = NewOwner();
  const ExternalFiles files_;
  TensorList initializers_;
  TensorList constants_;
  std::string json_;  // empty: no model.json
  int64_t ir_version_ = 0;
  std::string producer_;
  uint64_t nodes_ = 0;

  // The members below are used only by Load.
  class ModelJson* summary_ = nullptr;
  WireReader* reader_ = nullptr;
  bool strange_ = false;  // a field before the graph is not of ModelProto
  uint64_t string_bytes_ = 0;
  // Hashes of paths. A random seed prevents crafted collisions.
  std::unordered_map<uint64_t, uint64_t> seen_;
  const uint64_t seed_ = RandomSeed();
  uint64_t duplicates_ = 0;
  uint64_t first_duplicate_ = 0;
};

}  // namespace ctxfs::onnx

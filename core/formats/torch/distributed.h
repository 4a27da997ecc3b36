// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/container/facts/facts.h"
#include "core/container/format.h"
#include "core/container/tensor_container.h"
#include "core/content/boxes.h"
#include "core/formats/torch/checkpoint.h"
#include "core/formats/torch/distributed_index.h"
#include "core/formats/torch/global_names.h"

namespace ctxfs::torch {

/// A checkpoint that torch.distributed.checkpoint wrote, named by its .metadata
/// (docs/formats/torch.md, section 13). Its entries are the tensors, each of
/// which is put together from pieces of the files beside it.
class DistributedCheckpoint final : public TensorContainer, public SaysFacts {
 public:
  DistributedCheckpoint(std::shared_ptr<const Source> source,
                        const OpenOptions& options)
      : TensorContainer(std::move(source)), options_(options) {}

  /// Reads the index and opens the files. To be called once, before anything
  /// else.
  Status Load(const ReadContext& context);

  void AddInfo(Json& info, const ReadContext& context) const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;
  std::vector<Error> Inspect(const ReadContext& context) const override;
  Tables Files() const override;
  Exports Export() const override;

  uint32_t count() const override {
    return static_cast<uint32_t>(index_.tensors.size());
  }
  std::string_view TensorName(uint32_t number) const override {
    return index_.tensors[number].name;
  }
  uint64_t TensorSize(uint32_t number) const override;
  std::optional<Error> TensorFault(uint32_t number) const override;
  Result<Content> OpenTensor(uint32_t number,
                             const Request& request) const override;
  EntryInfo DescribeTensor(uint32_t number) const override;
  std::optional<ArrayInfo> ArrayOf(uint32_t number) const override;

 private:
  /// A file that pieces are in, or why there is none.
  struct File {
    SourcePtr source;
    std::string fault;
    uint64_t loose = 0;  // bytes that are in no piece
  };

  // Steps of Load.
  Status ReadIndex(const ReadContext& context);
  Status OpenFiles(const ReadContext& context);
  Result<File> OpenFile(const std::string& name, const Request& request) const;
  /// Finds the pieces that are not in their files or overlap others, and the
  /// bytes that are in none.
  Status PlacePieces(const ReadContext& context);
  void CompareInFile(const std::vector<uint32_t>& order, size_t from,
                     size_t end);
  void SetFault(uint32_t piece, std::string fault);
  /// Returns how many tensors and objects cannot be read.
  Result<uint64_t> CheckTensors(const ReadContext& context);
  /// Why the pieces are not just the tensor; empty if they are.
  Result<std::string> FaultOf(const ChunkedTensor& tensor, uint64_t& compared,
                              const ReadContext& context) const;
  /// Makes a tensor of an unknown type the bytes of its only chunk.
  Status ShowAsBytes(ChunkedTensor& tensor, const ReadContext& context);
  Status SetShapeOfBytes(ChunkedTensor& tensor, uint64_t size);
  /// The code of an error about a tensor with a fault.
  Code CodeOf(const ChunkedTensor& tensor) const;
  /// What is wrong with one piece, which has `bytes` of a tensor; empty:
  /// nothing.
  std::string FaultOf(uint32_t piece, uint64_t bytes) const;
  /// Warns of bytes and pieces that no tensor and no object has.
  void WarnOfUnused();

  /// The record that torch.save wrote for a piece.
  Result<std::shared_ptr<const Checkpoint>> OpenPiece(
      uint32_t piece, const ReadContext& context) const;
  /// The elements of a chunk.
  Result<Content> OpenChunk(const ChunkedTensor& tensor, const Chunk& chunk,
                            const ReadContext& context) const;
  Result<Content> OpenTensorIn(uint32_t number,
                               const ReadContext& context) const;
  /// `stored`, the record that has a piece's elements, with a verdict that
  /// stays.
  Content Guarded(uint32_t piece, Content stored) const;
  /// "the file '__0_0.distcp', byte 12".
  std::string Where(uint32_t piece) const;
  std::string VerifiedText(const ChunkedTensor& tensor) const;

  Result<Content> OpenObject(uint32_t object) const;
  std::optional<Error> ObjectFault(uint32_t object) const;
  /// The value of an object as JSON.
  Result<std::string> ObjectValue(uint32_t object,
                                  const ReadContext& context) const;
  /// The values of all objects as JSON; in place of one that cannot be read,
  /// the error.
  Result<std::string> ObjectText(const ReadContext& context) const;
  /// The names in .metadata and in the objects.
  Result<GlobalNames> AllGlobals(const ReadContext& context) const;

  const OpenOptions options_;
  const uint64_t owner_ = NewOwner();
  DistributedIndex index_;
  std::vector<File> files_;
  std::vector<std::atomic<Verdict>> verdicts_;  // by piece
  GlobalNames globals_;                         // of .metadata
  uint32_t measured_ = 0;  // tensors that ShowAsBytes opened
};

}  // namespace ctxfs::torch

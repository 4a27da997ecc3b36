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
#include "core/container/interfaces/has_parts.h"
#include "core/container/tensor_container.h"
#include "core/content/boxes.h"
#include "core/formats/torch/checkpoint.h"
#include "core/formats/torch/distributed_index.h"
#include "core/formats/torch/global_names.h"

namespace ctxfs::torch {

/// A checkpoint of torch.distributed.checkpoint, opened by its .metadata
/// (docs/formats/torch.md, section 13). The entries are the tensors; each is
/// assembled from pieces in the files of the same folder.
class DistributedCheckpoint final : public TensorContainer,
                                    public SaysFacts,
                                    public HasParts {
 public:
  DistributedCheckpoint(std::shared_ptr<const Source> source,
                        const OpenOptions& options)
      : TensorContainer(std::move(source)), options_(options) {}

  /// Reads the index and opens the files. Must be called once, first.
  Status Load(const ReadContext& context);

  void AddInfo(Json& info, const ReadContext& context) const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;
  std::vector<Error> Inspect(const ReadContext& context) const override;
  bool PartsFailAlone() const override { return true; }
  Tables Files() const override;
  Exports Export() const override;
  /// Omits files with bytes outside all pieces.
  std::vector<std::string> PartsBeside(
      const ReadContext& context) const override;
  bool ShowsWholeParts() const override { return true; }

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
  /// A file that contains pieces, or the reason why it cannot be opened.
  struct File {
    SourcePtr source;
    std::string fault;
    uint64_t loose = 0;  // bytes outside all pieces
  };

  // Steps of Load.
  Status ReadIndex(const ReadContext& context);
  Status OpenFiles(const ReadContext& context);
  Result<File> OpenFile(const std::string& name, const Request& request) const;
  /// Finds pieces outside their files, overlaps, and bytes outside all pieces.
  Status PlacePieces(const ReadContext& context);
  void CompareInFile(const std::vector<uint32_t>& order, size_t from,
                     size_t end);
  void SetFault(uint32_t piece, std::string fault);
  Result<uint64_t> CheckTensors(const ReadContext& context);
  /// Returns why a tensor cannot be read: a piece has a fault or is too short,
  /// or the chunks do not cover the tensor exactly once. Empty if there is no
  /// such fault. Subtracts the comparisons of chunks from `compared`, the
  /// number that is still allowed.
  Result<std::string> FaultOf(const ChunkedTensor& tensor, uint64_t& compared,
                              const ReadContext& context) const;
  /// Shows a tensor of unknown type as the bytes of its only chunk; sets its
  /// fault if it has several chunks, or if the piece cannot be opened. Only
  /// opening it shows the number of these bytes.
  Status ShowAsBytes(ChunkedTensor& tensor, const ReadContext& context);
  Status SetShapeOfBytes(ChunkedTensor& tensor, uint64_t size);
  /// Returns the error code for a tensor with a fault.
  Code CodeOf(const ChunkedTensor& tensor) const;
  /// Returns why a piece cannot hold `bytes` bytes of a tensor; else empty.
  std::string FaultOf(uint32_t piece, uint64_t bytes) const;
  /// Warns of unused bytes, and of pieces that belong to no tensor or object.
  void WarnOfUnused();

  /// Opens a piece, which is an archive of torch.save.
  Result<std::shared_ptr<const Checkpoint>> OpenPiece(
      uint32_t piece, const ReadContext& context) const;
  Result<Content> OpenChunk(const ChunkedTensor& tensor, const Chunk& chunk,
                            const ReadContext& context) const;
  Result<Content> OpenTensorIn(uint32_t number,
                               const ReadContext& context) const;
  /// Returns `stored`, the record with a piece's elements, as a range of the
  /// piece's file, whose guard records its verdict in verdicts_. So the verdict
  /// outlives the content. Returns `stored` unchanged if the record must be
  /// decoded.
  Content Guarded(uint32_t piece, Content stored) const;
  /// Returns a position for messages: "the file '__0_0.distcp', byte 12".
  std::string Where(uint32_t piece) const;
  std::string VerifiedText(const ChunkedTensor& tensor) const;

  Result<Content> OpenObject(uint32_t object) const;
  std::optional<Error> ObjectFault(uint32_t object) const;
  Result<std::string> ObjectValue(uint32_t object,
                                  const ReadContext& context) const;
  /// Returns all objects' values as JSON; for an unreadable one, the error.
  Result<std::string> ObjectText(const ReadContext& context) const;
  Result<GlobalNames> AllGlobals(const ReadContext& context) const;

  const OpenOptions options_;
  const uint64_t owner_ = NewOwner();
  DistributedIndex index_;
  std::vector<File> files_;
  std::vector<std::atomic<Verdict>> verdicts_;  // by piece
  GlobalNames globals_;                         // of .metadata
  uint32_t measured_ = 0;                       // tensors opened by ShowAsBytes
};

}  // namespace ctxfs::torch

// SPDX-License-Identifier: Apache-2.0
//
// Distributed checkpoints (docs/formats/torch.md, section 13): a folder.
//
//   .metadata       the index, a pickle: which pieces make which tensor
//   __N_M.distcp    pieces in a row, each an archive of torch.save
#include "core/formats/torch/distributed.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/text/text.h"
#include "core/container/open.h"
#include "core/formats/torch/global_scan.h"
#include "core/formats/torch/limits.h"
#include "core/io/download_cache.h"

namespace ctxfs::torch {
namespace {

constexpr uint32_t kStepsPerCheck = 1024;

}  // namespace

Status DistributedCheckpoint::Load(const ReadContext& context) {
  CTXFS_TRY(ReadIndex(context));
  CTXFS_TRY(OpenFiles(context));
  CTXFS_TRY(PlacePieces(context));
  const uint64_t unreadable = CTXFS_TRY(CheckTensors(context));
  // The pieces of a damaged tensor may be unused only because of the damage.
  if (unreadable == 0) WarnOfUnused();
  return {};
}

Status DistributedCheckpoint::ReadIndex(const ReadContext& context) {
  const Content content(Range{source(), 0, nullptr}, source()->size());
  uint64_t end = 0;
  CTXFS_TRY(ScanGlobals(content, 0, context, globals_, end));
  const Result<Pickle> pickle = ReadPickle(content, 0, context, end);
  if (!pickle) {
    Error error = pickle.error();
    if (error.Permanent()) error.what = "pickle: " + error.what;
    return error;
  }
  index_ = CTXFS_TRY(ReadDistributedIndex(*pickle, context));
  if (end < source()->size()) {
    Warn({"bytes_after: the pickle is followed by other bytes", end,
          Severity::kPartial});
  }
  CTXFS_TRY(HeapAllowance::Admit(index_.pieces.size()));
  verdicts_ = std::vector<AtomicVerdict>(index_.pieces.size());
  return {};
}

Status DistributedCheckpoint::OpenFiles(const ReadContext& context) {
  for (const std::string& name : index_.files) {
    CTXFS_TRY(context.Check());
    File file;
    if (options_.alone) {
      file.fault = "the file " + Quote(name) + " is not opened";
    } else if (files_.size() >= kMaxFiles) {
      file.fault = fmt::format("the file {} is over the limit of {} files",
                               Quote(name), kMaxFiles);
    } else {
      file = CTXFS_TRY(OpenFile(name, context));
    }
    if (file.source != nullptr) AddStoredSize(file.source->stored_size());
    if (file.source == nullptr) {
      Warn({file.fault, kNoOffset, Severity::kDamage});
    }
    files_.push_back(std::move(file));
  }
  return {};
}

Result<DistributedCheckpoint::File> DistributedCheckpoint::OpenFile(
    const std::string& name, const Request& request) const {
  const auto without = [&name](const std::string& why) {
    return File{nullptr, "the file " + Quote(name) + " " + why};
  };
  if (name.find('\0') != std::string::npos) return without("has a NUL byte");
  Result<SourcePtr> opened = source()->OpenSibling(name, request);
  if (opened) return File{*std::move(opened), {}};
  const Error& error = opened.error();
  if (options_.FailsWith(error)) return Within(Quote(name), error);
  return error.code == Code::kNotFound ? without(WhyMissing(error))
         : error.code == Code::kCorrupt
             ? without("is outside the folder: " + error.what)
             : without("cannot be read: " + error.what);
}

void DistributedCheckpoint::SetFault(uint32_t piece, std::string fault) {
  index_.faults.emplace(piece, std::move(fault));
}

Status DistributedCheckpoint::PlacePieces(const ReadContext& context) {
  const std::vector<Piece>& pieces = index_.pieces;
  std::vector<uint32_t> order(pieces.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order,
                [this](uint32_t i) { return index_.faults.contains(i); });
  CTXFS_TRY(context.Check());
  std::ranges::sort(order, {}, [&pieces](uint32_t i) {
    return std::pair(pieces[i].file, pieces[i].offset);
  });
  for (size_t from = 0; from < order.size();) {
    CTXFS_TRY(context.Check());
    size_t end = from;
    while (end < order.size() &&
           pieces[order[end]].file == pieces[order[from]].file) {
      ++end;
    }
    if (files_[pieces[order[from]].file].source != nullptr) {
      CompareInFile(order, from, end);
    }
    from = end;
  }
  return {};
}

void DistributedCheckpoint::CompareInFile(const std::vector<uint32_t>& order,
                                          size_t from, size_t end) {
  const uint32_t file = index_.pieces[order[from]].file;
  const uint64_t size = files_[file].source->size();
  uint32_t last = kNoPiece;  // the piece that reaches furthest
  uint64_t reached = 0;
  uint64_t loose = 0;  // bytes outside all pieces
  for (; from < end; ++from) {
    const uint32_t number = order[from];
    const Piece& piece = index_.pieces[number];
    if (!InBounds(piece.offset, piece.length, size)) {
      SetFault(number,
               fmt::format("{} bytes run past the end of the file of {} bytes",
                           piece.length, size));
      continue;
    }
    if (piece.offset < reached) {
      SetFault(number, "it overlaps the piece at byte " +
                           std::to_string(index_.pieces[last].offset));
      SetFault(last,
               "it overlaps the piece at byte " + std::to_string(piece.offset));
    }
    loose += piece.offset - std::min(piece.offset, reached);
    if (last == kNoPiece || piece.offset + piece.length > reached) {
      reached = piece.offset + piece.length;
      last = number;
    }
  }
  files_[file].loose = loose + size - reached;
}

Result<uint64_t> DistributedCheckpoint::CheckTensors(
    const ReadContext& context) {
  uint64_t compared = kMaxCompared;
  uint64_t unreadable = 0;
  uint64_t unsupported = 0;
  uint64_t unjoined = 0;
  uint32_t steps = 0;
  for (ChunkedTensor& tensor : index_.tensors) {
    if (steps++ % kStepsPerCheck == 0) {
      CTXFS_TRY(context.Check());
    }
    if (tensor.fault.empty()) {
      tensor.fault = CTXFS_TRY(FaultOf(tensor, compared, context));
    }
    if (tensor.fault.empty() && !tensor.unknown_type.empty()) {
      CTXFS_TRY(ShowAsBytes(tensor, context));
    }
    if (tensor.fault.empty()) continue;
    ++(tensor.unjoined                        ? unjoined
       : CodeOf(tensor) == Code::kUnsupported ? unsupported
                                              : unreadable);
  }
  for (uint32_t i = 0; i < index_.objects.size(); ++i) {
    const std::optional<Error> fault = ObjectFault(i);
    if (!fault) continue;
    ++(fault->code == Code::kUnsupported ? unsupported : unreadable);
  }
  if (unsupported > 0) {
    Warn({fmt::format("transformed: tensors and objects that are stored "
                      "through a transform: {}",
                      unsupported),
          kNoOffset, Severity::kPartial});
  }
  if (unjoined > 0) {
    Warn({fmt::format("unknown_dtype: tensors that cannot be joined, because "
                      "their dtype is unknown: {}",
                      unjoined),
          kNoOffset, Severity::kPartial});
  }
  if (unreadable > 0) {
    Warn({fmt::format("unreadable: tensors and objects that cannot be read: {}",
                      unreadable),
          kNoOffset, Severity::kDamage});
  }
  return unreadable + unsupported + unjoined;
}

Status DistributedCheckpoint::ShowAsBytes(ChunkedTensor& tensor,
                                          const ReadContext& context) {
  if (tensor.chunks > 1) {
    tensor.unjoined = true;
    tensor.fault =
        fmt::format("its {} chunks cannot be joined: its dtype {} is unknown",
                    tensor.chunks, tensor.unknown_type);
    return {};
  }
  if (tensor.chunks == 0) return SetShapeOfBytes(tensor, 0);
  if (measured_ == kMaxMeasured) {
    tensor.unjoined = true;
    tensor.fault = fmt::format("it is one of more than {} of unknown dtypes",
                               kMaxMeasured);
    return {};
  }
  ++measured_;
  const Result<Content> bytes =
      OpenChunk(tensor, index_.ChunksOf(tensor)[0], context);
  if (bytes) return SetShapeOfBytes(tensor, bytes->size());
  if (!bytes.error().Permanent()) return bytes.error();
  tensor.fault = bytes.error().what;
  return {};
}

Status DistributedCheckpoint::SetShapeOfBytes(ChunkedTensor& tensor,
                                              uint64_t size) {
  tensor.shape = {size};
  tensor.elements = size;
  if (tensor.chunks == 0) return {};
  CTXFS_TRY(AdmitGrowth(index_.numbers, 2));
  Chunk& chunk = index_.chunks[tensor.first_chunk];
  chunk.numbers = static_cast<uint32_t>(index_.numbers.size());
  chunk.elements = size;
  index_.numbers.push_back(0);
  index_.numbers.push_back(size);
  return {};
}

Code DistributedCheckpoint::CodeOf(const ChunkedTensor& tensor) const {
  const auto chunks = index_.ChunksOf(tensor);
  const bool transformed =
      std::ranges::any_of(chunks, [this](const Chunk& chunk) {
        return index_.transformed.contains(chunk.piece);
      });
  return transformed || tensor.unjoined ? Code::kUnsupported : Code::kCorrupt;
}

Result<std::string> DistributedCheckpoint::FaultOf(
    const ChunkedTensor& tensor, uint64_t& compared,
    const ReadContext& context) const {
  const bool known = tensor.unknown_type.empty();
  const uint64_t width = known ? DTypeSize(tensor.type.dtype) : 0;
  uint64_t elements = 0;
  const auto chunks = index_.ChunksOf(tensor);
  for (const Chunk& chunk : chunks) {
    std::string fault = FaultOf(chunk.piece, chunk.elements * width);
    if (!fault.empty()) return fault;
    elements = CheckedAdd(elements, chunk.elements).value_or(UINT64_MAX);
  }
  if (elements < tensor.elements) {
    return fmt::format("its pieces have {} of its {} elements", elements,
                       tensor.elements);
  }
  const size_t rank = tensor.shape.size();
  const auto numbers = std::span(index_.numbers)
                           .subspan(chunks.empty() ? 0 : chunks[0].numbers,
                                    2 * rank * chunks.size());
  auto overlap = FindOverlap(numbers, rank, compared, context.interrupt());
  if (!overlap && overlap.error().code == Code::kLimit) {
    return overlap.error().what;
  }
  const auto pair = CTXFS_TRY(std::move(overlap));
  if (!pair && elements == tensor.elements) return std::string();
  // If no boxes overlap, the tensor must be a scalar with several equal chunks.
  const auto [first, second] = pair.value_or(std::pair<size_t, size_t>(0, 1));
  return fmt::format("its chunks {} and {} overlap", first, second);
}

std::string DistributedCheckpoint::FaultOf(uint32_t piece,
                                           uint64_t bytes) const {
  if (piece == kNoPiece) return "it is nowhere in storage_data";
  const Piece& stored = index_.pieces[piece];
  const File& file = files_[stored.file];
  if (file.source == nullptr) return file.fault;
  const auto fault = index_.faults.find(piece);
  if (fault != index_.faults.end()) return Where(piece) + ": " + fault->second;
  if (stored.length >= bytes) return {};
  return fmt::format("{}: {} bytes are too few for a chunk of {} bytes",
                     Where(piece), stored.length, bytes);
}

void DistributedCheckpoint::WarnOfUnused() {
  for (size_t i = 0; i < files_.size(); ++i) {
    if (files_[i].loose == 0) continue;
    Warn({fmt::format("loose_bytes: {} bytes of the file {} are in no piece",
                      files_[i].loose, Quote(index_.files[i])),
          kNoOffset, Severity::kPartial});
  }
  const auto unused = std::ranges::count(index_.used, false);
  if (unused == 0) return;
  Warn({fmt::format("unused: pieces that belong to no tensor and no object: {}",
                    unused),
        kNoOffset, Severity::kPartial});
}

std::string DistributedCheckpoint::Where(uint32_t piece) const {
  const Piece& stored = index_.pieces[piece];
  return fmt::format("the file {}, byte {}", Quote(index_.files[stored.file]),
                     stored.offset);
}

Result<std::shared_ptr<const Checkpoint>> DistributedCheckpoint::OpenPiece(
    uint32_t piece, const ReadContext& context) const {
  const Piece& stored = index_.pieces[piece];
  auto opened = Checkpoint::OpenArchive(
      std::make_shared<const SliceSource>(files_[stored.file].source,
                                          stored.offset, stored.length),
      options_, context);
  if (opened) return opened;
  Error error = Within(Where(piece), std::move(opened).error());
  if (error.code == Code::kNotContainer) error.code = Code::kCorrupt;
  error.offset = stored.offset + (error.offset == kNoOffset ? 0 : error.offset);
  return error;
}

Content DistributedCheckpoint::Guarded(uint32_t piece, Content stored) const {
  const std::optional<Range> range = stored.AsStored();
  if (!range) return stored;
  const Piece& at = index_.pieces[piece];
  const SourcePtr& file = files_[at.file].source;
  Range in_file{file, at.offset + range->offset, nullptr};
  if (range->guard != nullptr) {
    ChecksumGuard::Guarded guarded = range->guard->guarded();
    guarded.source = file;
    guarded.offset += at.offset;
    in_file.guard = std::make_shared<const ChecksumGuard>(
        Key{owner_, piece}, std::move(guarded),
        std::shared_ptr<AtomicVerdict>(
            shared_from_this(), const_cast<AtomicVerdict*>(&verdicts_[piece])));
  }
  return {std::move(in_file), stored.size()};
}

Result<Content> DistributedCheckpoint::OpenChunk(
    const ChunkedTensor& tensor, const Chunk& chunk,
    const ReadContext& context) const {
  const auto saved = CTXFS_TRY(OpenPiece(chunk.piece, context));
  const auto sizes = index_.Sizes(tensor, chunk);
  const std::optional<ArrayInfo> array =
      saved->count() == 1 ? saved->ArrayOf(0) : std::nullopt;
  // A type unknown to ctxfs cannot be compared with the piece.
  const bool bytes = !tensor.unknown_type.empty();
  const bool fits =
      array && (bytes || (array->dtype == tensor.type.dtype &&
                          std::ranges::equal(array->shape, sizes)));
  if (!fits) {
    const bool one = saved->count() == 1;
    const std::optional<Error> fault =
        one ? saved->TensorFault(0) : std::nullopt;
    return Error{
        Code::kCorrupt,
        Where(chunk.piece) + ": " +
            (fault ? fault->what
             : array
                 ? "it is " + ArrayText(DTypeName(array->dtype), array->shape) +
                       ", and the index says " +
                       ArrayText(DTypeName(tensor.type.dtype),
                                 {sizes.begin(), sizes.end()})
                 : fmt::format("{} tensors are not one", saved->count())),
        index_.pieces[chunk.piece].offset};
  }
  const Content stored = CTXFS_TRY(saved->OpenStorageOf(0, context));
  return saved->Arranged(0, Guarded(chunk.piece, stored));
}

Result<Content> DistributedCheckpoint::OpenTensor(
    uint32_t number, const Request& request) const {
  BlockCache cache{0};
  return OpenTensorIn(number, {cache, request});
}

Result<Content> DistributedCheckpoint::OpenTensorIn(
    uint32_t number, const ReadContext& context) const {
  if (std::optional<Error> fault = TensorFault(number)) {
    return *std::move(fault);
  }
  const ChunkedTensor& tensor = index_.tensors[number];
  std::vector<Box> boxes;
  for (const Chunk& chunk : index_.ChunksOf(tensor)) {
    CTXFS_TRY(context.Check());
    Result<Content> elements = OpenChunk(tensor, chunk, context);
    if (!elements) {
      return Within("tensor " + Quote(tensor.name),
                    std::move(elements).error());
    }
    const auto offsets = index_.Offsets(tensor, chunk);
    const auto sizes = index_.Sizes(tensor, chunk);
    boxes.push_back({{offsets.begin(), offsets.end()},
                     {sizes.begin(), sizes.end()},
                     *std::move(elements)});
  }
  return BoxedContent(tensor.shape,
                      static_cast<uint32_t>(DTypeSize(tensor.type.dtype)),
                      std::move(boxes));
}

uint64_t DistributedCheckpoint::TensorSize(uint32_t number) const {
  const ChunkedTensor& tensor = index_.tensors[number];
  if (!tensor.fault.empty()) return 0;
  return tensor.elements * DTypeSize(tensor.type.dtype);
}

std::optional<Error> DistributedCheckpoint::TensorFault(uint32_t number) const {
  const ChunkedTensor& tensor = index_.tensors[number];
  if (tensor.fault.empty()) return std::nullopt;
  return Error{CodeOf(tensor),
               "tensor " + Quote(tensor.name) + ": " + tensor.fault, kNoOffset};
}

std::vector<Error> DistributedCheckpoint::Inspect(
    const ReadContext& context) const {
  std::vector<Error> faults = Faults();
  for (uint32_t i = 0; i < index_.objects.size(); ++i) {
    if (!context.Check()) break;
    const StoredObject& object = index_.objects[i];
    std::optional<Error> fault = ObjectFault(i);
    if (!fault) {
      const auto opened = OpenPiece(object.piece, context);
      if (opened) continue;
      fault = Within("object " + Quote(object.name), opened.error());
    }
    faults.push_back(*std::move(fault));
  }
  return faults;
}

std::optional<Error> DistributedCheckpoint::ObjectFault(uint32_t object) const {
  const StoredObject& stored = index_.objects[object];
  const std::string fault = FaultOf(stored.piece, 0);
  if (fault.empty()) return std::nullopt;
  const bool transformed = index_.transformed.contains(stored.piece);
  return Error{transformed ? Code::kUnsupported : Code::kCorrupt,
               "object " + Quote(stored.name) + ": " + fault, kNoOffset};
}

Result<Content> DistributedCheckpoint::OpenObject(uint32_t object) const {
  if (std::optional<Error> fault = ObjectFault(object)) {
    return *std::move(fault);
  }
  const Piece& piece = index_.pieces[index_.objects[object].piece];
  return Content(Range{files_[piece.file].source, piece.offset, nullptr},
                 piece.length);
}

}  // namespace ctxfs::torch

namespace ctxfs {

extern const Format kTorchDistributed{
    .name = "torch_distributed",
    .contents = "distributed checkpoints of PyTorch",
    .extensions = "",
    .golden = "torch-distributed",
    .docs = "torch",
    .probe = &torch::StartsDistributedIndex,
    .open = &OpenAs<torch::DistributedCheckpoint>,
    .folder_index = ".metadata",
    .folder_parts = ".distcp",
    .traits = {.stays_file = true, .opens_neighbours = true}};

}  // namespace ctxfs

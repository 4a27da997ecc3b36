// SPDX-License-Identifier: Apache-2.0
//
// .metadata of a distributed checkpoint (docs/formats/torch.md, section 13): a
// pickle of dataclasses, each of which is a call without arguments and a dict
// as its state.
//
//   Metadata(state_dict_metadata, planner_data, storage_data, ...)
//   state_dict_metadata[NAME] = TensorStorageMetadata(properties, size, chunks)
//                               or BytesStorageMetadata()
//   storage_data[MetadataIndex(fqn, offset)] =
//       _StorageInfo(relative_path, offset, length)
#include "core/formats/torch/distributed_index.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/text/text.h"
#include "core/formats/torch/dict_entries.h"
#include "core/formats/torch/global_names.h"
#include "core/formats/torch/limits.h"
#include "core/formats/torch/objects.h"

namespace ctxfs::torch {
namespace {

using Kind = Node::Kind;

constexpr std::string_view kModule = "torch.distributed.checkpoint.metadata";
constexpr std::string_view kMetadata =
    "torch.distributed.checkpoint.metadata.Metadata";
constexpr std::string_view kTensorClass =
    "torch.distributed.checkpoint.metadata.TensorStorageMetadata";
constexpr std::string_view kBytesClass =
    "torch.distributed.checkpoint.metadata.BytesStorageMetadata";

// Globals that torch's writers use besides those of section 12.
constexpr auto kNames = std::to_array<std::string_view>({
    kMetadata,
    kTensorClass,
    kBytesClass,
    "torch.distributed.checkpoint.metadata.ChunkStorageMetadata",
    "torch.distributed.checkpoint.metadata.MetadataIndex",
    "torch.distributed.checkpoint.metadata.StorageMeta",
    "torch.distributed.checkpoint.metadata.TensorProperties",
    "torch.distributed.checkpoint.metadata._MEM_FORMAT_ENCODING",
    "torch.distributed._shard.sharded_tensor.metadata.TensorProperties",
    "torch.distributed._shard.sharded_tensor.metadata.MEM_FORMAT_ENCODING",
    "torch.distributed.checkpoint.filesystem._StorageInfo",
    "pathlib.PosixPath",
});

/// Returns the value of a dataclass field; kNoNode if missing.
NodeId Field(const Pickle& pickle, NodeId object, std::string_view name) {
  if (!pickle.Is(object, Kind::kObject)) return kNoNode;
  const NodeId state = pickle.ObjectAt(object).state;
  return pickle.Is(state, Kind::kDict) ? Lookup(pickle, state, name) : kNoNode;
}

class IndexReader {
 public:
  IndexReader(const Pickle& pickle, const ReadContext& context)
      : pickle_(pickle), context_(context) {}

  Result<DistributedIndex> Read();

 private:
  /// A key of storage_data: the hash of a name and an offset. The seed is
  /// random, so a file cannot choose keys that collide.
  using Place = std::pair<uint64_t, uint64_t>;
  struct PlaceHash {
    size_t operator()(const Place& place) const { return place.first; }
  };
  using Numbers = std::vector<int64_t>;

  /// Returns the entries of a dict, repeated keys included. Fails if `dict` is
  /// not a dict.
  Result<std::vector<Entry>> EntriesOf(NodeId dict, std::string_view what);
  Status ReadStorage(NodeId storage);
  Status AddPiece(const Entry& entry);
  std::optional<uint32_t> FileNumber(NodeId path);
  Status ReadPaths(NodeId planner);
  Status AddPath(const Entry& entry);
  Status ReadValues(NodeId values);
  Status AddValue(const Entry& entry);
  Status AddTensor(NodeId value, std::string name, std::string_view fqn);
  Status AddChunks(NodeId chunks, std::string_view fqn, ChunkedTensor& tensor);
  /// Returns the fault of the chunk, such as "is nowhere in storage_data";
  /// empty if there is none.
  Result<std::string> AddChunk(NodeId node, std::string_view fqn,
                               ChunkedTensor& tensor);
  std::string_view TypeNameOf(NodeId tensor) const;
  /// Sets the type from its name. For a type that ctxfs lacks, also sets
  /// unknown_type; if `name` does not look like a type, sets the fault.
  void SetType(std::string_view name, ChunkedTensor& tensor) const;
  uint32_t PieceAt(std::string_view fqn, const Numbers& offset) const;
  Place PlaceOf(std::string_view fqn, const Numbers& offset) const;
  /// Checks for an interrupt at every `kEvery`-th call.
  Status Step() {
    constexpr uint32_t kEvery = 256;
    return steps_++ % kEvery == 0 ? context_.Check() : Status();
  }
  static Error Wrong(std::string what) {
    return {Code::kCorrupt, "metadata: " + std::move(what)};
  }

  const Pickle& pickle_;
  const ReadContext& context_;
  const uint64_t seed_ = RandomSeed();
  DistributedIndex index_;
  std::unordered_map<Place, uint32_t, PlaceHash> piece_at_;
  std::unordered_map<std::string_view, uint32_t, NameHash> file_numbers_;
  std::unordered_map<std::string_view, NodeId, NameHash> paths_;
  uint64_t name_bytes_ = 0;
  uint64_t visited_ = 0;  // chunks, and dimensions of each
  uint32_t steps_ = 0;
};

Result<DistributedIndex> IndexReader::Read() {
  const NodeId root = pickle_.root();
  if (CalleeName(pickle_, root) != kMetadata) {
    return Wrong("the pickle is no " + std::string(kMetadata));
  }
  CTXFS_TRY(ReadStorage(Field(pickle_, root, "storage_data")));
  CTXFS_TRY(ReadPaths(Field(pickle_, root, "planner_data")));
  CTXFS_TRY(ReadValues(Field(pickle_, root, "state_dict_metadata")));
  CTXFS_TRY(context_.Check());
  return std::move(index_);
}

Result<std::vector<Entry>> IndexReader::EntriesOf(NodeId dict,
                                                  std::string_view what) {
  if (!pickle_.Is(dict, Kind::kDict)) {
    return Wrong(std::string(what) + " is no dict");
  }
  std::vector<Entry> entries;
  AddEntries(pickle_, pickle_.at(dict).first, entries);
  CTXFS_TRY(context_.Check());
  return entries;
}

Status IndexReader::ReadStorage(NodeId storage) {
  const std::vector<Entry> entries =
      CTXFS_TRY(EntriesOf(storage, "storage_data"));
  if (entries.size() > kMaxPieces) {
    return OverLimit(fmt::format("metadata: {} pieces are", entries.size()),
                     kMaxPieces);
  }
  for (const Entry& entry : entries) {
    CTXFS_TRY(Step());
    CTXFS_TRY(AddPiece(entry));
  }
  index_.used.resize(index_.pieces.size());
  return {};
}

Status IndexReader::AddPiece(const Entry& entry) {
  const NodeId fqn = Field(pickle_, entry.key, "fqn");
  const NodeId at = Field(pickle_, entry.key, "offset");
  const bool whole = at == kNoNode || pickle_.Is(at, Kind::kNone);
  const auto offsets =
      whole ? std::optional<Numbers>(Numbers()) : AsIntegers(pickle_, at);
  const auto offset = AsInteger(pickle_, Field(pickle_, entry.value, "offset"));
  const auto length = AsInteger(pickle_, Field(pickle_, entry.value, "length"));
  const auto file = FileNumber(Field(pickle_, entry.value, "relative_path"));
  if (!pickle_.Is(fqn, Kind::kText) || !offsets || !offset || !length ||
      !file) {
    return Wrong(
        fmt::format("entry {} of storage_data has no name, offset, "
                    "length or file",
                    index_.pieces.size()));
  }
  std::string fault;
  if (*offset < 0 || *length < 0) {
    fault = fmt::format("offset {} or length {} is negative", *offset, *length);
  }
  const bool placed = fault.empty();
  const NodeId transforms =
      Field(pickle_, entry.value, "transform_descriptors");
  const bool transformed =
      pickle_.IsSequence(transforms) && pickle_.at(transforms).first != kNoNode;
  if (transformed) {
    const NodeId first = pickle_.Child(transforms, 0);
    const bool named = pickle_.Is(first, Kind::kText);
    fault = "it is stored through the transform " +
            Quote(named ? pickle_.Text(first) : "?") + ", which is not read";
  }
  CTXFS_TRY(AdmitGrowth(index_.pieces));
  const auto number = static_cast<uint32_t>(index_.pieces.size());
  index_.pieces.push_back({*file, placed ? static_cast<uint64_t>(*offset) : 0,
                           placed ? static_cast<uint64_t>(*length) : 0});
  if (!fault.empty()) index_.faults.emplace(number, std::move(fault));
  if (transformed) index_.transformed.insert(number);
  piece_at_[PlaceOf(pickle_.Text(fqn), *offsets)] = number;
  return {};
}

std::optional<uint32_t> IndexReader::FileNumber(NodeId path) {
  if (!pickle_.Is(path, Kind::kText)) return std::nullopt;
  const std::string_view text = pickle_.Text(path);
  if (text.size() > kMaxFileName) return std::nullopt;
  const auto number = static_cast<uint32_t>(index_.files.size());
  const auto [at, added] = file_numbers_.try_emplace(text, number);
  if (added) index_.files.emplace_back(text);
  return at->second;
}

Status IndexReader::ReadPaths(NodeId planner) {
  if (!pickle_.Is(planner, Kind::kDict)) return {};  // there are no paths
  const std::vector<Entry> entries =
      CTXFS_TRY(EntriesOf(planner, "planner_data"));
  for (const Entry& entry : entries) {
    CTXFS_TRY(Step());
    if (pickle_.Is(entry.key, Kind::kText) && pickle_.IsSequence(entry.value)) {
      paths_[pickle_.Text(entry.key)] = entry.value;
    }
  }
  return {};
}

Status IndexReader::ReadValues(NodeId values) {
  std::vector<Entry> entries =
      CTXFS_TRY(EntriesOf(values, "state_dict_metadata"));
  WalkBudget budget;
  (void)MergeEqualKeys(pickle_, budget, entries);
  CTXFS_TRY(HeapAllowance::Check());
  if (budget.exhausted() || entries.size() > kMaxTensors) {
    return OverLimit(fmt::format("metadata: {} values are", entries.size()),
                     kMaxTensors);
  }
  for (const Entry& entry : entries) {
    CTXFS_TRY(Step());
    CTXFS_TRY(AddValue(entry));
  }
  return {};
}

/// Returns the keys that lead to a value, joined by '/'. Returns `fqn` if a key
/// is neither a text nor an integer, or the result is empty or too long.
std::string PathText(const Pickle& pickle, NodeId path, std::string_view fqn) {
  std::string text;
  for (uint32_t link = pickle.at(path).first; link != kNoNode;
       link = pickle.Next(link)) {
    const NodeId key = pickle.Child(link);
    const bool plain =
        pickle.Is(key, Kind::kText) || pickle.Is(key, Kind::kInt);
    if (!plain || text.size() > kMaxFileName) return std::string(fqn);
    if (link != pickle.at(path).first) text += '/';
    text += pickle.Is(key, Kind::kText)
                ? pickle.Text(key).substr(0, kMaxFileName + 1)
                : std::to_string(pickle.at(key).number);
  }
  return text.empty() || text.size() > kMaxFileName ? std::string(fqn) : text;
}

Status IndexReader::AddValue(const Entry& entry) {
  if (!pickle_.Is(entry.key, Kind::kText)) {
    return Wrong("a key of state_dict_metadata is no text");
  }
  const std::string_view fqn = pickle_.Text(entry.key);
  if (fqn.size() > kMaxFileName) {
    return OverLimit(fmt::format("metadata: a name of {} bytes is", fqn.size()),
                     kMaxFileName);
  }
  const auto path = paths_.find(fqn);
  std::string name = path == paths_.end()
                         ? std::string(fqn)
                         : PathText(pickle_, path->second, fqn);
  name_bytes_ += name.size();
  if (name_bytes_ > kMaxTensorNames) {
    return OverLimit("metadata: the names are", kMaxTensorNames);
  }
  const std::string_view kind = CalleeName(pickle_, entry.value);
  if (kind == kTensorClass) {
    return AddTensor(entry.value, std::move(name), fqn);
  }
  if (kind != kBytesClass) {
    return Wrong("the value " + Quote(fqn) + " is neither a tensor nor bytes");
  }
  CTXFS_TRY(AdmitGrowth(index_.objects));
  const uint32_t piece = PieceAt(fqn, {});
  if (piece != kNoPiece) index_.used[piece] = true;
  index_.objects.push_back({std::move(name), piece});
  return {};
}

std::string_view IndexReader::TypeNameOf(NodeId tensor) const {
  const NodeId properties = Field(pickle_, tensor, "properties");
  NodeId type = Field(pickle_, properties, "dtype");
  if (type == kNoNode && pickle_.Is(properties, Kind::kObject)) {
    const NodeId state = pickle_.ObjectAt(properties).state;
    if (pickle_.IsSequence(state)) type = pickle_.Child(state, 0);
  }
  return GlobalName(pickle_, type);
}

void IndexReader::SetType(std::string_view name, ChunkedTensor& tensor) const {
  const std::optional<TypeInfo> type = TorchType(name);
  tensor.type = type.value_or(TypeInfo{"unknown", DType::kU8, true});
  if (type) return;
  if (LooksLikeTorchType(name)) {
    tensor.unknown_type = name;
  } else {
    tensor.fault = "it has no dtype";
  }
}

/// Returns the product; nullopt for a negative number or an overflow.
std::optional<uint64_t> Product(const std::vector<int64_t>& numbers) {
  std::optional<uint64_t> product = 1;
  for (const int64_t number : numbers) {
    if (number < 0) return std::nullopt;
    product = CheckedMul(*product, static_cast<uint64_t>(number));
    if (!product) return std::nullopt;
  }
  return product;
}

Status IndexReader::AddTensor(NodeId value, std::string name,
                              std::string_view fqn) {
  ChunkedTensor tensor;
  tensor.name = std::move(name);
  tensor.first_chunk = static_cast<uint32_t>(index_.chunks.size());
  SetType(TypeNameOf(value), tensor);
  const auto shape = AsIntegers(pickle_, Field(pickle_, value, "size"));
  constexpr uint64_t kTooMany = UINT64_MAX;
  const uint64_t elements =
      shape ? Product(*shape).value_or(kTooMany) : kTooMany;
  if (!shape) {
    tensor.fault = "it has no size";
  } else if (elements == kTooMany ||
             !CheckedMul(elements, DTypeSize(tensor.type.dtype))) {
    tensor.fault = "its size is negative or too large";
  }
  if (tensor.fault.empty()) {
    tensor.elements = elements;
    tensor.shape.assign(shape->begin(), shape->end());
    CTXFS_TRY(AddChunks(Field(pickle_, value, "chunks"), fqn, tensor));
  }
  CTXFS_TRY(AdmitGrowth(index_.tensors));
  index_.tensors.push_back(std::move(tensor));
  return {};
}

Status IndexReader::AddChunks(NodeId chunks, std::string_view fqn,
                              ChunkedTensor& tensor) {
  if (!pickle_.IsSequence(chunks)) {
    tensor.fault = "it has no list of chunks";
    return {};
  }
  uint32_t number = 0;
  for (uint32_t link = pickle_.at(chunks).first; link != kNoNode;
       link = pickle_.Next(link)) {
    CTXFS_TRY(Step());
    // Each visit of a chunk is charged, because a list that many tensors share
    // takes few bytes of the file.
    visited_ += 1 + tensor.shape.size();
    if (visited_ > kMaxNodes) {
      return OverLimit("metadata: the numbers of all chunks are", kMaxNodes);
    }
    const std::string fault =
        CTXFS_TRY(AddChunk(pickle_.Child(link), fqn, tensor));
    if (!fault.empty()) {
      tensor.fault = fmt::format("chunk {} {}", number, fault);
      break;
    }
    ++number;
  }
  return {};
}

Result<std::string> IndexReader::AddChunk(NodeId node, std::string_view fqn,
                                          ChunkedTensor& tensor) {
  const auto offsets = AsIntegers(pickle_, Field(pickle_, node, "offsets"));
  const auto sizes = AsIntegers(pickle_, Field(pickle_, node, "sizes"));
  const size_t rank = tensor.shape.size();
  if (!offsets || !sizes || offsets->size() != rank || sizes->size() != rank) {
    return fmt::format("has no offsets and sizes of {} dimensions", rank);
  }
  for (size_t i = 0; i < rank; ++i) {
    const auto at = static_cast<uint64_t>((*offsets)[i]);
    const auto size = static_cast<uint64_t>((*sizes)[i]);
    if ((*offsets)[i] < 0 || (*sizes)[i] < 0 ||
        !InBounds(at, size, tensor.shape[i])) {
      return fmt::format("is outside of it in dimension {}", i);
    }
  }
  // The chunk is within the shape, whose product does not overflow.
  const uint64_t elements = *Product(*sizes);
  const uint32_t piece = PieceAt(fqn, *offsets);
  if (piece != kNoPiece && index_.used[piece]) {
    return std::string("starts where another one does");
  }
  if (piece != kNoPiece) index_.used[piece] = true;
  if (elements == 0) return std::string();
  if (piece == kNoPiece) return std::string("is nowhere in storage_data");
  if (tensor.chunks == kMaxChunks) {
    return fmt::format("is one of more than {}", kMaxChunks);
  }
  CTXFS_TRY(AdmitGrowth(index_.chunks));
  CTXFS_TRY(AdmitGrowth(index_.numbers, 2 * rank));
  index_.chunks.push_back(
      {piece, static_cast<uint32_t>(index_.numbers.size()), elements});
  index_.numbers.insert(index_.numbers.end(), offsets->begin(), offsets->end());
  index_.numbers.insert(index_.numbers.end(), sizes->begin(), sizes->end());
  ++tensor.chunks;
  return std::string();
}

IndexReader::Place IndexReader::PlaceOf(std::string_view fqn,
                                        const Numbers& offset) const {
  const XXH128_hash_t name =
      XXH3_128bits_withSeed(fqn.data(), fqn.size(), seed_);
  const XXH128_hash_t numbers = XXH3_128bits_withSeed(
      offset.data(), offset.size() * sizeof(int64_t), name.low64);
  return {numbers.low64, numbers.high64 ^ name.high64};
}

uint32_t IndexReader::PieceAt(std::string_view fqn,
                              const Numbers& offset) const {
  const auto found = piece_at_.find(PlaceOf(fqn, offset));
  return found == piece_at_.end() ? kNoPiece : found->second;
}

}  // namespace

Result<DistributedIndex> ReadDistributedIndex(const Pickle& pickle,
                                              const ReadContext& context) {
  return IndexReader(pickle, context).Read();
}

bool IsDistributedName(std::string_view name) {
  return std::ranges::find(kNames, name) != kNames.end();
}

bool StartsDistributedIndex(Bytes head) {
  // Maximum number of bytes before the module's name: PROTO, FRAME with its
  // length, and the opcode of the name.
  constexpr size_t kMaxBefore = 24;
  constexpr std::byte kProto{0x80};
  if (head.size() < 2 || head[0] != kProto) return false;
  const std::string_view text = AsText(head);
  const size_t at = text.substr(0, kMaxBefore + kModule.size()).find(kModule);
  if (at == std::string_view::npos) return false;
  // Maximum number of bytes between module and class: a line feed (GLOBAL), or
  // the opcodes between two texts (STACK_GLOBAL).
  constexpr size_t kMaxBetween = 8;
  constexpr std::string_view kClass = "Metadata";
  const std::string_view after = text.substr(at + kModule.size());
  const size_t name = after.substr(0, kMaxBetween + kClass.size()).find(kClass);
  return name != std::string_view::npos;
}

}  // namespace ctxfs::torch

// SPDX-License-Identifier: Apache-2.0
//
// Builds the files of a distributed checkpoint (docs/formats/torch.md, section
// 13).
#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/json/json_writer.h"
#include "core/container/documents.h"
#include "core/container/facts/config_facts.h"
#include "core/container/file_set.h"
#include "core/formats/torch/distributed.h"
#include "core/formats/torch/limits.h"

namespace ctxfs::torch {
namespace {

// Estimated memory of a file's part in info.json.
constexpr uint64_t kFileBytes = 1024;

/// The index and all files with pieces. If one of them changes, the text
/// derived from them is dropped.
class AllFiles final : public DerivedSource {
 public:
  AllFiles(SourcePtr index, std::vector<SourcePtr> files)
      : DerivedSource(std::move(index)), files_(std::move(files)) {}

  uint64_t size() const override { return from().size(); }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& request) const override {
    return from().ReadAt(offset, out, request);
  }
  Status CheckUnchanged() const override {
    CTXFS_TRY(from().CheckUnchanged());
    for (const SourcePtr& file : files_) {
      CTXFS_TRY(file->CheckUnchanged());
    }
    return {};
  }

 private:
  const std::vector<SourcePtr> files_;
};

std::string Quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Returns what value.json shows instead of an unreadable object.
std::string ErrorText(const Error& error) {
  return "{\"$error\":" + Quoted(error.what) + "}";
}

}  // namespace

std::string DistributedCheckpoint::VerifiedText(
    const ChunkedTensor& tensor) const {
  if (!options_.verify || tensor.chunks == 0) return "none";
  bool all = tensor.fault.empty();
  for (const Chunk& chunk : index_.ChunksOf(tensor)) {
    const Verdict verdict = verdicts_[chunk.piece].load();
    if (verdict == Verdict::kFailed) return ctxfs::VerifiedText(verdict);
    all = all && verdict == Verdict::kPassed;
  }
  return ctxfs::VerifiedText(all ? Verdict::kPassed : Verdict::kUnknown);
}

EntryInfo DistributedCheckpoint::DescribeTensor(uint32_t number) const {
  const ChunkedTensor& tensor = index_.tensors[number];
  EntryInfo info;
  info.name = tensor.name;
  info.kind = "tensor";
  info.size = TensorSize(number);
  info.stored_size = info.size;
  info.offset = kNoOffset;
  info.dtype = DTypeName(tensor.type.dtype);
  info.shape = tensor.shape;
  info.verified = VerifiedText(tensor);
  if (tensor.type.bits) {
    info.note = "the stored bytes of " + std::string(tensor.type.name);
  }
  if (!tensor.unknown_type.empty()) {
    info.note = "the bytes of its piece: its dtype " + tensor.unknown_type +
                " is unknown";
  }
  if (!tensor.fault.empty()) info.note = tensor.fault;
  if (tensor.unjoined) info.dtype.clear();
  const auto chunks = index_.ChunksOf(tensor);
  info.extra["chunks"] = chunks.size();
  if (chunks.size() == 1) {
    const Piece& piece = index_.pieces[chunks[0].piece];
    info.offset = piece.offset;
    info.extra["file"] = index_.files[piece.file];
  }
  return info;
}

std::optional<ArrayInfo> DistributedCheckpoint::ArrayOf(uint32_t number) const {
  const ChunkedTensor& tensor = index_.tensors[number];
  if (!tensor.fault.empty()) return std::nullopt;
  ArrayInfo array;
  array.name = tensor.name;
  array.dtype = tensor.type.dtype;
  array.shape = tensor.shape;
  array.opening_reads = true;
  array.open = [self = Share(*this), number](const ReadContext& context) {
    return self->OpenTensorIn(number, context);
  };
  return array;
}

Container::Tables DistributedCheckpoint::Files() const {
  Tables tables = {TensorFiles()};
  tables.push_back(
      FixedFile(Role::kRaw, "metadata",
                Content(Range{source(), 0, nullptr}, source()->size())));
  if (index_.objects.empty()) return tables;
  tables.push_back(MakeTable(
      {.placement = {.role = Role::kRaw, .directory = "objects"},
       .count = static_cast<uint32_t>(index_.objects.size()),
       .path = [this](uint32_t object,
                      std::string& scratch) -> std::string_view {
         scratch = index_.objects[object].name + ".pt";
         return scratch;
       },
       .open =
           [this](uint32_t object, const ReadContext& /*context*/) {
             return OpenObject(object);
           },
       .facts =
           [this](uint32_t object) {
             std::optional<Error> fault = ObjectFault(object);
             const uint32_t piece = index_.objects[object].piece;
             const uint64_t size = fault ? 0 : index_.pieces[piece].length;
             return FileFacts{size, std::move(fault)};
           },
       .owner = Share(*this)}));
  std::vector<SourcePtr> files;
  for (const File& file : files_) {
    if (file.source != nullptr) files.push_back(file.source);
  }
  tables.push_back(
      TextDocument(Role::kPrimary, "value.json", {owner_, UINT64_MAX},
                   std::make_shared<const AllFiles>(source(), std::move(files)),
                   [self = Share(*this)](const ReadContext& context) {
                     return self->ObjectText(context);
                   }));
  return tables;
}

Result<std::string> DistributedCheckpoint::ObjectValue(
    uint32_t object, const ReadContext& context) const {
  if (std::optional<Error> fault = ObjectFault(object)) {
    return *std::move(fault);
  }
  const auto opened =
      CTXFS_TRY(OpenPiece(index_.objects[object].piece, context));
  std::string value = CTXFS_TRY(opened->ValueOf(context));
  if (value.ends_with('\n')) value.pop_back();
  return value;
}

Result<std::string> DistributedCheckpoint::ObjectText(
    const ReadContext& context) const {
  std::string text = "{";
  for (uint32_t i = 0; i < index_.objects.size(); ++i) {
    CTXFS_TRY(context.Check());
    Result<std::string> shown = ObjectValue(i, context);
    if (!shown && !shown.error().Permanent()) return shown;
    const std::string value =
        shown ? *std::move(shown) : ErrorText(shown.error());
    if (text.size() + value.size() > kMaxValueText) {
      return OverLimit("value_too_large: the text is", kMaxValueText);
    }
    std::string key = i == 0 ? "" : ",";
    key += Quoted(index_.objects[i].name);
    key += ':';
    CTXFS_TRY(AppendAdmitted(text, key));
    CTXFS_TRY(AppendAdmitted(text, value));
  }
  CTXFS_TRY(AppendAdmitted(text, "}\n"));
  return text;
}

Exports DistributedCheckpoint::Export() const {
  Exports exports = TensorExports();
  exports.bundle_name = "model";
  return exports;
}

std::vector<std::string> DistributedCheckpoint::PartsBeside(
    const ReadContext& /*context*/) const {
  std::vector<std::string> parts;
  for (size_t i = 0; i < files_.size(); ++i) {
    const File& file = files_[i];
    if (file.source != nullptr && file.loose == 0) {
      parts.push_back(index_.files[i]);
    }
  }
  return parts;
}

Status DistributedCheckpoint::AddFacts(const ReadContext& context,
                                       Facts& facts) const {
  CTXFS_TRY(AddParameters(*Entries(), context, facts));
  const Json info = Info(context);
  CTXFS_TRY(context.Check());
  AddNamed(
      info,
      {{"tensors", "entries"}, {"objects", "objects"}, {"pieces", "pieces"}},
      facts);
  facts.Add("files", files_.size());
  AddNamed(info, {{"unsafe_globals", "unsafe_globals"}}, facts);
  AddGlobalFacts(info, facts);
  return {};
}

Result<GlobalNames> DistributedCheckpoint::AllGlobals(
    const ReadContext& context) const {
  GlobalNames names = globals_;
  size_t searched = 0;
  for (uint32_t i = 0; i < index_.objects.size(); ++i) {
    CTXFS_TRY(context.Check());
    if (ObjectFault(i)) continue;
    if (++searched > kMaxSearchedObjects) {
      names.SetIncomplete("there are too many objects");
      break;
    }
    const auto opened = OpenPiece(index_.objects[i].piece, context);
    if (!opened && !opened.error().Permanent()) return opened.error();
    if (!opened) {
      names.SetIncomplete(opened.error().what);
      continue;
    }
    for (const auto& global : (*opened)->globals().List(/*script=*/false)) {
      CTXFS_TRY(names.Add(global.name));
    }
    if (!(*opened)->globals().complete()) {
      names.SetIncomplete((*opened)->globals().gap());
    }
  }
  return names;
}

void DistributedCheckpoint::AddInfo(Json& info,
                                    const ReadContext& context) const {
  AddTotals(info, context);
  Json files = Json::array();
  for (size_t i = 0; i < files_.size(); ++i) {
    // If memory is refused, the caller discards the text, as after an
    // interrupt.
    if (!HeapAllowance::Admit(kFileBytes)) return;
    const bool readable = files_[i].source != nullptr;
    Json file = {{"file", index_.files[i]}, {"readable", readable}};
    if (readable) {
      file["size"] = files_[i].source->size();
    } else {
      file["fault"] = files_[i].fault;
    }
    files.push_back(std::move(file));
  }
  info.update({{"format", "torch_distributed"},
               {"objects", index_.objects.size()},
               {"pieces", index_.pieces.size()}});
  info["files"] = std::move(files);
  const Result<GlobalNames> names = AllGlobals(context);
  if (names) DescribeGlobals(*names, {.known = &IsDistributedName}, info);
}

}  // namespace ctxfs::torch

// SPDX-License-Identifier: Apache-2.0
//
// safetensors, the tensors of a model in one file
// (docs/formats/safetensors.md).
//
//   0      length N of the header, 8 bytes
//   8      header: a JSON object that gives every tensor its type, its shape
//          and its range of the data
//   8 + N  data
#include "core/formats/safetensors/safetensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/container/documents.h"
#include "core/container/facts/model_files.h"
#include "core/container/open.h"
#include "core/formats/safetensors/facts.h"
#include "core/formats/safetensors/limits.h"

namespace ctxfs::safetensors {
namespace {

constexpr uint64_t kSmallestHeader = 2;
// The name of a complete model in one file. A file of another name may be a
// part of a model, or an adapter.
constexpr std::string_view kWholeModel = "model.safetensors";
// Number of bytes that the probe examines, even if it gets more.
constexpr size_t kProbed = 64;
// No header has this length or more. Eight random bytes mostly encode more.
constexpr uint64_t kHeaderOfNoFile = uint64_t{1} << 48;

bool IsJsonSpace(std::byte byte) {
  const auto c = std::to_integer<char>(byte);
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

}  // namespace

bool SafetensorsContainer::Recognises(Bytes head) {
  if (head.size() < kLengthBytes + kSmallestHeader) return false;
  const auto length = LoadLe<uint64_t>(head.data());
  if (length < kSmallestHeader || length >= kHeaderOfNoFile) return false;
  head = head.first(std::min(head.size(), kProbed)).subspan(kLengthBytes);
  if (head.front() != std::byte{'{'}) return false;
  const auto next = std::find_if_not(head.begin() + 1, head.end(), IsJsonSpace);
  return next != head.end() &&
         (*next == std::byte{'"'} || *next == std::byte{'}'});
}

Status SafetensorsContainer::Load(const ReadContext& context) {
  const Buffer length = CTXFS_TRY(
      ReadBuffer(*source(), 0, kLengthBytes, "header length", context));
  header_size_ = LoadLe<uint64_t>(length.data());
  if (!InBounds(kLengthBytes, header_size_, source()->size())) {
    return Error{Code::kCorrupt,
                 fmt::format("header length: the header of {} bytes is not all "
                             "in the file, which has {}",
                             header_size_, source()->size()),
                 0};
  }
  if (header_size_ > limits::kSafetensorsHeaderBytes) {
    return Error{Code::kLimit,
                 fmt::format("header length: {} is over the limit of {}",
                             header_size_, limits::kSafetensorsHeaderBytes),
                 0};
  }
  const Buffer text = CTXFS_TRY(
      ReadBuffer(*source(), kLengthBytes, header_size_, "header", context));
  SafetensorsFaults faults;
  header_ = CTXFS_TRY(ParseSafetensorsHeader(AsText(text.span()), kLengthBytes,
                                             faults, context));
  CTXFS_TRY(
      CheckSafetensorsLayout(header_, data_at(), data_size(), faults, context));
  if (faults.count > 0 && !options_.salvage) return faults.first.front();
  NeedTensors();
  WarnOf(faults);
  const bool whole = source()->name() == kWholeModel;
  if (whole && !options_.alone) documents_ = FindModelFiles(*source(), context);
  return {};
}

void SafetensorsContainer::NeedTensors() {
  for (uint32_t i = 0; i < count(); ++i) {
    // A range that contradicts the shape does not prove how long the file was.
    if (SafetensorsShapeFault(header_, i)) continue;
    Need(CheckedAdd(data_at(), header_.tensors[i].end).value_or(UINT64_MAX));
  }
}

void SafetensorsContainer::WarnOf(const SafetensorsFaults& faults) {
  for (const Error& fault : faults.first) {
    Warn({fault.what, fault.offset, Severity::kDamage});
  }
  if (faults.count > faults.first.size()) {
    Warn({fmt::format("and {} more faults",
                      faults.count - faults.first.size())});
  }
  for (size_t i = 0; i < header_.other_dtypes.size(); ++i) {
    if (warnings().size() > kMaxFaults) break;
    const uint32_t code =
        SafetensorsTensor::kFirstOtherDType + static_cast<uint32_t>(i);
    const auto first = std::find_if(
        header_.tensors.begin(), header_.tensors.end(),
        [code](const SafetensorsTensor& one) { return one.dtype == code; });
    if (first == header_.tensors.end()) continue;
    const auto tensor = static_cast<uint32_t>(first - header_.tensors.begin());
    Warn({header_.Label(tensor) + " has the unknown dtype " +
              Quote(header_.other_dtypes[i]) + ": bytes only",
          data_at() + first->begin});
  }
}

std::optional<Error> SafetensorsContainer::TensorFault(uint32_t tensor) const {
  std::optional<Error> fault =
      SafetensorsRangeFault(header_, tensor, data_size());
  if (fault) fault->offset = data_at();
  return fault;
}

uint64_t SafetensorsContainer::TensorSize(uint32_t tensor) const {
  if (TensorFault(tensor)) return 0;
  return header_.tensors[tensor].end - header_.tensors[tensor].begin;
}

Result<Content> SafetensorsContainer::OpenTensor(
    uint32_t tensor, const Request& /*request*/) const {
  if (std::optional<Error> fault = TensorFault(tensor)) {
    return *std::move(fault);
  }
  const SafetensorsTensor& record = header_.tensors[tensor];
  return Content(Range{source(), data_at() + record.begin, nullptr},
                 record.end - record.begin);
}

EntryInfo SafetensorsContainer::DescribeTensor(uint32_t tensor) const {
  const SafetensorsTensor& record = header_.tensors[tensor];
  const std::span<const uint64_t> shape = header_.Shape(tensor);
  EntryInfo info;
  info.name = header_.names[tensor];
  info.kind = "tensor";
  info.size = TensorSize(tensor);
  info.stored_size = info.size;
  info.offset = CheckedAdd(data_at(), record.begin).value_or(UINT64_MAX);
  info.verified = "none";
  info.dtype = header_.DTypeText(tensor);
  info.shape = std::vector<uint64_t>(shape.begin(), shape.end());
  if (const std::optional<Error> fault = TensorFault(tensor)) {
    info.note = fault->what;
  } else if (!header_.KnownDType(tensor)) {
    info.note = "its type is unknown: bytes only";
  } else if (auto misfit = SafetensorsShapeFault(header_, tensor)) {
    info.note = misfit->what + ": bytes only";
  }
  return info;
}

bool SafetensorsContainer::IsArray(uint32_t tensor) const {
  return header_.KnownDType(tensor) && !TensorFault(tensor) &&
         !SafetensorsShapeFault(header_, tensor);
}

std::optional<ArrayInfo> SafetensorsContainer::ArrayOf(uint32_t tensor) const {
  if (!IsArray(tensor)) return std::nullopt;
  const std::span<const uint64_t> shape = header_.Shape(tensor);
  ArrayInfo array;
  array.name = header_.names[tensor];
  array.dtype = *header_.KnownDType(tensor);
  array.shape.assign(shape.begin(), shape.end());
  array.open = [self = Share(*this), tensor](const ReadContext& context) {
    return self->OpenTensor(tensor, context);
  };
  return array;
}

std::optional<Content> SafetensorsContainer::MetadataText() const {
  if (!header_.metadata) return std::nullopt;
  return Content(
      Range{source(), kLengthBytes + header_.metadata->offset, nullptr},
      header_.metadata->length);
}

Container::Tables SafetensorsContainer::Files() const {
  Tables files = {TensorFiles()};
  if (const std::optional<Content> metadata = MetadataText()) {
    files.push_back(FixedFile(Role::kPrimary, "metadata.json", *metadata));
    files.push_back(FixedFile(Role::kMetadata, "metadata.json", *metadata));
  }
  files.push_back(
      FixedFile(Role::kRaw, "header.json",
                Content(Range{source(), kLengthBytes, nullptr}, header_size_)));
  return files;
}

Exports SafetensorsContainer::Export() const {
  Exports exports = TensorExports();  // the file itself is a bundle
  exports.documents = documents_;
  return exports;
}

Status SafetensorsContainer::AddFacts(const ReadContext& context,
                                      Facts& facts) const {
  return AddSafetensorsFacts(*source(), Metadata(context),
                             FindModelFiles(*source(), context), *Entries(),
                             context, facts);
}

Json SafetensorsContainer::Metadata(const Request& request) const {
  if (!header_.metadata) return nullptr;
  const Result<Buffer> text =
      ReadBuffer(*source(), kLengthBytes + header_.metadata->offset,
                 header_.metadata->length, "metadata", request);
  if (!text) return Json(Json::value_t::discarded);
  Result<ParsedJson> parsed = ParseJson(AsText(text->span()), request);
  return parsed ? std::move(parsed->value) : Json();
}

void SafetensorsContainer::AddInfo(Json& info,
                                   const ReadContext& context) const {
  AddTotals(info, context);
  info.update({{"format", "safetensors"},
               {"header_size", header_size_},
               {"data_offset", data_at()},
               {"entries_left_out", header_.left_out},
               {"salvaged", options_.salvage}});
}

}  // namespace ctxfs::safetensors

namespace ctxfs {

extern const Format kSafetensors{
    .name = "safetensors",
    .contents = "model weights",
    .extensions = "safetensors",
    .golden = "safetensors",
    .docs = "safetensors",
    .probe = &safetensors::SafetensorsContainer::Recognises,
    .open = &OpenAs<safetensors::SafetensorsContainer>,
    .traits = {.stays_file = true, .opens_neighbours = true}};

}  // namespace ctxfs

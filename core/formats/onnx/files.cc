// SPDX-License-Identifier: Apache-2.0
//
// Builds the files of a model (docs/formats/onnx.md, section 9): tensors/,
// constants/ and model.json. Exports its arrays for views.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/base/dtype.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/container/documents.h"
#include "core/container/elements.h"
#include "core/container/file_set.h"
#include "core/formats/onnx/facts.h"
#include "core/formats/onnx/model.h"

namespace ctxfs::onnx {
namespace {

using Storage = Tensor::Storage;

// Tensors between two interrupt checks.
constexpr uint32_t kTensorsPerCheck = 4096;
// Writers align external data to at most this many bytes.
constexpr uint64_t kMaxPadding = 64 * limits::kKiB;

// Indexed by Storage.
constexpr const char* kStorageNames[] = {"raw", "typed", "strings", "external",
                                         "none"};

}  // namespace

std::string Model::Label(const TensorList& list, uint32_t tensor) const {
  return std::string(&list == &constants_ ? "constant " : "tensor ") +
         Quote(list.path(tensor));
}

std::optional<uint64_t> Model::KnownSize(const TensorList& list,
                                         uint32_t tensor) const {
  if (list[tensor].storage == Storage::kExternal) return std::nullopt;
  return list[tensor].size;
}

std::optional<Error> Model::Fault(const TensorList& list,
                                  uint32_t tensor) const {
  if (list[tensor].storage != Storage::kFault) return std::nullopt;
  return Error{Code::kCorrupt, Label(list, tensor) + ": " + list.fault(tensor),
               list[tensor].at};
}

Result<Content> Model::OpenExternal(const TensorList& list, uint32_t tensor,
                                    const Request& request) const {
  const ExternalData& external = list.external(tensor);
  const uint64_t size = list[tensor].size;
  const auto fail = [&](Error error) {
    error.what = Label(list, tensor) + ": " + error.what;
    return error;
  };
  Result<std::shared_ptr<const Source>> file =
      files_.Open(external.location, request);
  if (!file) return fail(std::move(file).error());
  const uint64_t have = (*file)->size();
  if (!InBounds(external.offset, size, have)) {
    return fail(
        {Code::kCorrupt,
         fmt::format("external: {} has {} bytes, but its type and shape need "
                     "{} from byte {} on",
                     Quote(external.location), have, size, external.offset)});
  }
  return Content(Range{std::move(*file), external.offset, nullptr}, size);
}

Result<Content> Model::Open(const TensorList& list, uint32_t tensor,
                            const Request& request) const {
  if (std::optional<Error> fault = Fault(list, tensor)) {
    return *std::move(fault);
  }
  const TensorList::Record& record = list[tensor];
  // Constants and initializers have separate keys.
  const Key key{owner_, 2 * uint64_t{tensor} + (&list == &constants_ ? 1 : 0)};
  switch (record.storage) {
    case Storage::kTyped:
    case Storage::kStrings:
      return Content(
          Decoded{DecodedElements(key, source(), Share(list.decoded(tensor))),
                  0},
          record.size);
    case Storage::kExternal:
      return OpenExternal(list, tensor, request);
    default:
      return Content(Range{source(), record.at, nullptr}, record.size);
  }
}

EntryInfo Model::Describe(const TensorList& list, uint32_t tensor) const {
  const TensorList::Record& record = list[tensor];
  EntryInfo info;
  info.name = std::string(list.path(tensor));
  info.kind = &list == &constants_ ? "constant" : "tensor";
  info.size = record.size;
  info.offset = record.at;
  info.stored_size = record.size;
  info.verified = "none";
  info.dtype = DTypeNameOf(record.data_type);
  info.shape = list.shape(tensor);
  info.extra["storage"] = kStorageNames[static_cast<size_t>(record.storage)];
  if (record.storage == Storage::kFault) info.note = list.fault(tensor);
  if (record.storage == Storage::kTyped) info.codec = "values";
  if (record.storage == Storage::kStrings) info.codec = "strings";
  if (record.storage != Storage::kExternal) return info;
  const ExternalData& external = list.external(tensor);
  info.offset = external.offset;
  info.extra["location"] = external.location;
  // The size is a finding, because it may require opening a file for each
  // tensor, and can change while the model is mounted.
  info.add_findings = [this, &list, tensor](EntryInfo& found,
                                            const Request& request) {
    const Result<Content> content = OpenExternal(list, tensor, request);
    if (content) return;
    found.size = 0;
    found.note = content.error().what;
  };
  return info;
}

std::optional<Warning> Model::ExternalFaults(const ReadContext& context) const {
  uint64_t count = 0;
  uint64_t examined = 0;  // each may require opening a file
  std::optional<Warning> first;
  const auto note = [&](const std::string& why, uint64_t at) {
    if (++count == 1) first = Warning{why, at};
  };
  for (const TensorList* list : {&initializers_, &constants_}) {
    for (uint32_t i = 0; i < list->count(); ++i) {
      if (i % kTensorsPerCheck == 0 && !context.Check()) return first;
      const TensorList::Record& record = (*list)[i];
      if (record.storage == Storage::kFault &&
          list->fault(i).starts_with("external: ")) {
        note(Label(*list, i) + ": " + list->fault(i), record.at);
      }
      if (record.storage != Storage::kExternal ||
          ++examined > limits::kHeadersExamined) {
        continue;
      }
      const Result<Content> content = OpenExternal(*list, i, context);
      if (!content) note(content.error().what, kNoOffset);
    }
  }
  if (first) {
    first->text = fmt::format(
        "external: {} tensors are in files that cannot be read, the first: {}",
        count, first->text);
  }
  return first;
}

void Model::AddInfo(Json& info, const ReadContext& context) const {
  uint64_t size = 0;
  uint64_t unreadable = 0;
  for (const TensorList* list : {&initializers_, &constants_}) {
    for (uint32_t i = 0; i < list->count(); ++i) {
      size = CheckedAdd(size, (*list)[i].size).value_or(UINT64_MAX);
      unreadable += (*list)[i].storage == Storage::kFault ? 1U : 0U;
    }
  }
  info.update({{"format", "onnx"},
               {"version", ir_version_},
               {"nodes", nodes_},
               {"entries", initializers_.count()},
               {"constants", constants_.count()},
               {"entries_unreadable", unreadable},
               {"decoded_size", size},
               {"salvaged", options_.salvage}});
  if (!HeapAllowance::Admit(producer_.size())) return;
  info["producer"] = producer_;
  if (const std::optional<Warning> external = ExternalFaults(context)) {
    info["warnings"].push_back(external->Text());
  }
}

/// Returns the files tensors/NAME or constants/NAME.
std::shared_ptr<const FileTable> Model::TensorFiles(
    const TensorList& list, Role role, std::string directory) const {
  return MakeTable(
      {.placement = {.role = role, .directory = std::move(directory)},
       .count = list.count(),
       .path = [&list](uint32_t tensor,
                       std::string& /*scratch*/) { return list.path(tensor); },
       .open =
           [this, &list](uint32_t tensor, const ReadContext& context) {
             return Open(list, tensor, context);
           },
       // Finding the size of an external tensor opens another file.
       .facts =
           [this, &list](uint32_t tensor) {
             return FileFacts{KnownSize(list, tensor), Fault(list, tensor),
                              Cost::kSmallRead};
           },
       .describe =
           [this, &list](uint32_t tensor, const ReadContext& /*context*/) {
             return Describe(list, tensor);
           },
       .owner = Share(*this)});
}

Container::Tables Model::Files() const {
  Tables files = {TensorFiles(initializers_, Role::kEntries, "tensors")};
  if (!json_.empty()) {
    // The content keeps the container alive, and thus the text.
    files.push_back(
        FixedFile(Role::kPrimary, "model.json",
                  Content(Literal{std::shared_ptr<const std::string>(
                              shared_from_this(), &json_)},
                          json_.size())));
  }
  files.push_back(TensorFiles(constants_, Role::kPrimary, "constants"));
  return files;
}

Status Model::AddFacts(const ReadContext& context, Facts& facts) const {
  return AddOnnxFacts(json_, *Entries(), context, facts);
}

Exports Model::Export() const {
  Exports exports;
  if (initializers_.count() + constants_.count() == 0) return exports;
  exports.bundle_name = "model";
  exports.arrays = [self = Share(*this)](const ReadContext& context) {
    std::vector<ArrayInfo> arrays;
    self->AddArrays(self->initializers_, "", context, arrays);
    self->AddArrays(self->constants_, "constants/", context, arrays);
    return arrays;
  };
  exports.complete = [self = Share(*this)](const ReadContext& context) {
    return self->CheckTensors(context);
  };
  return exports;
}

std::vector<std::string> Model::PartsBeside(const ReadContext& context) const {
  using Span = std::pair<uint64_t, uint64_t>;  // of bytes: start and end
  std::map<std::string, std::vector<Span>> files;
  for (const TensorList* const list : {&initializers_, &constants_}) {
    for (uint32_t i = 0; i < list->count(); ++i) {
      if ((*list)[i].storage != Storage::kExternal) continue;
      const ExternalData& external = list->external(i);
      const uint64_t end = AddUpTo(external.offset, (*list)[i].size);
      files[external.location].emplace_back(external.offset, end);
    }
  }
  std::vector<std::string> parts;
  for (auto& [location, spans] : files) {
    if (!context.Check()) break;  // the caller fails then, too
    const auto file = files_.Open(location, context);
    if (!file) continue;
    std::ranges::sort(spans);
    uint64_t end = 0;
    const auto follows = [&end](uint64_t next) {
      return next <= end || next - end < kMaxPadding;
    };
    bool covered = spans.front().first == 0;
    for (const auto& [from, to] : spans) {
      covered = covered && follows(from);
      end = std::max(end, to);
    }
    if (covered && follows((*file)->size())) parts.push_back(location);
  }
  return parts;
}

Status Model::CheckElements(const TensorList& list, uint32_t tensor,
                            uint64_t& examined,
                            const ReadContext& context) const {
  if (std::optional<Error> fault = Fault(list, tensor)) {
    return *std::move(fault);
  }
  if (ElementTypeOf(list[tensor].data_type) == nullptr || !list.shape(tensor)) {
    return Error{Code::kUnsupported,
                 Label(list, tensor) + ": its type or its shape is unknown",
                 list[tensor].at};
  }
  if (list[tensor].storage != Storage::kExternal ||
      ++examined > limits::kHeadersExamined) {
    return {};
  }
  const Result<Content> content = OpenExternal(list, tensor, context);
  return content ? Status() : content.error();
}

Status Model::CheckTensors(const ReadContext& context) const {
  uint64_t examined = 0;  // past the limit, faults appear at opening
  uint64_t missing = 0;
  std::optional<Error> first;
  for (const TensorList* list : {&initializers_, &constants_}) {
    for (uint32_t i = 0; i < list->count(); ++i) {
      if (i % kTensorsPerCheck == 0) CTXFS_TRY(context.Check());
      const Status found = CheckElements(*list, i, examined, context);
      if (!found && missing++ == 0) first = found.error();
    }
  }
  if (!first) return {};
  first->what = fmt::format(
      "{} of {} tensors cannot be read; the first is {}", missing,
      uint64_t{initializers_.count()} + constants_.count(), first->what);
  return *std::move(first);
}

void Model::AddArrays(const TensorList& list, const std::string& directory,
                      const ReadContext& context,
                      std::vector<ArrayInfo>& arrays) const {
  uint64_t examined = 0;  // past the limit, faults appear at opening
  for (uint32_t i = 0; i < list.count(); ++i) {
    if (i % kTensorsPerCheck == 0 && !context.Check()) return;
    if (!CheckElements(list, i, examined, context)) continue;
    const ElementType* type = ElementTypeOf(list[i].data_type);
    const std::optional<std::vector<uint64_t>> shape = list.shape(i);
    const bool small = type->IsPacked() && type->dtype != "f4";
    // Sub-byte integers are widened to a byte.
    const std::optional<DType> dtype =
        small ? DTypeOf(type->dtype[0] == 'i' ? "i8" : "u8")
              : DTypeOf(type->dtype);
    if (!dtype) continue;
    // If memory is refused, the list is incomplete, and the caller discards it,
    // as after an interrupt.
    if (!AdmitGrowth(arrays) ||
        !HeapAllowance::Admit(2 * (directory.size() + list.path(i).size()))) {
      return;
    }
    ArrayInfo array;
    array.name = directory + std::string(list.path(i));
    array.dtype = *dtype;
    array.shape = *shape;
    array.opening_reads = list[i].storage == Storage::kExternal;
    array.widened = small;
    array.open = [self = Share(*this), &list, i, type,
                  small](const ReadContext& context) -> Result<Content> {
      Result<Content> content = self->Open(list, i, context);
      if (!content || !small) return content;
      return UnpackIntegers(*type, *content, list[i].elements);
    };
    arrays.push_back(std::move(array));
  }
}

}  // namespace ctxfs::onnx

// SPDX-License-Identifier: Apache-2.0
//
// Implements model.safetensors and variants: all arrays of the container in one
// file (docs/views.md, section 3).
#include "core/views/arrays/safetensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/json/json.h"
#include "core/base/limits.h"
#include "core/container/documents.h"
#include "core/views/arrays/elements.h"
#include "core/views/arrays/unique_names.h"

namespace ctxfs {
namespace {

constexpr size_t kLengthBytes = sizeof(uint64_t);
constexpr size_t kPage = 4096;
constexpr uint64_t kMaxHeader = kLengthBytes + limits::kSafetensorsHeaderBytes;
// Descriptions of more bytes are left out of the metadata.
constexpr uint64_t kMaxMetadata = limits::kMiB;
constexpr std::string_view kMetadataKey = "__metadata__";

/// Returns an empty name for a type that safetensors does not have.
constexpr std::string_view TypeName(DType dtype) {
  constexpr std::string_view kNames[kDTypeCount] = {
      "BOOL",    "I8",      "U8",          "I16",
      "U16",     "I32",     "U32",         "I64",
      "U64",     "F16",     "BF16",        "F32",
      "F64",     {},        "C64",         {},
      "F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ",
      "F8_E8M0", "F6_E2M3", "F6_E3M2",     "F4"};
  return kNames[static_cast<size_t>(dtype)];
}

/// Whether safetensors can hold an array: it has the type, and packed elements
/// fill their last byte, else its readers refuse the file.
bool IsStorable(const ArrayInfo& array) {
  return !TypeName(array.dtype).empty() &&
         CountOf(array) % 8 * DTypeBits(array.dtype) % 8 == 0;
}

std::string MetadataText(Json metadata) {
  if (!metadata.is_object()) metadata = Json::object();
  for (auto& value : metadata) {
    if (!value.is_string()) value = JsonLine(value);
  }
  // Model loaders reject a file without "format"; they require no other key.
  if (!metadata.contains("format")) metadata["format"] = "pt";
  return JsonLine(metadata);
}

}  // namespace

std::optional<SafetensorsLayout> LayOutSafetensors(
    const std::vector<ArrayInfo>& arrays, Json metadata) {
  SafetensorsLayout layout;
  // Memory for each array: its place in the order, twice, because sorting needs
  // a copy; and its name.
  const size_t lists = 2 * sizeof(uint32_t) + sizeof(std::string);
  if (!HeapAllowance::Admit(arrays.size() * lists)) return std::nullopt;
  layout.order.reserve(arrays.size());
  for (uint32_t i = 0; i < arrays.size(); ++i) {
    if (IsStorable(arrays[i])) layout.order.push_back(i);
  }
  std::stable_sort(layout.order.begin(), layout.order.end(),
                   [&arrays](uint32_t a, uint32_t b) {
                     return DTypeBits(arrays[a].dtype) >
                            DTypeBits(arrays[b].dtype);
                   });
  // Takes names in the container's order: the first array of a name keeps it.
  UniqueNames keys(kMetadataKey);
  std::vector<std::string> names;
  names.reserve(arrays.size());
  constexpr uint64_t kCopies = 4;  // of a name
  for (const ArrayInfo& array : arrays) {
    if (!HeapAllowance::Admit(kCopies * array.name.size())) return std::nullopt;
    names.push_back(keys.Take(array.name));
  }

  std::string& text = layout.header;
  text = std::string(kLengthBytes, '\0') + "{\"" + std::string(kMetadataKey) +
         "\":";
  if (!AppendAdmitted(text, MetadataText(std::move(metadata)))) {
    return std::nullopt;
  }
  uint64_t data = 0;
  for (const uint32_t i : layout.order) {
    const ArrayInfo& array = arrays[i];
    const std::optional<uint64_t> end = CheckedAdd(data, BytesOf(array));
    if (!end || *end > INT64_MAX) return std::nullopt;
    const std::string rest =
        ":{\"dtype\":\"" + std::string(TypeName(array.dtype)) +
        "\",\"shape\":" + JsonLine(array.shape) + ",\"data_offsets\":[" +
        std::to_string(data) + "," + std::to_string(*end) + "]}";
    if (!AppendAdmitted(text, ",") ||
        !AppendAdmitted(text, JsonLine(names[i])) ||
        !AppendAdmitted(text, rest)) {
      return std::nullopt;
    }
    data = *end;
    if (text.size() > kMaxHeader) return std::nullopt;
  }
  if (!AdmitGrowth(text, 1 + kPage)) return std::nullopt;
  text += '}';
  text.append((kPage - text.size() % kPage) % kPage, ' ');
  if (text.size() > kMaxHeader) return std::nullopt;
  StoreLe(uint64_t{text.size() - kLengthBytes},
          reinterpret_cast<std::byte*>(text.data()));
  layout.size = text.size() + data;
  return layout;
}

namespace {

/// Returns the container's metadata, with further keys from its descriptions.
/// Fails only with a passing error.
Result<Json> MetadataOf(const Viewed& viewed, const ReadContext& context) {
  Json all = viewed.container->Metadata(context);
  if (all.is_discarded()) {
    return Error{Code::kIo, "the metadata cannot be read", kNoOffset, EIO};
  }
  if (!all.is_object()) all = Json::object();
  for (const Document& document : viewed.exports.documents) {
    if (document.role != DocumentRole::kDescription) continue;
    const Result<Content> content =
        document.table->Open(document.file, context);
    if (!content && content.error().Passing()) return content.error();
    if (!content || content->size() > kMaxMetadata) continue;
    const Result<std::string> text = ReadAll(*content, context);
    if (!text && text.error().Passing()) return text.error();
    if (!text) continue;
    const Result<ParsedJson> parsed =
        ParseJson(*text, context, JsonDialect::kPython);
    if (!parsed || !parsed->value.is_object()) continue;
    for (const auto& [key, value] : parsed->value.items()) {
      if (!all.contains(key)) all[key] = value;
    }
  }
  return all;
}

/// Returns `arrays` without the widened ones.
Arrays AsStored(Arrays arrays) {
  const auto widened = [](const ArrayInfo& array) { return array.widened; };
  if (std::none_of(arrays->begin(), arrays->end(), widened)) return arrays;
  // If memory is refused, this returns no arrays, and the caller discards the
  // views.
  std::vector<ArrayInfo> some;
  if (HeapAllowance::Admit(arrays->size() * sizeof(ArrayInfo))) {
    some = *arrays;
    std::erase_if(some, widened);
  }
  return std::make_shared<const std::vector<ArrayInfo>>(std::move(some));
}

}  // namespace

Status AddSafetensorsFile(const Viewed& viewed, std::string path,
                          const ReadContext& context, ViewTables& into) {
  const Arrays arrays = AsStored(viewed.arrays);
  if (arrays->empty()) return {};
  Json metadata = CTXFS_TRY(MetadataOf(viewed, context));
  std::optional<SafetensorsLayout> layout =
      LayOutSafetensors(*arrays, std::move(metadata));
  if (!layout) return {};
  auto open = [arrays, order = std::move(layout->order),
               header = LiteralContent(std::move(layout->header))](
                  const ReadContext& request) -> Result<Content> {
    Content content = header;
    for (const uint32_t i : order) {
      content.Append(ElementsAmongOthers((*arrays)[i], request));
    }
    return content;
  };
  into.push_back(OpenedFile(Role::kPrimary, std::move(path), std::move(open),
                            {.size = layout->size}));
  return {};
}

namespace {

bool MayHaveSafetensors(const Exports& exports) {
  return exports.arrays != nullptr && !exports.bundle_name.empty();
}

Status MakeSafetensors(const Viewed& viewed, const ReadContext& context,
                       ViewTables& into) {
  const std::string name =
      std::string(viewed.exports.bundle_name) + ".safetensors";
  if (!IsComplete(viewed, name, into)) return {};
  return AddSafetensorsFile(viewed, name, context, into);
}

}  // namespace

extern const View kSafetensorsView;
const View kSafetensorsView{"safetensors", &MayHaveSafetensors,
                            &MakeSafetensors};

}  // namespace ctxfs

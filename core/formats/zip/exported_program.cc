// SPDX-License-Identifier: Apache-2.0
//
// Programs saved by torch.export (docs/formats/zip.md, section 16):
//
//   TOP/archive_format                               "pt2"
//   TOP/byteorder                                    "little" or "big"
//   TOP/data/weights/MODEL_weights_config.json       describes the weights:
//                                                    names, types, members
//   TOP/data/weights/weight_0                        elements of a storage
//   TOP/data/constants/MODEL_constants_config.json   describes the constants
//   TOP/data/constants/tensor_0                      elements of a storage
#include "core/formats/zip/exported_program.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/content/strided.h"
#include "core/formats/zip/limits.h"
#include "core/formats/zip/member_text.h"

namespace ctxfs::zip {
namespace {

constexpr size_t kMaxDimensions = 64;
constexpr size_t kMaxDocuments = 64;
// Bytes of all documents: enough for some 85,000 tensors, and at most
// kCompressedText more than the bytes of the archive. torch does not compress
// documents.
constexpr uint64_t kMaxText = 16 * limits::kMiB;
constexpr uint64_t kCompressedText = limits::kMiB;
// Bytes of memory that a tensor takes, without its dimensions.
constexpr uint64_t kTensorBytes = 512;
// Bytes of memory that a dimension of a tensor takes.
constexpr uint64_t kDimensionBytes = 4 * sizeof(uint64_t);

/// Returns the dtype for torch's ScalarType in torch/_export/serde/schema.py.
std::optional<DType> TypeOf(const Json& code) {
  constexpr std::array kTypes = {
      std::pair(1, DType::kU8),          std::pair(2, DType::kI8),
      std::pair(3, DType::kI16),         std::pair(4, DType::kI32),
      std::pair(5, DType::kI64),         std::pair(6, DType::kF16),
      std::pair(7, DType::kF32),         std::pair(8, DType::kF64),
      std::pair(9, DType::kC32),         std::pair(10, DType::kC64),
      std::pair(11, DType::kC128),       std::pair(12, DType::kBool),
      std::pair(13, DType::kBf16),       std::pair(28, DType::kU16),
      std::pair(29, DType::kF8E4M3),     std::pair(30, DType::kF8E5M2),
      std::pair(31, DType::kF8E4M3Fnuz), std::pair(32, DType::kF8E5M2Fnuz),
      std::pair(33, DType::kF8E8M0),     std::pair(34, DType::kU32),
      std::pair(35, DType::kU64)};
  if (!code.is_number_integer()) return std::nullopt;
  for (const auto& [number, dtype] : kTypes) {
    if (code == number) return dtype;
  }
  return std::nullopt;
}

/// Returns the member `name` of an object; null if missing.
const Json& At(const Json& object, const char* name) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

/// Returns N of {"as_int": N}; nullopt if N is not an integer, or negative.
std::optional<uint64_t> NumberOf(const Json& described) {
  const Json& number = At(described, "as_int");
  if (!number.is_number_unsigned()) return std::nullopt;
  return number.get<uint64_t>();
}

std::optional<std::vector<uint64_t>> NumbersOf(const Json& list) {
  if (!list.is_array() || list.size() > kMaxDimensions) return std::nullopt;
  std::vector<uint64_t> numbers;
  for (const Json& one : list) {
    const auto number = NumberOf(one);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

/// Returns the number of elements of a shape; nullopt on overflow.
std::optional<uint64_t> ElementsOf(const std::vector<uint64_t>& shape) {
  std::optional<uint64_t> elements = 1;
  for (const uint64_t size : shape) {
    elements = CheckedMul(*elements, size);
    if (!elements) return std::nullopt;
  }
  return elements;
}

/// Whether all elements of `layout` are among the `stored` elements of a
/// storage.
bool Fits(const StridedLayout& layout, uint64_t stored) {
  uint64_t last = layout.offset;
  for (size_t i = 0; i < layout.shape.size(); ++i) {
    if (layout.shape[i] == 0) return true;
    const auto span = CheckedMul(layout.shape[i] - 1, layout.strides[i]);
    const auto sum = span ? CheckedAdd(last, *span) : std::nullopt;
    if (!sum) return false;
    last = *sum;
  }
  return last < stored;
}

}  // namespace

std::shared_ptr<const ExportedProgram> ExportedProgram::Find(
    std::shared_ptr<const Archive> archive) {
  std::shared_ptr<ExportedProgram> found(
      new ExportedProgram(std::move(archive)));
  return found->FindDocuments() ? found : nullptr;
}

bool ExportedProgram::FindDocuments() {
  constexpr std::string_view kFormat = "/archive_format";
  const uint32_t count = archive_->count();
  for (uint32_t i = 0; i < count && top_.empty(); ++i) {
    const std::string_view name = archive_->Name(i);
    if (!name.ends_with(kFormat)) continue;
    top_ = name.substr(0, name.size() - kFormat.size() + 1);
  }
  if (top_.empty()) return false;
  AddDocuments("weights");
  AddDocuments("constants");
  several_ = std::ranges::any_of(documents_, [this](const Document& one) {
    return one.model != documents_.front().model;
  });
  return !documents_.empty();
}

void ExportedProgram::AddDocuments(std::string_view kind) {
  const std::string directory = fmt::format("data/{}/", kind);
  const std::string suffix = fmt::format("_{}_config.json", kind);
  const std::string prefix = top_ + directory;
  for (uint32_t i = 0; i < archive_->count(); ++i) {
    std::string_view name = archive_->Name(i);
    if (archive_->member(i).kind != Kind::kFile || !name.starts_with(prefix) ||
        !name.ends_with(suffix) ||
        name.size() <= prefix.size() + suffix.size()) {
      continue;
    }
    if (documents_.size() == kMaxDocuments) break;
    name.remove_prefix(prefix.size());
    name.remove_suffix(suffix.size());
    documents_.push_back({i, directory, std::string(name)});
  }
}

Result<ExportedProgram::Members> ExportedProgram::BelowTop(
    const ReadContext& context) const {
  constexpr uint64_t kBytes = 64;  // bytes of a table entry
  constexpr uint32_t kPerCheck = 4096;
  Members members;
  for (uint32_t i = 0; i < archive_->count(); ++i) {
    if (i % kPerCheck == 0) CTXFS_TRY(context.Check());
    const std::string_view name = archive_->Name(i);
    if (archive_->member(i).kind != Kind::kFile || !name.starts_with(top_)) {
      continue;
    }
    CTXFS_TRY(HeapAllowance::Admit(kBytes));
    members.emplace(name.substr(top_.size()), i);
  }
  return members;
}

Result<bool> ExportedProgram::IsBigEndian(const Members& members,
                                          const ReadContext& context) const {
  const auto found = members.find("byteorder");
  if (found == members.end()) return false;
  constexpr uint64_t kMax = 16;
  const std::string order =
      CTXFS_TRY(MemberText(*archive_, found->second, kMax, context));
  return order.starts_with("big");
}

std::optional<ArrayInfo> ExportedProgram::ArrayOf(const std::string& directory,
                                                  const Json& described,
                                                  const Members& members,
                                                  bool big_endian) const {
  const Json& path = At(described, "path_name");
  const Json& meta = At(described, "tensor_meta");
  const auto dtype = TypeOf(At(meta, "dtype"));
  auto shape = NumbersOf(At(meta, "sizes"));
  auto strides = NumbersOf(At(meta, "strides"));
  const auto offset = NumberOf(At(meta, "storage_offset"));
  const bool pickled = At(described, "use_pickle") == Json(true);
  if (!path.is_string() || pickled || !dtype || !shape || !strides || !offset ||
      shape->size() != strides->size()) {
    return std::nullopt;
  }
  const auto member = members.find(directory + path.get<std::string>());
  const auto elements = ElementsOf(*shape);
  const auto width = static_cast<uint32_t>(DTypeSize(*dtype));
  if (member == members.end() || !elements || !CheckedMul(*elements, width)) {
    return std::nullopt;
  }
  StridedLayout layout;
  layout.width = width;
  layout.shape = *shape;
  layout.strides = std::move(*strides);
  layout.offset = *offset;
  layout.float_width = IsComplex(*dtype) ? width / 2 : width;
  if (big_endian) layout.swap = layout.float_width;
  if (!Fits(layout, archive_->Size(member->second) / width)) {
    return std::nullopt;
  }
  ArrayInfo array;
  array.dtype = *dtype;
  array.shape = std::move(*shape);
  array.opening_reads = true;
  // The low 32 bits of a key number the pieces of a member, which has fewer
  // than 2^32 pieces.
  const Key key{owner_, uint64_t{member->second} << 32};
  array.open = [archive = archive_, number = member->second, key,
                empty = *elements == 0,
                layout](const ReadContext& context) -> Result<Content> {
    if (empty) return Content();
    const Content stored = CTXFS_TRY(archive->Open(number, context));
    return StridedContent(key, stored, layout);
  };
  return array;
}

Status ExportedProgram::AddTensors(const Document& document,
                                   const Members& members,
                                   const ReadContext& context, uint64_t& room,
                                   std::vector<Named>& tensors) const {
  const uint64_t size = archive_->Size(document.member);
  if (size > room) return {};
  room -= size;
  const Json json =
      CTXFS_TRY(MemberJson(*archive_, document.member, size, context));
  const Json& config = At(json, "config");
  if (!config.is_object()) return {};
  const bool big_endian = CTXFS_TRY(IsBigEndian(members, context));
  for (const auto& [name, described] : config.items()) {
    CTXFS_TRY(context.Check());
    if (tensors.size() >= kMaxArrays) break;
    std::optional<ArrayInfo> array =
        ArrayOf(document.directory, described, members, big_endian);
    if (!array) continue;
    array->name = several_ ? document.model + "/" + name : name;
    CTXFS_TRY(HeapAllowance::Admit(kTensorBytes +
                                   array->shape.size() * kDimensionBytes));
    tensors.push_back(
        {std::move(*array), At(described, "is_param") == Json(true)});
  }
  return {};
}

Result<std::vector<ExportedProgram::Named>> ExportedProgram::Tensors(
    const ReadContext& context) const {
  std::vector<Named> tensors;
  const Members members = CTXFS_TRY(BelowTop(context));
  uint64_t room =
      std::min(kMaxText, kCompressedText + archive_->source()->stored_size());
  for (const Document& document : documents_) {
    CTXFS_TRY(AddTensors(document, members, context, room, tensors));
  }
  return tensors;
}

std::vector<ArrayInfo> ExportedProgram::Arrays(
    const ReadContext& context) const {
  std::vector<ArrayInfo> arrays;
  Result<std::vector<Named>> tensors = Tensors(context);
  if (!tensors) return arrays;
  arrays.reserve(tensors->size());
  for (Named& tensor : *tensors) arrays.push_back(std::move(tensor.array));
  return arrays;
}

Status ExportedProgram::AddFacts(const ReadContext& context,
                                 Facts& facts) const {
  const std::vector<Named> tensors = CTXFS_TRY(Tensors(context));
  uint64_t parameters = 0;
  for (const Named& tensor : tensors) {
    if (!tensor.is_parameter) continue;
    parameters += ElementsOf(tensor.array.shape).value_or(0);
  }
  facts.Add("parameters", parameters);
  facts.Add("tensors", tensors.size());
  return {};
}

}  // namespace ctxfs::zip

// SPDX-License-Identifier: Apache-2.0
//
// MCF, a model in one file (docs/formats/mcf.md): header, section directory and
// TensorIndex, and the checks of section 11.
//
//   0                   header, 40 bytes; bytes after them are skipped
//   section_dir_offset  directory, section_count records of 24 bytes; writers
//                       put it at the end of the file
//   anywhere            sections: TensorIndex (records of 40 bytes, dims and
//                       names, at offsets relative to the section), TensorData,
//                       ModelInfo, QuantInfo, and copies of files of the model
#include "core/formats/mcf/mcf.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/base/rank.h"
#include "core/base/text/text.h"
#include "core/container/open.h"
#include "core/formats/mcf/limits.h"

namespace ctxfs::mcf {

namespace {

constexpr uint32_t kMagic = 0x0046434D;  // "MCF\0"
constexpr uint64_t kHeaderSize = 40;
constexpr uint64_t kSectionSize = 24;
constexpr uint64_t kSectionAlignment = 8;
constexpr uint64_t kIndexHeaderSize = 48;
constexpr uint64_t kDimSize = 8;
constexpr uint32_t kHighestDType = 0xFFFF;

// Offsets of fields in the header, a directory record, the index and its
// records, for positions of faults.
constexpr uint64_t kMajorAt = 4;
constexpr uint64_t kHeaderSizeAt = 8;
constexpr uint64_t kSectionCountAt = 12;
constexpr uint64_t kDirectoryAt = 16;
constexpr uint64_t kFileSizeAt = 24;
constexpr uint64_t kOffsetAt = 8;
constexpr uint64_t kTensorCountAt = 8;
constexpr uint64_t kEntriesAt = 16;
constexpr uint64_t kDimsAt = 24;
constexpr uint64_t kStringsAt = 32;
constexpr uint64_t kDTypeAt = 8;
constexpr uint64_t kRankAt = 12;
constexpr uint64_t kDataOffsetAt = 24;

bool Probe(Bytes head) {
  return head.size() >= 4 && LoadLe<uint32_t>(head.data()) == kMagic;
}

}  // namespace

Status McfContainer::Load(const ReadContext& context) {
  CTXFS_TRY(ReadHeader(context));
  CTXFS_TRY(ReadDirectory(context));
  if (const McfSection* data = Find(kMcfTensorData)) tensor_data_ = *data;
  // From here on, damage does not refuse the container (docs/formats/mcf.md,
  // section 12).
  if (const McfSection* index = Find(kMcfTensorIndex)) {
    if (Status read = ReadTensorIndex(*index, context); !read) {
      if (!read.error().Permanent()) return read;
      tensor_count_ = 0;
      Warn({"TensorIndex, so no tensors: " + read.error().what,
            read.error().offset, Severity::kDamage});
    }
    NoteTensorsOutsideData();
  } else if (tensor_data_ && NeededSize() <= source()->size()) {
    Warn({"there is TensorData, but no TensorIndex"});
  }
  if (const McfSection* info = Find(kMcfModelInfo)) {
    CTXFS_TRY(ReadModelInfo(*info, context));
  }
  if (const McfSection* info = Find(kMcfQuantInfo)) {
    CTXFS_TRY(ReadQuantInfo(*info, context));
  }
  return {};
}

Status McfContainer::Fault(Error error) {
  if (!options_.salvage) return error;
  Warn({std::move(error.what), error.offset, Severity::kDamage});
  return {};
}

Status McfContainer::ReadHeader(const Request& request) {
  const uint64_t size = source()->size();
  if (size < kHeaderSize) {
    return Error{Code::kCorrupt, "the file ends within the header of 40 bytes",
                 size};
  }
  const Buffer bytes =
      CTXFS_TRY(ReadBuffer(*source(), 0, kHeaderSize, "header", request));
  ByteReader in(bytes.span());
  in.Skip(4);  // the magic, checked by the probe
  header_.major = in.U16();
  header_.minor = in.U16();
  header_.header_size = in.U32();
  header_.section_count = in.U32();
  header_.section_dir_offset = in.U64();
  header_.file_size = in.U64();
  header_.flags = in.U64();

  if (header_.header_size < kHeaderSize) {
    return Error{
        Code::kCorrupt,
        fmt::format("header_size is {}, less than 40", header_.header_size),
        kHeaderSizeAt};
  }
  if (header_.section_count == 0) {
    return Error{Code::kCorrupt, "section_count is 0", kSectionCountAt};
  }
  if (header_.major != 1) {
    return Error{Code::kVersion,
                 fmt::format("MCF version {}.{} is not supported, only 1 is",
                             header_.major, header_.minor),
                 kMajorAt};
  }
  Need(header_.file_size);
  if (header_.file_size != size) {
    const char* how =
        header_.file_size > size ? "truncated" : "followed by other bytes";
    CTXFS_TRY(Fault(
        {Code::kCorrupt,
         fmt::format("the container is {}: file_size {}, but the file has {}",
                     how, header_.file_size, size),
         kFileSizeAt}));
  }
  if (header_.header_size > size) {
    return Error{Code::kCorrupt,
                 fmt::format("the file ends within the header of {} bytes",
                             header_.header_size),
                 kHeaderSizeAt};
  }
  return {};
}

Status McfContainer::ReadDirectory(const Request& request) {
  const uint64_t start = header_.section_dir_offset;
  const uint64_t length = kSectionSize * header_.section_count;
  if (start < header_.header_size) {
    return Error{
        Code::kCorrupt,
        fmt::format("the section directory at {} is within the header", start),
        kDirectoryAt};
  }
  if (!InBounds(start, length, source()->size())) {
    return Error{Code::kCorrupt,
                 fmt::format("the section directory of {} sections at {} runs "
                             "past the end at {}",
                             header_.section_count, start, source()->size()),
                 kDirectoryAt};
  }
  if (header_.section_count > kMaxSections) {
    return OverLimit(fmt::format("section_count {} is", header_.section_count),
                     kMaxSections, kSectionCountAt);
  }
  const Buffer bytes = CTXFS_TRY(
      ReadBuffer(*source(), start, length, "section directory", request));
  ByteReader in(bytes.span());
  for (uint32_t i = 0; i < header_.section_count; ++i) {
    McfSection section;
    section.type = in.U32();
    section.version = in.U32();
    section.offset = in.U64();
    section.size = in.U64();
    if (Status checked = CheckSection(i, section); !checked) {
      CTXFS_TRY(Fault(std::move(checked).error()));
      continue;
    }
    sections_.push_back(section);
  }
  return {};
}

Status McfContainer::CheckSection(uint32_t index,
                                  const McfSection& section) const {
  const uint64_t directory = header_.section_dir_offset;
  const uint64_t directory_end =
      directory + kSectionSize * header_.section_count;
  std::string fault;
  if (!InBounds(section.offset, section.size, source()->size())) {
    fault = fmt::format("runs past the end at {}", source()->size());
  } else if (section.offset < header_.header_size) {
    fault = "overlaps the header";
  } else if (section.offset < directory_end &&
             section.offset + section.size > directory) {
    fault = "overlaps the section directory";
  } else if (section.offset % kSectionAlignment != 0) {
    fault = "does not start at a multiple of 8";
  } else {
    return {};
  }
  return Error{Code::kCorrupt,
               fmt::format("section {}: {} bytes at {}: {}", index,
                           section.size, section.offset, fault),
               directory + kSectionSize * index + kOffsetAt};
}

const McfSection* McfContainer::Find(uint32_t type) const {
  const auto found = std::ranges::find(sections_, type, &McfSection::type);
  return found == sections_.end() ? nullptr : &*found;
}

Status McfContainer::ReadTensorIndex(const McfSection& section,
                                     const Request& request) {
  const Buffer head = CTXFS_TRY(ReadBuffer(
      *source(), section.offset, std::min(section.size, kIndexHeaderSize),
      "TensorIndex", request));
  ByteReader in(head.span(), section.offset);
  const uint32_t version = in.U32();
  tensor_flags_ = in.U32();
  const uint32_t count = in.U32();
  const uint32_t dims_count = in.U32();
  const uint64_t entries = in.U64();
  const uint64_t dims = in.U64();
  const uint64_t strings = in.U64();
  const uint64_t strings_size = in.U64();
  const auto corrupt = [&section](std::string what, uint64_t at) {
    return Error{Code::kCorrupt, std::move(what), section.offset + at};
  };
  if (!in.ok()) return corrupt("it ends within its header of 48 bytes", 0);
  if (version != 1) {
    return Error{Code::kVersion,
                 fmt::format("its version is {}, not 1", version),
                 section.offset};
  }
  if (count == 0) return corrupt("tensor_count is 0", kTensorCountAt);
  if (!InBounds(entries, McfTensor::kSize * count, section.size)) {
    return corrupt(fmt::format("{} entries run past its end", count),
                   kEntriesAt);
  }
  if (!InBounds(dims, kDimSize * dims_count, section.size)) {
    return corrupt(fmt::format("{} dims run past its end", dims_count),
                   kDimsAt);
  }
  if (!InBounds(strings, strings_size, section.size)) {
    return corrupt("the names run past its end", kStringsAt);
  }
  if (count > kMaxTensors) {
    return OverLimit(fmt::format("tensor_count {} is", count), kMaxTensors,
                     section.offset + kTensorCountAt);
  }
  entries_at_ = section.offset + entries;
  entries_ =
      CTXFS_TRY(ReadBuffer(*source(), entries_at_, McfTensor::kSize * count,
                           "tensor entries", request));
  tensor_count_ = count;

  const Used used = CTXFS_TRY(CheckTensors(dims_count, strings_size));
  Buffer dim_table = CTXFS_TRY(ReadBuffer(
      *source(), section.offset + dims, used.dims * kDimSize, "dims", request));
  Buffer names = CTXFS_TRY(ReadBuffer(*source(), section.offset + strings,
                                      used.names, "tensor names", request));
  dims_ = std::move(dim_table);
  names_ = std::move(names);
  return {};
}

Result<McfContainer::Used> McfContainer::CheckTensors(
    uint64_t dims_count, uint64_t strings_size) const {
  Used used;
  // Tensors can share dims and names, so the sums over all tensors are limited,
  // too, not only the bytes that are read.
  uint64_t all_dims = 0;
  uint64_t all_names = 0;
  for (uint32_t i = 0; i < tensor_count_; ++i) {
    const McfTensor tensor = Tensor(i);
    const auto fault = [&](Code code, const std::string& what, uint64_t field) {
      return Error{code, fmt::format("tensor {}: {}", i, what),
                   entries_at_ + McfTensor::kSize * i + field};
    };
    if (!InBounds(tensor.name_offset, tensor.name_length, strings_size)) {
      return fault(Code::kCorrupt, "its name is outside the names", 0);
    }
    if (tensor.dtype > kHighestDType) {
      const std::string dtype = fmt::format("dtype {}", tensor.dtype);
      return fault(Code::kCorrupt, dtype + " is over 65535", kDTypeAt);
    }
    if (tensor.rank > 0 &&
        !InBounds(tensor.dim_offset, tensor.rank, dims_count)) {
      return fault(Code::kCorrupt, "its dims are outside the dims", kRankAt);
    }
    all_names += tensor.name_length;
    all_dims += tensor.rank;
    used.names =
        std::max(used.names, uint64_t{tensor.name_offset} + tensor.name_length);
    if (tensor.rank > 0) {
      used.dims =
          std::max(used.dims, uint64_t{tensor.dim_offset} + tensor.rank);
    }
    if (std::max(all_names, used.names) > limits::kNameBytes) {
      const std::string most = fmt::format("{} bytes", limits::kNameBytes);
      return fault(Code::kLimit, "the names take more than " + most, 0);
    }
    if (std::max(all_dims, used.dims) > kMaxDims) {
      const std::string most = fmt::format("{} dims", kMaxDims);
      return fault(Code::kLimit, "the shapes take more than " + most, kRankAt);
    }
  }
  return used;
}

bool McfContainer::LiesInTensorData(const McfTensor& tensor) const {
  return tensor_data_ && tensor.data_offset >= tensor_data_->offset &&
         InBounds(tensor.data_offset - tensor_data_->offset, tensor.data_size,
                  tensor_data_->size);
}

void McfContainer::NoteTensorsOutsideData() {
  uint32_t outside = 0;
  uint32_t first = 0;
  for (uint32_t i = 0; i < tensor_count_; ++i) {
    if (LiesInTensorData(Tensor(i)) || TensorFault(i)) continue;
    if (outside++ == 0) first = i;
  }
  if (outside == 0) return;
  Warn({fmt::format("{} tensors are outside the TensorData section, the first "
                    "of them {}",
                    outside, Label(first)),
        entries_at_ + McfTensor::kSize * first + kDataOffsetAt});
}

McfTensor McfContainer::Tensor(uint32_t entry) const {
  ByteReader in(
      entries_.span().subspan(McfTensor::kSize * entry, McfTensor::kSize));
  McfTensor tensor;
  tensor.name_offset = in.U32();
  tensor.name_length = in.U32();
  tensor.dtype = in.U32();
  tensor.rank = in.U32();
  tensor.dim_offset = in.U32();
  in.Skip(4);  // reserved
  tensor.data_offset = in.U64();
  tensor.data_size = in.U64();
  return tensor;
}

std::vector<uint64_t> McfContainer::Shape(const McfTensor& tensor) const {
  // Memory of a dim, including its JSON, which takes several times as much as
  // the number. If memory is refused, the caller fails and discards the empty
  // shape.
  constexpr uint64_t kBytesADim = 64;
  if (tensor.rank > limits::kArrayRank &&
      !HeapAllowance::Admit(kBytesADim * tensor.rank)) {
    return {};
  }
  std::vector<uint64_t> shape(tensor.rank);
  for (size_t i = 0; i < shape.size(); ++i) {
    shape[i] =
        LoadLe<uint64_t>(dims_.data() + (tensor.dim_offset + i) * kDimSize);
  }
  return shape;
}

std::string McfContainer::Label(uint32_t entry) const {
  return fmt::format("tensor {} {}", entry, Quote(TensorName(entry)));
}

std::string_view McfContainer::TensorName(uint32_t entry) const {
  const McfTensor tensor = Tensor(entry);
  return AsText(names_.span().subspan(tensor.name_offset, tensor.name_length));
}

std::optional<Error> McfContainer::TensorFault(uint32_t entry) const {
  const McfTensor tensor = Tensor(entry);
  if (InBounds(tensor.data_offset, tensor.data_size, source()->size())) {
    return std::nullopt;
  }
  return Error{
      Code::kCorrupt,
      fmt::format("{}: {} bytes at {} run past the end at {}", Label(entry),
                  tensor.data_size, tensor.data_offset, source()->size()),
      entries_at_ + McfTensor::kSize * entry + kDataOffsetAt};
}

uint64_t McfContainer::TensorSize(uint32_t entry) const {
  return TensorFault(entry) ? 0 : Tensor(entry).data_size;
}

Result<Content> McfContainer::OpenTensor(uint32_t entry,
                                         const Request& /*request*/) const {
  if (std::optional<Error> fault = TensorFault(entry)) return *std::move(fault);
  const McfTensor tensor = Tensor(entry);
  return Content(Range{source(), tensor.data_offset, nullptr},
                 tensor.data_size);
}

}  // namespace ctxfs::mcf

namespace ctxfs {

extern const Format kMcf{.name = "mcf",
                         .contents = "model weights, config and tokenizer",
                         .extensions = "mcf",
                         .golden = "mcf",
                         .docs = "mcf",
                         .probe = &mcf::Probe,
                         .open = &OpenAs<mcf::McfContainer>,
                         .traits = {.index_at_end = true}};

}  // namespace ctxfs

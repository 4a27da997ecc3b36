// SPDX-License-Identifier: Apache-2.0
//
// Implements .npy, one array of numpy (docs/formats/npy.md): the header
// (header.h), then the elements. numpy.save can append further arrays; bytes
// after the elements are not shown.
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/dtype.h"
#include "core/container/bytes_after.h"
#include "core/container/documents.h"
#include "core/container/facts/facts.h"
#include "core/container/file_set.h"
#include "core/container/format.h"
#include "core/container/open.h"
#include "core/formats/npy/header.h"
#include "core/formats/npy/limits.h"

namespace ctxfs::npy {
namespace {

constexpr std::string_view kName = "array";
// The first bytes of a file, which contain the length of the header.
constexpr uint64_t kStart = 12;

class NpyContainer final : public Container, public SaysFacts {
 public:
  NpyContainer(std::shared_ptr<const Source> source, const OpenOptions& options)
      : Container(std::move(source)), options_(options) {}

  Status Load(const ReadContext& context);
  Tables Files() const override;
  Exports Export() const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;

 private:
  void AddInfo(Json& info, const ReadContext& context) const override;

  /// Reads the header. If the elements are not numbers, sets `other_`.
  Status ReadHeader(const Request& request);
  /// Sets stored_bytes_. Fails if the file is truncated; with salvage, sets
  /// `cut_` and warns instead. Warns of bytes after the elements.
  Status CheckSize(const ReadContext& context);

  bool is_array() const { return !other_ && !cut_; }
  Content StoredElements() const {
    return {Range{source(), array_.data_offset, nullptr}, stored_bytes_};
  }
  Content Elements() const {
    const Content file(Range{source(), 0, nullptr},
                       array_.data_offset + stored_bytes_);
    return npy::Elements({owner_, 0}, array_, file);
  }
  EntryInfo Describe(bool stored) const;

  /// Returns a note on big-endian elements and on Fortran order, which are
  /// rare; empty for the usual orders.
  std::string OrderNote() const;
  std::shared_ptr<const FileTable> StoredFile() const;
  std::shared_ptr<const FileTable> ArrayFile() const;
  std::shared_ptr<const FileTable> Header() const;

  const OpenOptions options_;
  const uint64_t owner_ = NewOwner();
  Array array_;  // if `other_` is set, only data_offset is known
  uint64_t stored_bytes_ = 0;
  std::optional<Error> other_;  // why the elements are not numbers
  std::optional<Error> cut_;    // salvaged: the file is truncated
};

Status NpyContainer::ReadHeader(const Request& request) {
  const uint64_t size = source()->size();
  const Buffer start = CTXFS_TRY(ReadBuffer(
      *source(), 0, std::min(size, kStart), "start of the header", request));
  const uint64_t bytes = CTXFS_TRY(HeaderBytes(start.span()));
  const Buffer header = CTXFS_TRY(
      ReadBuffer(*source(), 0, std::min(size, bytes), "header", request));
  Result<Array> array = ReadArray(header.span());
  if (array) {
    array_ = *std::move(array);
    return {};
  }
  if (array.error().code != Code::kUnsupported) return array.error();
  other_ = std::move(array).error();
  array_.data_offset = bytes;
  return {};
}

Status NpyContainer::CheckSize(const ReadContext& context) {
  const uint64_t there = source()->size() - array_.data_offset;
  const uint64_t needed =
      other_ ? there : ElementBytes(array_).value_or(UINT64_MAX);
  if (needed > there) {
    Need(CheckedAdd(array_.data_offset, needed).value_or(UINT64_MAX));
    cut_ = WrongSize(array_, source()->size());
    if (!options_.salvage) return *cut_;
    Warn({cut_->what, cut_->offset, Severity::kOfEntries});
    return {};
  }
  stored_bytes_ = needed;
  if (needed == there) return {};
  Warn(CTXFS_TRY(BytesAfter(
      *source(), array_.data_offset + needed,
      fmt::format("the last {} bytes are not of the array", there - needed),
      options_.formats, context)));
  return {};
}

Status NpyContainer::Load(const ReadContext& context) {
  CTXFS_TRY(ReadHeader(context));
  return CheckSize(context);
}

std::string NpyContainer::OrderNote() const {
  if (!array_.fortran_order && !array_.big_endian) return {};
  if (!array_.fortran_order) return "the elements are big-endian";
  return array_.big_endian ? "the elements are big-endian and in Fortran order"
                           : "the elements are in Fortran order";
}

EntryInfo NpyContainer::Describe(bool stored) const {
  EntryInfo info;
  info.name = kName;
  info.kind = "array";
  info.size = stored_bytes_;
  info.stored_size = stored_bytes_;
  info.offset = array_.data_offset;
  info.computed = !stored;
  info.verified = "none";
  if (other_) {
    info.note = "not in views: " + other_->what;
    return info;
  }
  info.dtype = DTypeName(array_.dtype);
  info.shape = array_.shape;
  if (stored && array_.fortran_order) info.extra["order"] = "fortran";
  if (stored && array_.big_endian) info.extra["byte_order"] = "big";
  if (stored) info.note = OrderNote();
  if (cut_) info.note = cut_->what;
  return info;
}

Container::Tables NpyContainer::Files() const {
  Tables files = {StoredFile(), Header()};
  if (is_array()) files.push_back(ArrayFile());
  return files;
}

std::shared_ptr<const FileTable> NpyContainer::StoredFile() const {
  return MakeTable(
      {.placement = {.role = Role::kEntries},
       .path = [](uint32_t /*file*/, std::string& /*scratch*/)
           -> std::string_view { return kName; },
       .open = [this](uint32_t /*file*/,
                      const ReadContext& /*context*/) -> Result<Content> {
         if (cut_) return *cut_;
         return StoredElements();
       },
       .facts =
           [this](uint32_t /*file*/) {
             return FileFacts{stored_bytes_, cut_};
           },
       .describe =
           [this](uint32_t /*file*/, const ReadContext& /*context*/) {
             return Describe(/*stored=*/true);
           },
       .owner = Share(*this)});
}

std::shared_ptr<const FileTable> NpyContainer::ArrayFile() const {
  return FixedFile(Role::kViews, "arrays/" + std::string(kName), Elements(),
                   Describe(/*stored=*/false));
}

std::shared_ptr<const FileTable> NpyContainer::Header() const {
  return FixedFile(Role::kRaw, "header",
                   Content(Range{source(), 0, nullptr}, array_.data_offset));
}

Exports NpyContainer::Export() const {
  Exports exports;
  if (!is_array()) return exports;
  exports.bundle_name = "arrays";
  exports.arrays = [self = Share(*this)](const ReadContext& /*context*/) {
    ArrayInfo array;
    array.name = kName;
    array.dtype = self->array_.dtype;
    array.shape = self->array_.shape;
    array.open = [self](const ReadContext& /*context*/) -> Result<Content> {
      return self->Elements();
    };
    return std::vector<ArrayInfo>{std::move(array)};
  };
  return exports;
}

void NpyContainer::AddInfo(Json& info, const ReadContext& /*context*/) const {
  info.update({{"format", "npy"},
               {"entries", 1},
               {"header_size", array_.data_offset},
               {"stored_size", stored_bytes_}});
  if (other_) return;
  info.update({{"dtype", DTypeName(array_.dtype)},
               {"shape", array_.shape},
               {"fortran_order", array_.fortran_order},
               {"big_endian", array_.big_endian}});
}

Status NpyContainer::AddFacts(const ReadContext& context, Facts& facts) const {
  CTXFS_TRY(AddArrays(*Entries(), context, facts));
  if (array_.fortran_order) facts.Add("order", "fortran");
  if (array_.big_endian) facts.Add("byte_order", "big");
  if (other_) facts.Add("elements", other_->what);
  return {};
}

}  // namespace
}  // namespace ctxfs::npy

namespace ctxfs {

extern const Format kNpy{.name = "npy",
                         .contents = "one array of NumPy",
                         .extensions = "npy",
                         .golden = "npy",
                         .docs = "npy",
                         .probe = &npy::HasMagic,
                         .open = &OpenAs<npy::NpyContainer>,
                         .traits = {.stays_file = true, .leaf = true}};

}  // namespace ctxfs

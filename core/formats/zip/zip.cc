// SPDX-License-Identifier: Apache-2.0
//
// ZIP archives and NPZ, archives of numpy arrays (docs/zip.md).
//
//   local header, data      of each member, in any order, with gaps
//   central directory       an entry for each member: the authority
//   zip64 record, locator   in large archives
//   end record, 22 bytes, and a comment
#include "core/formats/zip/zip.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/formats/zip/limits.h"
#include "core/formats/zip/npy.h"
#include "core/formats/zip/records.h"

namespace ctxfs::zip {
namespace {

constexpr std::string_view kNpySuffix = ".npy";
// Most headers have 128 bytes.
constexpr uint64_t kFirstRead = 512;

bool IsNpy(const Archive& archive, uint32_t number) {
  return archive.member(number).kind == Kind::kFile &&
         archive.Name(number).ends_with(kNpySuffix);
}

/// The arrays of an archive's .npy members.
class NpyMembers {
 public:
  explicit NpyMembers(std::shared_ptr<const Archive> archive)
      : archive_(std::move(archive)) {}

  const Archive& archive() const { return *archive_; }

  /// NAME of NAME.npy.
  std::string_view Name(uint32_t number) const {
    std::string_view name = archive_->Name(number);
    name.remove_suffix(kNpySuffix.size());
    return name;
  }

  /// Reads the header of a .npy member. Fails as ParseNpy does, and for a
  /// member that cannot be read.
  Result<NpyArray> Header(uint32_t number) const {
    const uint64_t size = archive_->Size(number);
    Result<Buffer> start = archive_->Prefix(number, kFirstRead);
    if (!start) return std::move(start).error();
    const Result<uint64_t> bytes = NpyHeaderBytes(start->span());
    if (!bytes) return bytes.error();
    if (*bytes > start->size() && *bytes <= size) {
      start = archive_->Prefix(number, *bytes);
      if (!start) return std::move(start).error();
    }
    return ParseNpy(start->span(), size);
  }

  Result<Content> Open(uint32_t number) const {
    const Result<NpyArray> array = Header(number);
    if (!array) return array.error();
    const Result<Content> file = archive_->Open(number);
    if (!file) return file.error();
    // The keys of the blocks of a member: it has fewer than 2^32 blocks.
    return NpyElements({owner_, uint64_t{number} << 32}, *array, *file);
  }

 private:
  const std::shared_ptr<const Archive> archive_;
  const uint64_t owner_ = NewOwner();
};

/// views/arrays/NAME: the elements of each .npy member.
class ArrayTable final : public FileTable {
 public:
  explicit ArrayTable(std::shared_ptr<const NpyMembers> arrays)
      : FileTable({.role = Role::kViews, .directory = "arrays"}),
        arrays_(std::move(arrays)) {}

  uint32_t count() const override { return arrays_->archive().count(); }
  std::optional<std::string_view> Path(
      uint32_t file, std::string& /*scratch*/) const override {
    if (!IsNpy(arrays_->archive(), file)) return std::nullopt;
    return arrays_->Name(file);
  }
  Result<bool> Exists(uint32_t file, Cost most,
                      const ReadContext& /*context*/) const override {
    if (most < Cost::kSmallRead) return true;
    const Result<NpyArray> array = arrays_->Header(file);
    if (array) return true;
    if (array.error().Permanent()) return false;
    return array.error();
  }
  Cost exists_cost() const override { return Cost::kSmallRead; }
  Result<uint64_t> Size(uint32_t file,
                        const ReadContext& /*context*/) const override {
    const Result<NpyArray> array = arrays_->Header(file);
    if (array) return arrays_->archive().Size(file) - array->data_offset;
    if (array.error().Permanent()) return uint64_t{0};
    return array.error();
  }
  Cost size_cost(uint32_t /*file*/) const override { return Cost::kSmallRead; }
  Result<Content> Open(uint32_t file,
                       const ReadContext& /*context*/) const override {
    return arrays_->Open(file);
  }
  std::optional<EntryInfo> Describe(
      uint32_t file, const ReadContext& /*context*/) const override {
    const Result<NpyArray> array = arrays_->Header(file);
    if (!array) return std::nullopt;
    EntryInfo info = arrays_->archive().Describe(file);
    info.kind = "array";
    info.name = std::string(arrays_->Name(file));
    info.size -= array->data_offset;
    info.checksum.clear();  // it is of the whole member
    info.computed = true;
    info.dtype = DTypeName(array->dtype);
    info.shape = array->shape;
    return info;
  }

 private:
  const std::shared_ptr<const NpyMembers> arrays_;
};

class Members final : public FileTable {
 public:
  Members(std::shared_ptr<const Archive> archive, Placement placement,
          std::string top)
      : FileTable(std::move(placement)),
        archive_(std::move(archive)),
        top_(std::move(top)) {}

  uint32_t count() const override { return archive_->count(); }
  std::optional<std::string_view> Path(
      uint32_t file, std::string& /*scratch*/) const override {
    const Kind kind = archive_->member(file).kind;
    std::string_view name = archive_->Name(file);
    if (kind == Kind::kLink || !name.starts_with(top_)) return std::nullopt;
    name.remove_prefix(top_.size());
    if (kind == Kind::kDirectory) {
      // Only entries can be directories. "./" and "/" are the root itself.
      if (placement().role != Role::kEntries || name.size() <= 1) {
        return std::nullopt;
      }
      name.remove_suffix(1);
    }
    return name;
  }
  bool IsDirectory(uint32_t file) const override {
    return archive_->member(file).kind == Kind::kDirectory;
  }
  Result<Content> Open(uint32_t file,
                       const ReadContext& /*context*/) const override {
    return archive_->Open(file);
  }
  std::optional<uint64_t> KnownSize(uint32_t file) const override {
    return archive_->Size(file);
  }
  std::optional<EntryInfo> Describe(
      uint32_t file, const ReadContext& /*context*/) const override {
    return archive_->Describe(file);
  }
  std::optional<Error> Fault(uint32_t file) const override {
    return archive_->MemberFault(file);
  }

 private:
  const std::shared_ptr<const Archive> archive_;
  const std::string top_;
};

class ZipContainer final : public Container {
 public:
  explicit ZipContainer(std::shared_ptr<const Archive> archive)
      : Container(archive->source()), archive_(std::move(archive)) {
    WarnAll(archive_->directory().warnings);
    for (uint32_t i = 0; i < archive_->count(); ++i) {
      if (archive_->member(i).kind != Kind::kFile) continue;
      ++files_;
      if (IsNpy(*archive_, i)) ++npy_members_;
    }
  }

  Json Info(const ReadContext& /*context*/) const override {
    const Directory& directory = archive_->directory();
    return {{"format", IsNpz() ? "npz" : "zip"},
            {"entries", archive_->count()},
            {"files", files_},
            {"npy_members", npy_members_},
            {"zip64", directory.end.zip64},
            {"comment_bytes", directory.end.comment_bytes},
            {"bytes_before", directory.end.base},
            {"bytes_after", directory.end.trailing_bytes},
            {"container_size", source()->size()},
            {"warnings", WarningTexts()}};
  }

  Tables Files() const override {
    Tables tables = {MemberTable(
        archive_, {.role = Role::kEntries, .shared = true, .may_nest = true})};
    if (npy_members_ > 0) {
      tables.push_back(std::make_shared<const ArrayTable>(arrays_));
    }
    return tables;
  }

  Exports Export() const override {
    Exports exports;
    if (npy_members_ == 0) return exports;
    exports.bundle_name = "arrays";
    exports.arrays = [arrays = arrays_](const ReadContext& context) {
      return Arrays(arrays, context);
    };
    return exports;
  }

 private:
  bool IsNpz() const { return files_ > 0 && npy_members_ == files_; }

  static std::vector<ArrayInfo> Arrays(
      const std::shared_ptr<const NpyMembers>& members,
      const ReadContext& context) {
    std::vector<ArrayInfo> arrays;
    const uint32_t count = members->archive().count();
    for (uint32_t i = 0; i < count && arrays.size() < kMostArrays; ++i) {
      if (!context.Check()) break;
      if (!IsNpy(members->archive(), i)) continue;
      Result<NpyArray> header = members->Header(i);
      if (!header) continue;
      ArrayInfo array;
      array.name = members->Name(i);
      array.dtype = header->dtype;
      array.shape = std::move(header->shape);
      array.opening_reads = true;
      array.open = [members, i](const ReadContext& /*context*/) {
        return members->Open(i);
      };
      arrays.push_back(std::move(array));
    }
    return arrays;
  }

  const std::shared_ptr<const Archive> archive_;
  const std::shared_ptr<const NpyMembers> arrays_ =
      std::make_shared<const NpyMembers>(archive_);
  uint32_t files_ = 0;
  uint32_t npy_members_ = 0;
};

bool StartsWith(Bytes head, uint32_t signature) {
  return head.size() >= 4 && LoadLe<uint32_t>(head.data()) == signature;
}

/// Whether a file starts with a member, or as an empty archive does.
bool Probe(Bytes head) {
  return StartsWithMember(head) || StartsWith(head, kEndSignature);
}

Result<std::shared_ptr<const Container>> Open(
    std::shared_ptr<const Source> source, const OpenOptions& options,
    const ReadContext& context) {
  Result<Directory> directory = OpenDirectory(*source, options, context);
  if (!directory) return std::move(directory).error();
  return MakeZipContainer(std::move(source), std::move(*directory), options);
}

}  // namespace

bool StartsWithMember(Bytes head) { return StartsWith(head, kLocalSignature); }

Result<Directory> OpenDirectory(const Source& source,
                                const OpenOptions& options,
                                const ReadContext& context) {
  Result<Directory> directory = ReadDirectory(source, context);
  if (directory || !options.salvage || !directory.error().Permanent()) {
    return directory;
  }
  Result<Directory> salvaged = SalvageDirectory(source, context);
  if (!salvaged || salvaged->members.empty()) return directory;
  salvaged->warnings.push_back(
      {directory.error().what, directory.error().offset, /*damage=*/true});
  return salvaged;
}

std::shared_ptr<const FileTable> MemberTable(
    std::shared_ptr<const Archive> archive, Placement placement,
    std::string top) {
  return std::make_shared<const Members>(std::move(archive),
                                         std::move(placement), std::move(top));
}

std::shared_ptr<const Container> MakeZipContainer(
    std::shared_ptr<const Source> source, Directory directory,
    const OpenOptions& options) {
  PreferLastNames(directory);
  return std::make_shared<const ZipContainer>(std::make_shared<const Archive>(
      std::move(source), std::move(directory),
      Archive::Options{.verify = options.verify}));
}

}  // namespace ctxfs::zip

namespace ctxfs {

extern const Format kZip;
const Format kZip{.name = "zip",
                  .contents = "archives, also NumPy's npz",
                  .extensions = "zip npz",
                  .probe = &zip::Probe,
                  .open = &zip::Open,
                  .resembles_source = &zip::HasEndRecord,
                  .stays_file = true};

}  // namespace ctxfs

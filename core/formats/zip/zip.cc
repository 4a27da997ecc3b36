// SPDX-License-Identifier: Apache-2.0
//
// ZIP archives and NPZ, archives of numpy arrays (docs/formats/zip.md).
//
//   local header, data      of each member, in any order, with gaps
//   central directory       an entry for each member; overrides local headers
//   zip64 record, locator   in large archives
//   end record, 22 bytes, and a comment
#include "core/formats/zip/zip.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/container/facts/config_facts.h"
#include "core/container/file_set.h"
#include "core/container/interfaces/has_episode.h"
#include "core/container/put_text.h"
#include "core/formats/npy/header.h"
#include "core/formats/zip/archive_source.h"
#include "core/formats/zip/coverage.h"
#include "core/formats/zip/exported_program.h"
#include "core/formats/zip/keras.h"
#include "core/formats/zip/limits.h"
#include "core/formats/zip/records.h"
#include "core/formats/zip/times.h"

namespace ctxfs::zip {
namespace {

constexpr std::string_view kNpySuffix = ".npy";
// Bytes that are read for a header at first. Most .npy headers have 128 bytes.
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

  /// Returns NAME of NAME.npy.
  std::string_view Name(uint32_t number) const {
    std::string_view name = archive_->Name(number);
    name.remove_suffix(kNpySuffix.size());
    return name;
  }

  /// Reads the header of a .npy member. Also fails as npy::ReadWholeArray does.
  Result<npy::Array> Header(uint32_t number, const Request& request) const {
    Announce(number);
    const uint64_t size = archive_->Size(number);
    Buffer start = CTXFS_TRY(archive_->Prefix(number, kFirstRead, request));
    const uint64_t bytes = CTXFS_TRY(npy::HeaderBytes(start.span()));
    if (bytes > start.size() && bytes <= size) {
      start = CTXFS_TRY(archive_->Prefix(number, bytes, request));
    }
    return npy::ReadWholeArray(start.span(), size);
  }

  /// Adds dtype and shape to `info`, or the reason why views/ omits the array.
  /// Reads the start of the member.
  void DescribeArray(uint32_t number, EntryInfo& info,
                     const Request& request) const {
    Result<npy::Array> array = Header(number, request);
    if (array) {
      info.dtype = DTypeName(array->dtype);
      info.shape = std::move(array->shape);
    } else if (array.error().Permanent()) {
      info.note = "not in views/arrays: " + array.error().what;
    } else {
      info.incomplete = true;
    }
  }

  Result<Content> Open(uint32_t number, const Request& request) const {
    const npy::Array array = CTXFS_TRY(Header(number, request));
    const Content file = CTXFS_TRY(archive_->Open(number, request));
    // A member has fewer than 2^32 blocks, so keys of members do not overlap.
    return npy::Elements({owner_, uint64_t{number} << 32}, array, file);
  }

 private:
  /// Prefetches the next headers if they are read in order. Threads may race:
  /// prefetching twice costs only time.
  void Announce(uint32_t number) const {
    constexpr uint32_t kClose = 4;
    constexpr uint32_t kAhead = 32;
    const uint32_t last = last_.exchange(number);
    if (number <= last || number - last > kClose) {
      announced_ = number;
      return;
    }
    const uint32_t from = std::max<uint32_t>(announced_, number);
    if (from > number + kAhead / 2) return;
    const uint32_t to = std::min(archive_->count(), number + kAhead);
    if (from >= to) return;
    announced_ = to;
    archive_->PrefetchStarts(from, to);
  }

  const std::shared_ptr<const Archive> archive_;
  const uint64_t owner_ = NewOwner();
  mutable std::atomic<uint32_t> last_ = 0;
  mutable std::atomic<uint32_t> announced_ = 0;  // prefetched up to here
};

/// Returns views/arrays/NAME: the elements of each .npy member.
std::shared_ptr<const FileTable> ArrayFiles(
    const std::shared_ptr<const NpyMembers>& arrays) {
  const auto describe =
      [arrays](uint32_t file,
               const ReadContext& context) -> std::optional<EntryInfo> {
    const Result<npy::Array> array = arrays->Header(file, context);
    if (!array) return std::nullopt;
    EntryInfo info = arrays->archive().Describe(file);
    info.kind = "array";
    info.name = std::string(arrays->Name(file));
    info.size -= array->data_offset;
    info.checksum.clear();  // covers the whole member
    info.computed = true;
    info.dtype = DTypeName(array->dtype);
    info.shape = array->shape;
    return info;
  };
  return MakeTable(
      {.placement = {.role = Role::kViews,
                     .directory = "arrays",
                     .exists_cost = Cost::kSmallRead},
       .count = arrays->archive().count(),
       .path = [arrays](uint32_t file, std::string& /*scratch*/)
           -> std::optional<std::string_view> {
         if (!IsNpy(arrays->archive(), file)) return std::nullopt;
         return arrays->Name(file);
       },
       .open =
           [arrays](uint32_t file, const ReadContext& context) {
             return arrays->Open(file, context);
           },
       .facts =
           [](uint32_t /*file*/) {
             return FileFacts{.size_cost = Cost::kSmallRead};
           },
       .size = [arrays](uint32_t file,
                        const ReadContext& context) -> Result<uint64_t> {
         const Result<npy::Array> array = arrays->Header(file, context);
         if (!array) return SizeIn(array, &npy::Array::data_offset);
         return arrays->archive().Size(file) - array->data_offset;
       },
       .exists = [arrays](uint32_t file, Cost most,
                          const ReadContext& context) -> Result<bool> {
         if (most < Cost::kSmallRead) return true;
         return ExistsIf(arrays->Header(file, context));
       },
       .describe = describe});
}

/// An archive's members. `arrays` (or null) describes the .npy members.
class Members final : public FileTable {
 public:
  Members(std::shared_ptr<const Archive> archive, Placement placement,
          std::string top, std::shared_ptr<const NpyMembers> arrays,
          std::shared_ptr<const Links> links)
      : FileTable(std::move(placement)),
        archive_(std::move(archive)),
        top_(std::move(top)),
        arrays_(std::move(arrays)),
        links_(std::move(links)) {}

  uint32_t count() const override { return archive_->count(); }
  std::optional<std::string_view> Path(
      uint32_t file, std::string& /*scratch*/) const override {
    const Kind kind = archive_->member(file).kind;
    std::string_view name = archive_->Name(file);
    if (!name.starts_with(top_)) return std::nullopt;
    if (kind == Kind::kLink && !Target(file)) return std::nullopt;
    name.remove_prefix(top_.size());
    if (kind == Kind::kDirectory) {
      // Only entries can be directories. "./" and "/" are the root directory.
      if (placement().role != Role::kEntries || name.empty() || name == "/") {
        return std::nullopt;
      }
      if (name.ends_with('/')) name.remove_suffix(1);
    }
    return name;
  }
  FileFacts Facts(uint32_t file) const override {
    FileFacts facts{archive_->Size(file), archive_->MemberFault(file)};
    if (archive_->member(file).kind == Kind::kDirectory) {
      facts.kind = FileKind::kDirectory;
    } else if (const auto target = Target(file)) {
      facts.kind = FileKind::kLink;
      facts.target = *target;
    }
    return facts;
  }
  StoredAttributes StoredAttributesOf(uint32_t file) const override {
    const PackedAttributes& packed = archive_->member(file).attributes;
    return {TimeOf(packed), packed.mode()};
  }
  Result<Content> Open(uint32_t file,
                       const ReadContext& context) const override {
    return archive_->Open(file, context);
  }
  std::optional<EntryInfo> Describe(uint32_t file,
                                    const ReadContext& context) const override {
    EntryInfo info = archive_->Describe(file);
    if (const auto target = Target(file)) {
      PutText(info.extra, "target", *target);
    } else if (archive_->member(file).kind == Kind::kLink) {
      info.note = "not shown: " + info.note;
    } else if (arrays_ != nullptr && IsNpy(*archive_, file) && !Fault(file)) {
      arrays_->DescribeArray(file, info, context);
    }
    return info;
  }

 private:
  /// Returns the target of a shown symbolic link.
  std::optional<std::string_view> Target(uint32_t file) const {
    if (links_ == nullptr) return std::nullopt;
    return links_->Target(file);
  }

  const std::shared_ptr<const Archive> archive_;
  const std::string top_;
  const std::shared_ptr<const NpyMembers> arrays_;
  const std::shared_ptr<const Links> links_;  // null: all links are hidden
};

class ZipContainer final : public Container,
                           public HasEpisode,
                           public SaysFacts {
 public:
  ZipContainer(std::shared_ptr<const Archive> archive,
               std::shared_ptr<const Links> links)
      : Container(archive->source()),
        archive_(std::move(archive)),
        links_(std::move(links)) {
    WarnAll(archive_->directory().warnings);
    WarnAll(links_->warnings());
    const Directory& directory = archive_->directory();
    if (directory.needed > 0) NeedMore(directory.needed, directory.lost);
    for (uint32_t i = 0; i < archive_->count(); ++i) {
      if (archive_->member(i).kind != Kind::kFile) continue;
      ++files_;
      if (!IsNpy(*archive_, i)) continue;
      ++npy_members_;
      names_episode_ = names_episode_ || NamesEpisode(arrays_->Name(i));
    }
  }

  void AddInfo(Json& info, const ReadContext& /*context*/) const override {
    const Directory& directory = archive_->directory();
    info.update({{"format", IsNpz() ? "npz" : "zip"},
                 {"entries", archive_->count()},
                 {"files", files_},
                 {"links", links_->count()},
                 {"npy_members", npy_members_},
                 {"zip64", directory.end.zip64},
                 {"comment_bytes", directory.end.comment_bytes},
                 {"bytes_before", directory.end.base},
                 {"bytes_after", directory.end.trailing_bytes}});
    if (const auto warning = archive_->other_names().Warn()) {
      info["warnings"].push_back(warning->Text());
    }
    if (keras_) {
      info["contents"] = "a Keras 3 model: keras.saving.load_model reads it";
    }
    if (program_ != nullptr) {
      info["contents"] = "a PyTorch program: torch.export.load reads it";
    }
  }

  /// True, as opening a member may reveal another name in its local header.
  bool InfoMayChange() const override { return true; }

  std::vector<Error> Inspect(const ReadContext& context) const override {
    std::vector<Error> faults = Faults();
    for (Error& gap : FindGaps(*source(), archive_->directory(), context)) {
      faults.push_back(std::move(gap));
    }
    return faults;
  }

  Tables Files() const override {
    const Placement entries{.role = Role::kEntries,
                            .shared = true,
                            .may_nest = true,
                            .plain_paths = true,
                            .has_kinds = true};
    Tables tables = {std::make_shared<const Members>(archive_, entries, "",
                                                     arrays_, links_)};
    if (npy_members_ > 0) {
      tables.push_back(ArrayFiles(arrays_));
    }
    return tables;
  }

  Status AddFacts(const ReadContext& context, Facts& facts) const override {
    AddNamed(Info(context), {{"contents", "contents"}}, facts);
    if (keras_) CTXFS_TRY(AddKerasFacts(*archive_, *keras_, context, facts));
    if (program_ != nullptr) CTXFS_TRY(program_->AddFacts(context, facts));
    facts.Add("files", files_);
    facts.Add("links", links_->count());
    return AddArrays(*Entries(), context, facts);
  }

  Exports Export() const override {
    Exports exports;
    if (program_ != nullptr) {
      exports.bundle_name = "model";
      exports.arrays = [program = program_](const ReadContext& context) {
        return program->Arrays(context);
      };
      return exports;
    }
    if (npy_members_ == 0) return exports;
    exports.bundle_name = "arrays";
    exports.arrays = [arrays = arrays_](const ReadContext& context) {
      return Arrays(arrays, context);
    };
    return exports;
  }

  bool MayBeEpisode() const override {
    return names_episode_ && npy_members_ <= kMaxEpisodeArrays;
  }

  std::optional<Episode> AsEpisode(const ReadContext& context) const override {
    std::vector<Episode::Omission> left_out;
    std::vector<ArrayInfo> arrays = Arrays(arrays_, context, &left_out);
    return FindEpisode(std::move(arrays), std::move(left_out));
  }

 private:
  bool IsNpz() const { return files_ > 0 && npy_members_ == files_; }

  static std::vector<ArrayInfo> Arrays(
      const std::shared_ptr<const NpyMembers>& members,
      const ReadContext& context,
      std::vector<Episode::Omission>* left_out = nullptr) {
    std::vector<ArrayInfo> arrays;
    const uint32_t count = members->archive().count();
    for (uint32_t i = 0; i < count && arrays.size() < kMaxArrays; ++i) {
      if (!context.Check()) break;
      if (!IsNpy(members->archive(), i)) continue;
      Result<npy::Array> header = members->Header(i, context);
      if (!header && left_out != nullptr) {
        left_out->push_back(
            {std::string(members->Name(i)), header.error().Text()});
      }
      if (!header) continue;
      if (!AdmitGrowth(arrays)) break;
      ArrayInfo array;
      array.name = members->Name(i);
      array.dtype = header->dtype;
      array.shape = std::move(header->shape);
      array.opening_reads = true;
      array.open = [members, i](const ReadContext& context) {
        return members->Open(i, context);
      };
      arrays.push_back(std::move(array));
    }
    return arrays;
  }

  const std::shared_ptr<const Archive> archive_;
  const std::shared_ptr<const Links> links_;
  const std::shared_ptr<const NpyMembers> arrays_ =
      std::make_shared<const NpyMembers>(archive_);
  uint32_t files_ = 0;
  uint32_t npy_members_ = 0;
  bool names_episode_ = false;
  const std::optional<KerasMembers> keras_ = FindKerasMembers(*archive_);
  const std::shared_ptr<const ExportedProgram> program_ =
      ExportedProgram::Find(archive_);  // null for any other archive
};

/// Opens an archive as a container of a format whose files its members are.
Result<std::shared_ptr<const Container>> OpenAsFiles(
    std::shared_ptr<const Archive> archive, const Format& format,
    const OpenOptions& options, const ReadContext& context) {
  CTXFS_TRY(HeapAllowance::Admit(archive->count() * sizeof(uint64_t)));
  OpenOptions within = options;
  within.archive = std::make_shared<const ArchiveAround>(
      ArchiveAround{archive->directory().warnings, options.verify});
  return format.open(std::make_shared<const ArchiveSource>(std::move(archive)),
                     within, context);
}

bool StartsWith(Bytes head, uint32_t signature) {
  return head.size() >= 4 && LoadLe<uint32_t>(head.data()) == signature;
}

/// Whether a file starts like a member or an empty archive.
bool Probe(Bytes head) {
  return StartsWithMember(head) || StartsWith(head, kEndSignature);
}

/// Returns `error`, but as kNotContainer if a failed read alone (HasEndRecord)
/// made the file resemble an archive.
Error WhyNone(const Source& source, Error error, const ReadContext& context) {
  const Result<Buffer> head = ReadHead(source, context);
  if (head && !Probe(head->span()) && !HasEndRecord(source, context)) {
    error.code = Code::kNotContainer;
  }
  return error;
}

Result<std::shared_ptr<const Container>> Open(
    std::shared_ptr<const Source> source, const OpenOptions& options,
    const ReadContext& context) {
  Result<Directory> directory = OpenDirectory(*source, options, context);
  if (!directory) return WhyNone(*source, directory.error(), context);
  return MakeZipContainer(std::move(source), *std::move(directory), options,
                          context);
}

}  // namespace

bool StartsWithMember(Bytes head) { return StartsWith(head, kLocalSignature); }

Result<Directory> OpenDirectory(const Source& source,
                                const OpenOptions& options,
                                const ReadContext& context) {
  Result<Directory> directory = ReadDirectory(source, options.formats, context);
  if (directory || !options.salvage || !directory.error().Permanent()) {
    return directory;
  }
  Result<Directory> salvaged =
      ReadDirectory(source, options.formats, context, /*salvage=*/true);
  if (!salvaged) salvaged = SalvageDirectory(source, context);
  if (!salvaged) return directory;
  if (HasEndRecord(source, context)) salvaged->needed = 0;
  if (salvaged->members.empty() && salvaged->needed == 0) return directory;
  salvaged->warnings.push_back(
      {directory.error().what, directory.error().offset, Severity::kDamage});
  return salvaged;
}

std::shared_ptr<const FileTable> MemberTable(
    std::shared_ptr<const Archive> archive, Placement placement,
    std::string top) {
  placement.has_kinds = true;  // the members include directories
  return std::make_shared<const Members>(std::move(archive),
                                         std::move(placement), std::move(top),
                                         nullptr, nullptr);
}

Result<std::shared_ptr<const Container>> MakeZipContainer(
    std::shared_ptr<const Source> source, Directory directory,
    const OpenOptions& options, const ReadContext& context) {
  PreferLastNames(directory);
  // The container's copy of the warnings needs memory, and so do the verdicts.
  CTXFS_TRY(
      HeapAllowance::Admit(directory.WarningBytes() +
                           directory.members.size() * sizeof(AtomicVerdict)));
  const Format* const of_files =
      options.formats == nullptr
          ? nullptr
          : options.formats->OfArchive([&directory](std::string_view name) {
              return HasRootFile(directory, name);
            });
  auto archive = std::make_shared<const Archive>(
      std::move(source), std::move(directory),
      Archive::Options{.verify = options.verify});
  if (of_files != nullptr) {
    return OpenAsFiles(std::move(archive), *of_files, options, context);
  }
  std::shared_ptr<const Links> links =
      CTXFS_TRY(Links::Read(*archive, context));
  return std::shared_ptr<const Container>(std::make_shared<const ZipContainer>(
      std::move(archive), std::move(links)));
}

}  // namespace ctxfs::zip

namespace ctxfs {

extern const Format kZip{.name = "zip",
                         .contents = "archives, also NumPy's npz",
                         .extensions = "zip npz",
                         .golden = "zip npz",
                         .docs = "zip",
                         .probe = &zip::Probe,
                         .open = &zip::Open,
                         .resembles_source = &zip::HasEndRecord,
                         .traits = {.stays_file = true, .index_at_end = true}};

}  // namespace ctxfs

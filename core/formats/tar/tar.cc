// SPDX-License-Identifier: Apache-2.0
//
// Archives of tar: V7, ustar, pax and GNU (docs/tar.md). There is no index, so
// opening an archive goes from header to header.
//
//   0    header, 512 bytes: name, size and type of a member, and a checksum of
//        the header
//   512  the member's data, filled up to a multiple of 512 bytes
//   ...  further members; members of types x, g, L and K are long names and
//        other properties of those that follow
//   end  two blocks of zeros, or more
#include <memory>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/container/container.h"
#include "core/container/open.h"
#include "core/formats/tar/header.h"
#include "core/formats/tar/members.h"
#include "core/formats/tar/samples.h"
#include "core/formats/tar/walk.h"

namespace ctxfs::tar {
namespace {

// Members between two checks for an interrupt.
constexpr uint32_t kMembersPerCheck = 16'384;

/// The text of a note of the walk in info.json, without its count.
constexpr std::pair<std::string_view, std::string_view> kNotes[] = {
    {"concatenated",
     "archives follow the first one's end; their members are shown as well"},
    {"duplicate_name",
     "members have the name of an earlier one; the last keeps the name"},
    {"link",
     "links are not shown, because they are symbolic or their target "
     "is no earlier member"},
    {"no_end", "the archive does not end in blocks of zeros"},
    {"sparse", "sparse members cannot be read"},
    {"special", "devices, pipes or records of GNU tar are not shown"},
    {"trailing_data", "the bytes after the archive's end are ignored"}};

class Archive final : public Container {
 public:
  Archive(std::shared_ptr<const Source> source, const OpenOptions& options)
      : Container(std::move(source)),
        salvage_(options.salvage),
        members_(std::make_shared<Members>()) {}

  /// Reads all headers. Must be called once, before any other function.
  Status Load(const ReadContext& context);

  Json Info(const ReadContext& context) const override;
  Tables Files() const override;
  Tables FilesWithPaths(const PathsInTree& paths) const override;

 private:
  class MemberTable;

  void Conclude(const Walk& walk);
  Status Count(const ReadContext& context);

  const bool salvage_;
  const std::shared_ptr<Members> members_;
  std::string dialect_;
  uint32_t shown_ = 0;  // files
  uint32_t directories_ = 0;
  uint64_t decoded_size_ = 0;
  bool has_samples_ = false;
};

Status Archive::Load(const ReadContext& context) {
  Walk walk(*source(), *members_);
  Status walked = walk.Run(context);
  if (!walked) {
    if (!salvage_ || walked.error().code != Code::kCorrupt) return walked;
    Warn({walked.error().what, walked.error().offset,
          /*damage=*/true});
  }
  members_->ShrinkToFit();
  Conclude(walk);
  return Count(context);
}

void Archive::Conclude(const Walk& walk) {
  dialect_ = walk.pax() ? "pax" : walk.dialect();
  for (const auto& [key, text] : kNotes) {
    const auto found = walk.notes().find(key);
    if (found == walk.notes().end()) continue;
    std::string warning(key);
    warning += ": ";
    warning += text;
    if (found->second.count > 1) {
      warning +=
          ": " + std::to_string(found->second.count) + " times, first here";
    }
    Warn({std::move(warning), found->second.offset});
  }
}

Status Archive::Count(const ReadContext& context) {
  for (uint32_t i = 0; i < members_->count(); ++i) {
    if (i % kMembersPerCheck == 0) {
      if (Status wanted = context.Check(); !wanted) return wanted;
    }
    const Kind kind = members_->kind(i);
    if (!IsShown(kind)) continue;
    if (kind == Kind::kDirectory) {
      ++directories_;
      continue;
    }
    ++shown_;
    if (kind != Kind::kSparse) {
      const uint64_t size = members_->extent(i).size;
      // Hard links may repeat one member any number of times.
      decoded_size_ = CheckedAdd(decoded_size_, size).value_or(UINT64_MAX);
    }
    has_samples_ = has_samples_ || IsOfSample(*members_, i);
  }
  return {};
}

Json Archive::Info(const ReadContext& /*context*/) const {
  return {{"format", "tar"},
          {"version", dialect_},
          {"entries", shown_},
          {"entries_not_shown", members_->count() - shown_ - directories_},
          {"directories", directories_},
          {"container_size", source()->size()},
          {"stored_size", decoded_size_},
          {"decoded_size", decoded_size_},
          {"salvaged", salvage_},
          {"warnings", WarningTexts()}};
}

std::string_view NoteOf(Kind kind) {
  switch (kind) {
    case Kind::kHardLink:
      return "a hard link: the bytes of an earlier member";
    case Kind::kSparse:
      return "a sparse member, which cannot be read";
    case Kind::kDirectory:
      return "a directory";
    case Kind::kLink:
      return "not shown: a symbolic link, or a hard link to no earlier member";
    case Kind::kSpecial:
      return "not shown: neither a file nor a directory";
    default:
      return {};
  }
}

/// The members, in the archive's order.
class Archive::MemberTable final : public FileTable {
 public:
  explicit MemberTable(std::shared_ptr<const Archive> archive)
      : FileTable({.role = Role::kEntries,
                   .may_nest = true,
                   .last_keeps_name = true}),
        archive_(std::move(archive)),
        members_(*archive_->members_) {}

  uint32_t count() const override { return members_.count(); }
  std::optional<std::string_view> Path(
      uint32_t member, std::string& /*scratch*/) const override {
    if (!IsShown(members_.kind(member))) return std::nullopt;
    return ShownPath(members_.name(member));
  }
  bool IsDirectory(uint32_t member) const override {
    return members_.kind(member) == Kind::kDirectory;
  }
  Result<Content> Open(uint32_t member,
                       const ReadContext& /*context*/) const override {
    if (std::optional<Error> fault = Fault(member)) return *std::move(fault);
    const Extent extent = members_.extent(member);
    return Content(Range{archive_->source(), extent.at, nullptr}, extent.size);
  }
  std::optional<uint64_t> KnownSize(uint32_t member) const override {
    return IsReadable(member) ? members_.extent(member).size : 0;
  }
  std::optional<EntryInfo> Describe(
      uint32_t member, const ReadContext& /*context*/) const override {
    const Kind kind = members_.kind(member);
    EntryInfo info;
    info.name = std::string(members_.name(member));
    info.kind = kind == Kind::kDirectory ? "directory" : "member";
    info.size = *KnownSize(member);
    info.stored_size = members_.extent(member).size;
    info.offset = members_.extent(member).at;
    info.verified = "none";
    info.note = NoteOf(kind);
    return info;
  }
  std::optional<Error> Fault(uint32_t member) const override {
    if (IsReadable(member)) return std::nullopt;
    return Error{Code::kVersion,
                 "member " + Quote(members_.name(member)) + ": " +
                     std::string(NoteOf(members_.kind(member))),
                 members_.extent(member).at};
  }

 private:
  bool IsReadable(uint32_t member) const {
    const Kind kind = members_.kind(member);
    return IsShown(kind) && kind != Kind::kSparse && kind != Kind::kDirectory;
  }

  const std::shared_ptr<const Archive> archive_;
  const Members& members_;
};

Container::Tables Archive::Files() const {
  return {std::make_shared<const MemberTable>(Share(*this))};
}

Container::Tables Archive::FilesWithPaths(const PathsInTree& paths) const {
  if (!has_samples_) return {};
  return {SamplesFile(members_, paths, source())};
}

Result<std::shared_ptr<const Container>> Open(
    std::shared_ptr<const Source> source, const OpenOptions& options,
    const ReadContext& context) {
  Result<Buffer> head =
      ReadBuffer(*source, 0, std::min(source->size(), kBlock), "header");
  if (!head) return std::move(head).error();
  if (!IsArchiveHead(head->span())) {
    return Error{Code::kNotContainer,
                 "not an archive of tar: the first 512 bytes are not a header",
                 0};
  }
  return OpenAs<Archive>(std::move(source), options, context);
}

}  // namespace

}  // namespace ctxfs::tar

namespace ctxfs {

extern const Format kTar;
const Format kTar{.name = "tar",
                  .contents = "archives, WebDataset shards",
                  .extensions = "tar",
                  .probe = &tar::IsArchiveHead,
                  .open = &tar::Open,
                  .stays_file = true};

}  // namespace ctxfs

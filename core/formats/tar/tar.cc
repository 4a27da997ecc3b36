// SPDX-License-Identifier: Apache-2.0
//
// Implements tar: V7, ustar, pax and GNU (docs/formats/tar.md). There is no
// index, so opening an archive walks from header to header.
//
//   0    header, 512 bytes: name, size and type of a member, and a checksum of
//        the header
//   512  the member's data, filled up to a multiple of 512 bytes
//   ...  further members; members of types x, g, L and K have long names and
//        other properties of the members that follow
//   end  two blocks of zeros, or more
#include <fmt/core.h>

#include <memory>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/container/archive/link_plan.h"
#include "core/container/bytes_after.h"
#include "core/container/container.h"
#include "core/container/facts/facts.h"
#include "core/container/open.h"
#include "core/container/put_text.h"
#include "core/formats/tar/arrays.h"
#include "core/formats/tar/facts.h"
#include "core/formats/tar/header.h"
#include "core/formats/tar/members.h"
#include "core/formats/tar/samples.h"
#include "core/formats/tar/sparse.h"
#include "core/formats/tar/walk.h"

namespace ctxfs::tar {
namespace {

// Members between two interrupt checks.
constexpr uint32_t kMembersPerCheck = 16'384;

/// Keys of notes in info.json, and their texts without the count.
constexpr std::pair<std::string_view, std::string_view> kNotes[] = {
    {"concatenated",
     "archives follow the first one's end; their members are shown as well"},
    {"duplicate_name",
     "members have the name of an earlier one; the last of the first archive "
     "keeps the name"},
    {"hard_link",
     "hard links are not shown, because their target is no earlier member"},
    {"no_end", "the archive does not end in blocks of zeros"},
    {"size",
     "members cannot be read, because the size in their pax header is not a "
     "number below 2^63"},
    {"sparse",
     "sparse members cannot be read, because their maps are wrong "
     "or over a limit"},
    {"special", "devices, pipes or records of GNU tar are not shown"}};

class Archive final : public Container,
                      public HasEpisode,
                      public SaysFacts,
                      public ShowsSamples {
 public:
  Archive(std::shared_ptr<const Source> source, const OpenOptions& options)
      : Container(std::move(source)),
        salvage_(options.salvage),
        formats_(options.formats),
        members_(std::make_shared<Members>()) {}

  /// Reads all headers. Must be called once, before any other function.
  Status Load(const ReadContext& context);

  void AddInfo(Json& info, const ReadContext& context) const override;
  Tables Files() const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;
  Result<std::vector<ShownSample>> FirstSamples(
      size_t most, const ReadContext& context) const override;
  Tables FilesWithPaths(const PathsInTree& paths) const override;
  Exports Export() const override;
  bool MayBeEpisode() const override { return may_be_episode_; }
  std::optional<Episode> AsEpisode(const ReadContext& context) const override;

 private:
  class MemberTable;

  void Conclude(const Walk& walk);
  Status WarnOfBytesAfter(uint64_t at, const ReadContext& context);
  /// Hides symbolic links that may lead out of the archive, or whose path
  /// belongs to another member (LinkPlan).
  Status HideLinks(const ReadContext& context);
  Status Count(const ReadContext& context);

  const bool salvage_;
  const FormatSet* const formats_;
  const std::shared_ptr<Members> members_;
  std::string dialect_;
  uint32_t shown_ = 0;  // files
  uint32_t directories_ = 0;
  uint32_t links_ = 0;  // symbolic ones
  uint32_t hard_links_ = 0;
  uint64_t stored_size_ = 0;
  uint64_t decoded_size_ = 0;
  bool has_samples_ = false;
  bool may_be_episode_ = false;
};

Status Archive::Load(const ReadContext& context) {
  Walk walk(*source(), *members_, context);
  Status walked = walk.Run(context);
  if (!walked) {
    if (!salvage_ || walked.error().code != Code::kCorrupt) return walked;
    Warn({walked.error().what, walked.error().offset, Severity::kDamage});
    if (walk.needed() > 0) {
      NeedMore(walk.needed(), "the end of the archive");
    }
  }
  CTXFS_TRY(members_->ShrinkToFit());
  Conclude(walk);
  if (walked) {
    CTXFS_TRY(WarnOfBytesAfter(walk.at(), context));
  }
  CTXFS_TRY(HideLinks(context));
  return Count(context);
}

Status Archive::HideLinks(const ReadContext& context) {
  LinkPlan plan(/*last_keeps_name=*/true);
  for (uint32_t i = 0; i < members_->count(); ++i) {
    if (members_->kind(i) != Kind::kSymlink) continue;
    CTXFS_TRY(context.Check());
    plan.AddLink(i, ShownPath(members_->name(i)), members_->target(i));
  }
  if (plan.empty()) return {};
  for (uint32_t i = 0; i < members_->count(); ++i) {
    if (i % kMembersPerCheck == 0) {
      CTXFS_TRY(context.Check());
    }
    const Kind kind = members_->kind(i);
    if (!IsShown(kind) || kind == Kind::kSymlink) continue;
    plan.AddOther(i, ShownPath(members_->name(i)), kind == Kind::kDirectory);
  }
  const std::vector<uint32_t> hidden = CTXFS_TRY(plan.Hidden(context));
  if (hidden.empty()) return {};
  for (const uint32_t member : hidden) members_->HideLink(member);
  const uint32_t first = *std::min_element(hidden.begin(), hidden.end());
  Warn({LinkWarning(hidden.size(), members_->name(first)),
        members_->extent(first).at});
  return {};
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
      warning += fmt::format(": {} times, first here", found->second.count);
    }
    Warn({std::move(warning), found->second.offset});
  }
}

Status Archive::WarnOfBytesAfter(uint64_t at, const ReadContext& context) {
  if (at >= source()->size()) return {};
  Warn(CTXFS_TRY(
      BytesAfter(*source(), at,
                 "trailing_data: the bytes after the archive's end are ignored",
                 formats_, context)));
  return {};
}

Status Archive::Count(const ReadContext& context) {
  for (uint32_t i = 0; i < members_->count(); ++i) {
    if (i % kMembersPerCheck == 0) {
      CTXFS_TRY(context.Check());
    }
    const Kind kind = members_->kind(i);
    if (!IsShown(kind)) continue;
    if (kind == Kind::kDirectory) {
      ++directories_;
      continue;
    }
    ++shown_;
    if (kind == Kind::kSymlink) {
      ++links_;
    } else if (kind == Kind::kHardLink) {
      ++hard_links_;  // the original's bytes were counted
    } else {
      stored_size_ += members_->extent(i).size;  // bytes in the archive
      decoded_size_ =
          CheckedAdd(decoded_size_, members_->FileSize(i)).value_or(UINT64_MAX);
    }
    has_samples_ = has_samples_ || IsOfSample(*members_, i);
  }
  may_be_episode_ = HasEpisodeNames(*members_, context);
  return context.Check();
}

Status Archive::AddFacts(const ReadContext& context, Facts& facts) const {
  facts.Add("dialect", dialect_);
  facts.Add("files", shown_);
  facts.Add("directories", directories_);
  facts.Add("links", links_ + hard_links_);
  CTXFS_TRY(AddNemoFacts(*members_, *Entries(), context, facts));
  if (!has_samples_) return {};
  return AddSampleFacts(*members_, *Entries(), context, facts);
}

Result<std::vector<ShownSample>> Archive::FirstSamples(
    size_t most, const ReadContext& context) const {
  if (!has_samples_) return std::vector<ShownSample>();
  return tar::FirstSamples(*members_, *Entries(), most, context);
}

void Archive::AddInfo(Json& info, const ReadContext& /*context*/) const {
  info.update({{"format", "tar"},
               {"version", dialect_},
               {"entries", shown_},
               {"entries_not_shown", members_->count() - shown_ - directories_},
               {"directories", directories_},
               {"links", links_},
               {"hard_links", hard_links_},
               {"stored_size", stored_size_},
               {"decoded_size", decoded_size_},
               {"salvaged", salvage_}});
}

std::string_view NoteOf(Kind kind) {
  switch (kind) {
    case Kind::kHardLink:
      return "a hard link: another name of an earlier member";
    case Kind::kSparse:
      return "a sparse file: its holes are not stored";
    case Kind::kSymlink:
      return "a symbolic link";
    case Kind::kDirectory:
      return "a directory";
    case Kind::kNotShown:
      return "not shown: a hard link to no earlier member";
    case Kind::kLeaves:
      return "not shown: a symbolic link that may lead out of the archive";
    case Kind::kSpecial:
      return "not shown: neither a file nor a directory";
    default:
      return {};
  }
}

class Archive::MemberTable final : public FileTable {
 public:
  explicit MemberTable(std::shared_ptr<const Archive> archive)
      : FileTable({.role = Role::kEntries,
                   .may_nest = true,
                   .last_keeps_name = true,
                   .plain_paths = true,
                   .has_kinds = true}),
        archive_(std::move(archive)),
        members_(*archive_->members_) {}

  uint32_t count() const override { return members_.count(); }
  std::optional<std::string_view> Path(
      uint32_t member, std::string& /*scratch*/) const override {
    if (!IsShown(members_.kind(member))) return std::nullopt;
    return ShownPath(members_.name(member));
  }
  FileFacts Facts(uint32_t member) const override {
    const Kind kind = members_.kind(member);
    FileFacts facts{members_.FileSize(member), FaultOf(member)};
    if (kind == Kind::kDirectory) facts.kind = FileKind::kDirectory;
    if (kind == Kind::kHardLink) facts.original = members_.Original(member);
    if (kind == Kind::kSymlink) {
      facts.kind = FileKind::kLink;
      facts.target = members_.target(member);
    }
    return facts;
  }
  StoredAttributes StoredAttributesOf(uint32_t member) const override {
    return members_.attributes(member);
  }
  Result<Content> Open(uint32_t member,
                       const ReadContext& /*context*/) const override {
    FileFacts facts = Facts(member);
    if (facts.fault) return *std::move(facts.fault);
    if (facts.kind == FileKind::kLink) {
      return LiteralContent(std::string(facts.target));
    }
    if (auto map = members_.sparse(member)) {
      return SparseContent(archive_->source(), std::move(map));
    }
    const Extent extent = members_.extent(member);
    return Content(Range{archive_->source(), extent.at, nullptr}, extent.size);
  }
  std::optional<EntryInfo> Describe(
      uint32_t member, const ReadContext& /*context*/) const override {
    const Kind kind = members_.kind(member);
    EntryInfo info;
    info.name = std::string(members_.name(member));
    info.kind = kind == Kind::kDirectory ? "directory"
                : kind == Kind::kSymlink ? "link"
                                         : "member";
    info.size = members_.FileSize(member);
    info.stored_size = members_.extent(member).size;
    info.offset = members_.extent(member).at;
    info.verified = "none";
    info.note = NoteOf(kind);
    if (kind == Kind::kSymlink) {
      PutText(info.extra, "target", members_.target(member));
    }
    if (kind == Kind::kHardLink) {
      PutText(info.extra, "link_to", members_.name(members_.Original(member)));
    }
    const auto map = members_.sparse(member);
    if (map != nullptr && !map->fault.empty()) info.note = map->fault;
    return info;
  }

 private:
  std::optional<Error> FaultOf(uint32_t member) const {
    const Kind kind = members_.kind(member);
    const auto fail = [&](Code code, std::string_view why) {
      return Error{
          code,
          "member " + Quote(members_.name(member)) + ": " + std::string(why),
          members_.extent(member).at};
    };
    if (!IsShown(kind) || kind == Kind::kDirectory) {
      return fail(Code::kVersion, NoteOf(kind));
    }
    const auto map = members_.sparse(member);
    if (map == nullptr || map->fault.empty()) return std::nullopt;
    return fail(Code::kCorrupt, map->fault);
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

Exports Archive::Export() const {
  Exports exports;
  if (!may_be_episode_) return exports;
  exports.arrays = [self = Share(*this)](const ReadContext& context) {
    return NpyArrays(*self->members_, self->Entries(), context, nullptr);
  };
  return exports;
}

std::optional<Episode> Archive::AsEpisode(const ReadContext& context) const {
  std::vector<Episode::Omission> left_out;
  std::vector<ArrayInfo> arrays =
      NpyArrays(*members_, Entries(), context, &left_out);
  return FindEpisode(std::move(arrays), std::move(left_out));
}

Result<std::shared_ptr<const Container>> Open(
    std::shared_ptr<const Source> source, const OpenOptions& options,
    const ReadContext& context) {
  const Buffer head = CTXFS_TRY(ReadBuffer(
      *source, 0, std::min(source->size(), kBlock), "header", context));
  if (!IsArchiveHead(head.span())) {
    return Error{Code::kNotContainer,
                 "not an archive of tar: the first 512 bytes are not a header",
                 0};
  }
  return OpenAs<Archive>(std::move(source), options, context);
}

}  // namespace

}  // namespace ctxfs::tar

namespace ctxfs {

extern const Format kTar{.name = "tar",
                         .contents = "archives, WebDataset shards",
                         .extensions = "tar",
                         .golden = "tar",
                         .docs = "tar",
                         .probe = &tar::IsArchiveHead,
                         .open = &tar::Open,
                         .traits = {.stays_file = true}};

}  // namespace ctxfs

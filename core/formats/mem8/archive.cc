// SPDX-License-Identifier: Apache-2.0
//
// .m8a, an archive of files of the MEM8 family (docs/formats/mem8.md, section
// 7). Members that are containers are directories, all others are entries.
//
//   0    "M8AR", or "RA8M" if the writer stored the magic as a number
//   4    u16 version, u16 count of members
//   8    u32 total size; the description does not say of what
//   12   u32 time of creation, in seconds since 1970
//   16   MD5; the description does not say of what
//   32   the table of members (members.cc)
#include "core/formats/mem8/archive.h"

#include <algorithm>
#include <array>

#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/codec/crypto/digest.h"
#include "core/container/bytes_after.h"
#include "core/container/documents.h"
#include "core/container/facts/config_facts.h"
#include "core/container/file_set.h"
#include "core/container/open.h"
#include "core/content/check_at.h"
#include "core/formats/mem8/image.h"
#include "core/formats/mem8/kind.h"
#include "core/formats/mem8/members.h"

namespace ctxfs::mem8 {
namespace {

using SourcePtr = std::shared_ptr<const Source>;

constexpr uint64_t kHeaderSize = 32;
constexpr uint64_t kTotalAt = 8;
constexpr uint64_t kMd5At = 16;
constexpr size_t kMd5Size = 16;

class Mem8Archive final : public Container, public SaysFacts {
 public:
  Mem8Archive(SourcePtr source, SourcePtr file, const FormatSet* formats)
      : Container(std::move(source)),
        file_(std::move(file)),
        formats_(formats) {}

  /// Reads header and table. Must be called once, before any other function.
  Status Load(const ReadContext& context);

  void AddInfo(Json& info, const ReadContext& /*context*/) const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;
  Tables Files() const override;
  Tables FilesWithPaths(const PathsInTree& paths) const override;
  std::vector<ChildContainer> Children() const override;

 private:
  /// Whether the total size in the header is one of the sizes that writers
  /// store: of the file, of the bytes after the header, or of those after the
  /// table.
  bool TotalAgrees() const;
  void CheckSizes();
  Status WarnOfBytesAfter(const ReadContext& context);
  Result<std::string> RootVerdict(const ReadContext& context) const;
  Result<std::string> MakeArchiveJson(const PathsInTree& paths,
                                      const ReadContext& context) const;
  std::vector<std::string> ShownPaths(const PathsInTree& paths) const;
  Json Header() const;
  FileFacts FactsOf(const Mem8Member& member) const;
  EntryInfo DescribeMember(uint32_t number) const;

  const SourcePtr file_;  // the source, or its decompressed archive
  const FormatSet* const formats_;
  const uint64_t owner_ = NewOwner();
  uint16_t version_ = 0;
  uint32_t total_ = 0;
  uint32_t created_ = 0;
  std::string root_md5_;  // hex
  Mem8Members members_;
  std::vector<uint32_t> files_;  // members that are entries
};

Status Mem8Archive::Load(const ReadContext& context) {
  if (file_->size() < kHeaderSize) {
    return Error{Code::kCorrupt, "shorter than the 32-byte header",
                 file_->size()};
  }
  const Buffer header =
      CTXFS_TRY(ReadBuffer(*file_, 0, kHeaderSize, "header", context));
  if (file_ != source()) {
    Warn({"archive is zstd-compressed as a whole", 0});
  }
  if (AsText(header.span()).starts_with("RA8M")) {
    Warn({"byte-swapped magic", 0});
  }
  ByteReader in(header.span().subspan(kVersionAt), kVersionAt);
  version_ = in.U16();
  const uint16_t count = in.U16();
  total_ = in.U32();
  created_ = in.U32();
  root_md5_ = Hex(AsText(in.Take(kMd5Size)));
  if (version_ == kVersion1) {
    Warn({"version 0x0001 read as 1.0", kVersionAt});
  } else if (version_ >> 8 != 1) {
    return Error{Code::kVersion,
                 "unsupported version " + Mem8VersionText(version_),
                 kVersionAt};
  }
  members_ = CTXFS_TRY(ReadMem8Members(*file_, count, context));
  for (uint32_t i = 0; i < members_.members.size(); ++i) {
    if (!members_.members[i].container) files_.push_back(i);
  }
  CheckSizes();
  return WarnOfBytesAfter(context);
}

bool Mem8Archive::TotalAgrees() const {
  const uint64_t size = file_->size();
  return total_ == size || total_ == size - kHeaderSize ||
         total_ == size - members_.data_at;
}

void Mem8Archive::CheckSizes() {
  const uint64_t size = file_->size();
  if (members_.skipped > 0) {
    Warn({std::to_string(members_.skipped) + " members skipped, see status",
          kHeaderSize});
  }
  if (!TotalAgrees()) Warn({"total size disagrees", kTotalAt});
  uint64_t first = size;
  for (const Mem8Member& member : members_.members) {
    if (member.extent == Mem8Extent::kSound && member.size > 0) {
      first = std::min(first, members_.OffsetOf(member));
    }
  }
  if (first > members_.data_at) {
    Warn({"bytes after the table belong to no member", members_.data_at});
  }
}

Status Mem8Archive::WarnOfBytesAfter(const ReadContext& context) {
  // If the total agrees, bytes after the last member belong to the archive: its
  // table omits members.
  if (TotalAgrees()) return {};
  uint64_t end = members_.data_at;
  for (const Mem8Member& member : members_.members) {
    // If a member is lost, the end of the last member is unknown.
    if (member.extent != Mem8Extent::kSound) return {};
    end = std::max(end, members_.OffsetOf(member) + member.size);
  }
  const uint64_t size = file_->size();
  if (end >= size) return {};
  Warn(CTXFS_TRY(BytesAfter(
      *file_, end, std::to_string(size - end) + " bytes follow the last member",
      formats_, context)));
  return {};
}

/// Finds out which bytes the root checksum covers. Returns "absent", "ok over
/// ...", "mismatch", or "not computed" for an archive over
/// limits::kDigestedBytes.
Result<std::string> Mem8Archive::RootVerdict(const ReadContext& context) const {
  if (root_md5_ == std::string(2 * kMd5Size, '0')) return std::string("absent");
  if (file_->size() > limits::kDigestedBytes) {
    return std::string("not computed: the archive is large");
  }
  Md5 after_header;
  Md5 data;
  Md5 zeroed;
  std::array<std::byte, kMd5Size> zeros{};
  for (uint64_t at = 0; at < file_->size(); at += limits::kMiB) {
    CTXFS_TRY(context.Check());
    const uint64_t length = std::min(limits::kMiB, file_->size() - at);
    const Buffer bytes =
        CTXFS_TRY(ReadBuffer(*file_, at, length, "archive", context));
    const auto from = [&](uint64_t start) {
      return bytes.span().subspan(static_cast<size_t>(
          std::min(length, start > at ? start - at : uint64_t{0})));
    };
    after_header.Update(from(kHeaderSize));
    data.Update(from(members_.data_at));
    if (at == 0) {
      zeroed.Update(bytes.span().first(kMd5At));
      zeroed.Update(zeros);
    }
    zeroed.Update(from(kMd5At + kMd5Size));
  }
  if (after_header.Hex() == root_md5_) {
    return std::string("ok over bytes 32 to the end");
  }
  if (data.Hex() == root_md5_) return std::string("ok over the data area");
  if (zeroed.Hex() == root_md5_) {
    return std::string("ok over the file with the checksum zero");
  }
  return std::string("mismatch");
}

Json Mem8Archive::Header() const {
  return {{"version", version_},
          {"file_count", members_.members.size()},
          {"total_size", total_},
          {"created", created_},
          {"root_md5", root_md5_}};
}

Status Mem8Archive::AddFacts(const ReadContext& context, Facts& facts) const {
  const Json info = Info(context);
  AddNamed(info, {{"members", "members"}}, facts);
  if (const Json* header = MemberAt(info, "header")) {
    AddNamed(*header,
             {{"created", "created", "seconds since 1970"},
              {"root_md5", "root_md5"}},
             facts);
  }
  return {};
}

void Mem8Archive::AddInfo(Json& info, const ReadContext& /*context*/) const {
  info.update({{"format", "m8a"},
               {"version", Mem8VersionText(version_)},
               {"header", Header()},
               {"members", members_.members.size()},
               {"entries", files_.size()}});
}

std::vector<std::string> Mem8Archive::ShownPaths(
    const PathsInTree& paths) const {
  std::vector<std::string> all =
      paths.Of(0, static_cast<uint32_t>(members_.members.size()));
  std::vector<std::string> shown;
  size_t file = 0;
  size_t directory = files_.size();  // containers are after all files
  for (const Mem8Member& member : members_.members) {
    shown.push_back(std::move(all[member.container ? directory++ : file++]));
  }
  return shown;
}

Result<std::string> Mem8Archive::MakeArchiveJson(
    const PathsInTree& paths, const ReadContext& context) const {
  std::string verdict = CTXFS_TRY(RootVerdict(context));
  Json json = {{"header", Header()},
               {"data_starts_at", members_.data_at},
               {"offsets_relative_to",
                members_.base == 0 ? "file start" : "data start"}};
  Json& warnings = json["warnings"] = WarningTexts();
  if (verdict == "absent") warnings.push_back("root checksum absent");
  if (verdict == "mismatch") {
    warnings.push_back("root checksum matches nothing");
  }
  json["root_checksum"] = std::move(verdict);
  const std::vector<std::string> shown = ShownPaths(paths);
  Json& members = json["members"] = Json::array();
  for (size_t i = 0; i < members_.members.size(); ++i) {
    CTXFS_TRY(CheckAt(context, i));
    const Mem8Member& member = members_.members[i];
    Json one = {
        {"path", member.stored_path}, {"path_hex", Hex(member.stored_path)},
        {"shown_as", shown[i]},       {"offset_field", member.offset_field},
        {"size_field", member.size},  {"file_offset", nullptr},
        {"status", member.status}};
    if (member.extent == Mem8Extent::kSound) {
      one["file_offset"] = members_.OffsetOf(member);
    }
    if (!IsUtf8(shown[i])) one["shown_as_hex"] = Hex(shown[i]);
    members.push_back(std::move(one));
  }
  return FormatJson(json);
}

EntryInfo Mem8Archive::DescribeMember(uint32_t number) const {
  const Mem8Member& member = members_.members[number];
  EntryInfo info;
  info.size = *FactsOf(member).size;
  info.name = std::string(member.stored_path);
  info.kind = "member";
  info.stored_size = member.size;
  info.offset = members_.OffsetOf(member);
  info.verified = "none";
  if (member.status != "ok") info.note = member.status;
  info.extra["member"] = number;
  return info;
}

FileFacts Mem8Archive::FactsOf(const Mem8Member& member) const {
  if (member.extent == Mem8Extent::kSound) return {member.size};
  return {0, Error{Code::kCorrupt, member.status, members_.OffsetOf(member)}};
}

Container::Tables Mem8Archive::Files() const {
  const auto member = [this](uint32_t file) -> const Mem8Member& {
    return members_.members[files_[file]];
  };
  return {MakeTable(
      {.placement = {.role = Role::kEntries},
       .count = static_cast<uint32_t>(files_.size()),
       .path = [member](uint32_t file, std::string& /*scratch*/)
           -> std::string_view { return member(file).path; },
       .open = [this, member](uint32_t file, const ReadContext& /*context*/)
           -> Result<Content> {
         FileFacts facts = FactsOf(member(file));
         if (facts.fault) return *std::move(facts.fault);
         return Content(Range{file_, members_.OffsetOf(member(file)), nullptr},
                        member(file).size);
       },
       .facts = [this, member](uint32_t file) { return FactsOf(member(file)); },
       .describe =
           [this](uint32_t file, const ReadContext& /*context*/) {
             return DescribeMember(files_[file]);
           },
       .owner = Share(*this)})};
}

Container::Tables Mem8Archive::FilesWithPaths(const PathsInTree& paths) const {
  return {TextDocument(
      Role::kPrimary, "archive.json", {owner_, 0}, source(),
      [self = Share(*this), &paths](const ReadContext& context) {
        return self->MakeArchiveJson(paths, context);
      },
      TextCost(file_->size()))};
}

std::vector<ChildContainer> Mem8Archive::Children() const {
  std::vector<ChildContainer> containers;
  for (const Mem8Member& member : members_.members) {
    if (!member.container) continue;
    const auto open = [file = file_, at = members_.OffsetOf(member),
                       size = member.size](const ReadContext& /*context*/) {
      return SourcePtr(std::make_shared<const SliceSource>(file, at, size));
    };
    containers.push_back({member.path, open, Role::kEntries});
  }
  return containers;
}

bool ProbeArchive(Bytes head) {
  return Mem8KindOfHead(head) == Mem8Kind::kArchive;
}

Result<std::shared_ptr<const Container>> OpenAlone(SourcePtr source,
                                                   const OpenOptions& options,
                                                   const ReadContext& context) {
  return OpenMem8Archive(source, source, options, context);
}

}  // namespace

Result<std::shared_ptr<const Container>> OpenMem8Archive(
    SourcePtr source, SourcePtr file, const OpenOptions& options,
    const ReadContext& context) {
  return LoadContainer<Mem8Archive>(context, std::move(source), std::move(file),
                                    options.formats);
}

}  // namespace ctxfs::mem8

namespace ctxfs {

extern const Format kMem8Archive{.name = "m8a",
                                 .contents = "archives of MEM8 memories",
                                 .extensions = "m8a",
                                 .golden = "mem8",
                                 .docs = "mem8",
                                 .probe = &mem8::ProbeArchive,
                                 .open = &mem8::OpenAlone,
                                 .traits = {.zstd_is_own = true}};

}  // namespace ctxfs

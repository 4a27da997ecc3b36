// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tar/walk.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/text/text.h"
#include "core/container/archive/plain_name.h"
#include "core/formats/tar/limits.h"

namespace ctxfs::tar {
namespace {

// Headers between two interrupt checks.
constexpr uint64_t kHeadersPerCheck = 1024;
/// Most writers pad the archive with zeros to a multiple of this, bytes.
constexpr uint64_t kRecord = 10'240;

/// Whether headers of this type have no data, even if they state a size.
bool HasNoData(char type) { return type >= '1' && type <= '6'; }

bool IsExtension(char type) {
  return type == 'x' || type == 'X' || type == 'g' || type == 'L' ||
         type == 'K';
}

bool IsRegular(char type) { return type == '0' || type == '\0' || type == '7'; }

bool IsSpecial(char type) {
  constexpr std::string_view kTypes = "346DMNV";
  return kTypes.find(type) != std::string_view::npos;
}

}  // namespace

bool Walk::IsDirectory(const Subject& subject) {
  return subject.type == '5' ||
         (subject.type == '\0' && subject.path.ends_with('/'));
}

Error Walk::At(Error error) const {
  if (error.offset == kNoOffset) error.offset = at_;
  return error;
}

Error Walk::Truncated(uint64_t at, uint64_t size, std::string what) {
  needed_ = CheckedAdd(at, size).value_or(UINT64_MAX);
  return At({Code::kCorrupt, fmt::format("truncated: {} run past the end at {}",
                                         what, source_.size())});
}

void Walk::AddNote(std::string_view key, uint64_t offset) {
  Note& note = notes_[key];
  if (note.count++ == 0) note.offset = offset;
}

Status Walk::Run(const ReadContext& context) {
  bool done = false;
  for (uint64_t headers = 0; !done && at_ < source_.size(); ++headers) {
    if (headers % kHeadersPerCheck == 0) {
      CTXFS_TRY(context.Check());
    }
    const uint64_t left = source_.size() - at_;
    const Bytes block =
        CTXFS_TRY(reader_.At(at_, static_cast<size_t>(std::min(left, kBlock))));
    const bool whole = left >= kBlock;
    const Header header(block);
    if (header.IsZero()) {
      done = SkipZeroBlock();
    } else if (whole && header.HasRightChecksum()) {
      if (ended_ && CTXFS_TRY(IsRestOfRecord())) break;
      CTXFS_TRY(MeetHeader(header, context));
    } else if (ended_) {
      done = true;
    } else if (!whole) {
      needed_ = at_ + kBlock;
      return At({Code::kCorrupt, "truncated: the file ends within a header"});
    } else {
      return At({Code::kCorrupt,
                 "header_checksum: the checksum of a header does not match"});
    }
  }
  if (!ended_) AddNote("no_end", source_.size());
  return members_.MoveKeepers(yields_);
}

Result<bool> Walk::IsRestOfRecord() const {
  const uint64_t used = (at_ - archive_at_) % kRecord;
  if (used == 0 || at_ + (kRecord - used) != source_.size()) return false;
  const Buffer last = CTXFS_TRY(
      ReadBuffer(source_, source_.size() - kBlock, kBlock, "block", request_));
  return !Header(last.span()).IsZero();  // no end mark
}

void Walk::StartArchive() {
  AddNote("concatenated", at_);
  archive_at_ = at_;
  first_member_ = members_.count();
  yielding_.clear();
}

bool Walk::SkipZeroBlock() {
  const uint64_t length = std::min(kBlock, source_.size() - at_);
  ended_ = true;
  pending_ = {};
  zeros_ += length;
  at_ += length;
  return zeros_ >= kMaxZeros;
}

Status Walk::MeetHeader(const Header& header, const ReadContext& context) {
  if (std::exchange(first_, false)) dialect_ = header.dialect();
  if (std::exchange(ended_, false)) StartArchive();
  zeros_ = 0;
  return IsExtension(header.type()) ? MeetExtension(header)
                                    : MeetMember(header, context);
}

Status Walk::MeetExtension(const Header& header) {
  const char type = header.type();
  const Result<uint64_t> size = header.size();
  if (!size) return At(size.error());
  if (type != 'g' && ++pending_.headers > kMaxChained) {
    return At(
        {Code::kCorrupt,
         fmt::format(
             "pax: more than {} headers of type x, L and K before one member",
             kMaxChained)});
  }
  Result<std::string> data = ReadExtension(*size);
  if (!data) return At(std::move(data).error());
  if (type == 'L' || type == 'K') {
    data->resize(std::min(data->find('\0'), data->size()));
    (type == 'L' ? pending_.long_name : pending_.long_link) = std::move(*data);
  } else {
    pax_ = true;
    PaxValues& values = type == 'g' ? global_ : pending_.pax;
    // The values of up to 16 headers (kMaxChained) accumulate.
    CTXFS_TRY(HeapAllowance::Admit(2 * (values.bytes() + data->size())));
    if (Status parsed = ParsePax(*data, values); !parsed) {
      return Error{parsed.error().code, parsed.error().what,
                   at_ + kBlock + parsed.error().offset};
    }
    if (global_.bytes() > kMaxExtension) {
      return At(
          {Code::kLimit,
           fmt::format("pax: global headers of more than {} bytes are in force",
                       kMaxExtension)});
    }
  }
  at_ = std::min(at_ + kBlock + Padded(*size), source_.size());
  return {};
}

Result<std::string> Walk::ReadExtension(uint64_t size) {
  const uint64_t from = at_ + kBlock;
  if (!InBounds(from, size, source_.size())) {
    return Truncated(from, size,
                     std::to_string(size) + " bytes of an extended header");
  }
  if (size > kMaxExtension) {
    return Error{
        Code::kLimit,
        fmt::format(
            "a long name or pax header of {} bytes is over the limit of {}",
            size, kMaxExtension)};
  }
  std::string data;
  CTXFS_TRY(HeapAllowance::Admit(size));
  data.reserve(static_cast<size_t>(size));
  while (data.size() < size) {
    const Bytes part = CTXFS_TRY(
        reader_.At(from + data.size(),
                   WindowReader::Room(from + data.size(), from + size)));
    data += AsText(part);
  }
  return data;
}

Walk::Subject Walk::Name(const Header& header) const {
  const PaxValues& own = pending_.pax;
  Subject subject;
  subject.type = header.type();
  subject.sparse = header.type() == 'S';
  if (IsRegular(header.type()) && own.sparse) {
    subject.sparse = true;
    if (own.sparse_name && !own.sparse_name->empty()) {
      subject.path = *own.sparse_name;
    }
  }
  if (subject.path.empty()) {
    const std::string* path = PaxChoice(own.path, global_.path);
    subject.path = path != nullptr      ? *path
                   : pending_.long_name ? *pending_.long_name
                                        : header.path();
  }
  // Copies the target of links alone: one global header can give every member a
  // target of 1 MiB.
  if (header.type() != '1' && header.type() != '2') return subject;
  const std::string* link = PaxChoice(own.linkpath, global_.linkpath);
  subject.link = link != nullptr      ? *link
                 : pending_.long_link ? *pending_.long_link
                                      : std::string(header.link());
  return subject;
}

StoredAttributes Walk::AttributesOf(const Header& header) const {
  StoredAttributes attributes{.mode = header.mode()};
  if (const auto* text = PaxChoice(pending_.pax.mtime, global_.mtime)) {
    attributes.mtime = PaxTime(*text);
  }
  const auto seconds = header.mtime();
  if (!attributes.mtime && seconds) attributes.mtime = {*seconds, 0};
  return attributes;
}

Status Walk::FindSize(const Header& header, Subject& subject) const {
  if (const std::string* text = PaxChoice(pending_.pax.size, global_.size)) {
    const Result<uint64_t> size = PaxSize(*text);
    if (size) {
      subject.data.size = *size;
      return {};
    }
    subject.fault = size.error().what;
  }
  const Result<uint64_t> size = header.size();
  if (!size) return At(size.error());
  subject.data.size = *size;
  return {};
}

Status Walk::Place(Subject& subject) {
  subject.data.at = data_at_;
  const uint64_t size = subject.data.size;
  if (!InBounds(data_at_, size, source_.size())) {
    return Truncated(
        data_at_, size,
        fmt::format("member {}: its {} bytes", Quote(subject.path), size));
  }
  subject.next = std::min(data_at_ + Padded(subject.data.size), source_.size());
  return {};
}

Status Walk::CountNames(const Subject& subject) {
  // Usually each name is stored in the archive, but one global header can name
  // all members.
  name_bytes_ += subject.path.size() + subject.link.size();
  if (name_bytes_ <= source_.size()) return {};
  return At({Code::kLimit, fmt::format("the names of the members take more "
                                       "bytes than the {} of the archive",
                                       source_.size())});
}

Status Walk::MeetMember(const Header& header, const ReadContext& context) {
  const char type = header.type();
  Subject subject = Name(header);
  const StoredAttributes attributes = AttributesOf(header);
  const uint32_t before = members_.count();
  CTXFS_TRY(CountNames(subject));
  if (!HasNoData(type) && !IsDirectory(subject)) {
    CTXFS_TRY(FindSize(header, subject));
  }
  data_at_ = at_ + kBlock;
  Status added = AddMember(header.block(), subject, context);
  if (!added) return At(std::move(added).error());
  if (members_.count() > before) {
    CTXFS_TRY(members_.SetAttributes(attributes));
  }
  pending_ = {};
  at_ = subject.next;
  return {};
}

Status Walk::AddMember(Bytes header, Subject& subject,
                       const ReadContext& context) {
  const char type = subject.type;
  if (subject.sparse) return AddSparse(header, subject, context);
  CTXFS_TRY(Place(subject));
  if (!subject.fault.empty()) return AddUnreadable(subject, subject.fault);
  if (IsDirectory(subject)) return AddDirectory(subject.path);
  if (type == '1') return AddHardLink(subject);
  if (type == '2') return AddSymlink(subject);
  if (IsSpecial(type)) {
    AddNote("special", at_);
    return members_.Add(Kind::kSpecial, {data_at_, 0}, subject.path);
  }
  return AddFile(IsRegular(type) ? Kind::kFile : Kind::kOtherFile, subject);
}

Status Walk::AddDirectory(std::string_view path) {
  path = ShownPath(path);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path.empty() || path == ".") return {};
  return members_.Add(Kind::kDirectory, {data_at_, 0}, path);
}

Status Walk::AddHardLink(const Subject& subject) {
  const std::optional<uint32_t> target = Target(ShownPath(subject.link));
  if (!target) {
    AddNote("hard_link", at_);
    return members_.Add(Kind::kNotShown, {data_at_, 0}, subject.path);
  }
  if (members_.kind(*target) == Kind::kSymlink) {
    Subject same = subject;
    same.link = members_.target(*target);
    return AddSymlink(same);
  }
  Subject same = subject;
  same.data = {members_.Original(*target), 0};
  return AddFile(Kind::kHardLink, same);
}

Status Walk::AddSymlink(const Subject& subject) {
  CTXFS_TRY(members_.AddSymlink({data_at_, 0}, subject.path, subject.link));
  return PutLast();
}

Status Walk::AddFile(Kind kind, const Subject& subject) {
  CTXFS_TRY(members_.Add(kind, subject.data, subject.path));
  return PutLast();
}

Status Walk::AddUnreadable(const Subject& subject, std::string why) {
  AddNote("size", at_);
  CTXFS_TRY(AddFile(Kind::kSparse, subject));
  SparseMap map;
  map.fault = std::move(why);
  members_.SetSparse(members_.count() - 1,
                     std::make_shared<const SparseMap>(std::move(map)));
  return HeapAllowance::Check();
}

std::optional<uint32_t> Walk::Last(std::string_view path) const {
  if (const auto same = last_.At(path)) return same;
  std::string scratch;
  path = PlainPath(path, scratch);
  if (const auto named_so = last_.At(path)) return named_so;
  return plain_.At(path);
}

std::optional<uint32_t> Walk::Target(std::string_view path) const {
  const std::optional<uint32_t> last = Last(path);
  if (!last) return std::nullopt;
  const auto own = yielding_.find(*last);
  return own == yielding_.end() ? last : std::optional(own->second);
}

Status Walk::PutLast() {
  const uint32_t member = members_.count() - 1;
  if (HasPlainPath(ShownPath(members_.name(member)))) {
    CTXFS_TRY(plain_.Put(member));
  }
  if (first_member_ > 0) {
    const auto keeper = last_.At(ShownPath(members_.name(member)));
    if (keeper && *keeper < first_member_) {
      CTXFS_TRY(AdmitGrowth(yields_));
      yields_.push_back({*keeper, member});
      yielding_[*keeper] = member;
      members_.Supersede(member);
      AddNote("duplicate_name", at_);
      return HeapAllowance::Check();
    }
  }
  const std::optional<uint32_t> before = CTXFS_TRY(last_.Put(member));
  if (before) {
    members_.Supersede(*before);
    AddNote("duplicate_name", at_);
  }
  return {};
}

}  // namespace ctxfs::tar

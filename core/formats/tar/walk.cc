// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tar/walk.h"

#include <algorithm>
#include <utility>

#include "core/base/text.h"
#include "core/formats/tar/limits.h"

namespace ctxfs::tar {
namespace {

// Headers between two checks for an interrupt.
constexpr uint64_t kHeadersPerCheck = 1024;

/// Types whose headers have no data after them, whatever size they state.
bool HasNoData(char type) { return type >= '1' && type <= '6'; }

bool IsExtension(char type) {
  return type == 'x' || type == 'g' || type == 'L' || type == 'K';
}

bool IsRegular(char type) { return type == '0' || type == '\0' || type == '7'; }

bool IsSpecial(char type) {
  constexpr std::string_view kTypes = "346DMNV";
  return kTypes.find(type) != std::string_view::npos;
}

}  // namespace

Error Walk::At(Error error) const {
  if (error.offset == kNoOffset) error.offset = at_;
  return error;
}

void Walk::AddNote(std::string_view key, uint64_t offset) {
  Note& note = notes_[key];
  if (note.count++ == 0) note.offset = offset;
}

Status Walk::Run(const ReadContext& context) {
  bool done = false;
  for (uint64_t headers = 0; !done && at_ < source_.size(); ++headers) {
    if (headers % kHeadersPerCheck == 0) {
      if (Status wanted = context.Check(); !wanted) return wanted;
    }
    const uint64_t left = source_.size() - at_;
    const Result<Bytes> block =
        reader_.At(at_, static_cast<size_t>(std::min(left, kBlock)));
    if (!block) return block.error();
    const bool whole = left >= kBlock;
    const Header header(*block);
    if (header.IsZero()) {
      done = MeetZeros();
    } else if (whole && header.HasRightChecksum()) {
      if (Status met = MeetHeader(header, context); !met) return met;
    } else if (ended_) {
      AddNote("trailing_data", at_);
      return {};
    } else if (!whole) {
      return At({Code::kCorrupt, "truncated: the file ends within a header"});
    } else {
      return At({Code::kCorrupt,
                 "header_checksum: the checksum of a header does not match"});
    }
  }
  if (!ended_) AddNote("no_end", source_.size());
  return {};
}

bool Walk::MeetZeros() {
  const uint64_t length = std::min(kBlock, source_.size() - at_);
  ended_ = true;
  pending_ = {};
  zeros_ += length;
  at_ += length;
  return zeros_ >= kMostZeros;
}

Status Walk::MeetHeader(const Header& header, const ReadContext& context) {
  if (std::exchange(first_, false)) dialect_ = header.dialect();
  if (std::exchange(ended_, false)) AddNote("concatenated", at_);
  zeros_ = 0;
  return IsExtension(header.type()) ? MeetExtension(header)
                                    : MeetMember(header, context);
}

Status Walk::MeetExtension(const Header& header) {
  const char type = header.type();
  const Result<uint64_t> size = header.size();
  if (!size) return At(size.error());
  if (type != 'g' && ++pending_.headers > kMostChained) {
    return At({Code::kCorrupt, "pax: more than " +
                                   std::to_string(kMostChained) +
                                   " headers of type x, L and K before one "
                                   "member"});
  }
  Result<std::string> data = ReadExtension(*size);
  if (!data) return At(std::move(data).error());
  if (type == 'L' || type == 'K') {
    data->resize(std::min(data->find('\0'), data->size()));
    (type == 'L' ? pending_.long_name : pending_.long_link) = std::move(*data);
  } else {
    pax_ = true;
    PaxValues& values = type == 'g' ? global_ : pending_.pax;
    if (Status parsed = ParsePax(*data, values); !parsed) {
      return Error{parsed.error().code, parsed.error().what,
                   at_ + kBlock + parsed.error().offset};
    }
    if (global_.bytes() > kMostExtension) {
      return At({Code::kLimit, "pax: global headers of more than " +
                                   std::to_string(kMostExtension) +
                                   " bytes are in force"});
    }
  }
  at_ = std::min(at_ + kBlock + Padded(*size), source_.size());
  return {};
}

Result<std::string> Walk::ReadExtension(uint64_t size) {
  const uint64_t from = at_ + kBlock;
  if (!InBounds(from, size, source_.size())) {
    return Error{Code::kCorrupt,
                 "truncated: " + std::to_string(size) +
                     " bytes of an extended header run past the end at " +
                     std::to_string(source_.size())};
  }
  if (size > kMostExtension) {
    return Error{Code::kLimit, "a long name or pax header of " +
                                   std::to_string(size) +
                                   " bytes is over the limit of " +
                                   std::to_string(kMostExtension)};
  }
  std::string data;
  data.reserve(static_cast<size_t>(size));
  while (data.size() < size) {
    const Result<Bytes> part =
        reader_.At(from + data.size(),
                   WindowReader::Room(from + data.size(), from + size));
    if (!part) return part.error();
    data += AsText(*part);
  }
  return data;
}

Walk::Subject Walk::Name(const Header& header) const {
  const PaxValues& own = pending_.pax;
  Subject subject;
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
  // A global header can give every member one, of a mebibyte.
  if (header.type() != '1') return subject;
  const std::string* link = PaxChoice(own.linkpath, global_.linkpath);
  subject.link = link != nullptr      ? *link
                 : pending_.long_link ? *pending_.long_link
                                      : std::string(header.link());
  return subject;
}

Result<uint64_t> Walk::DataSize(const Header& header) const {
  const std::string* text = PaxChoice(pending_.pax.size, global_.size);
  const Result<uint64_t> size =
      text != nullptr ? PaxSize(*text) : header.size();
  if (!size) return At(size.error());
  return *size;
}

Status Walk::Place(Subject& subject) const {
  subject.data.at = data_at_;
  if (!InBounds(data_at_, subject.data.size, source_.size())) {
    return At({Code::kCorrupt, "truncated: member " + Quote(subject.path) +
                                   ": its " +
                                   std::to_string(subject.data.size) +
                                   " bytes run past the end at " +
                                   std::to_string(source_.size())});
  }
  subject.next = std::min(data_at_ + Padded(subject.data.size), source_.size());
  return {};
}

Status Walk::SkipSparseBlocks(const ReadContext& context) {
  while (true) {
    if (Status wanted = context.Check(); !wanted) return wanted;
    if (!InBounds(data_at_, kBlock, source_.size())) {
      return At({Code::kCorrupt,
                 "truncated: the positions of a sparse member run past the end "
                 "at " +
                     std::to_string(source_.size())});
    }
    const Result<Bytes> block = reader_.At(data_at_, kBlock);
    if (!block) return block.error();
    data_at_ += kBlock;
    if (!Header::SparseBlockContinues(*block)) return {};
  }
}

Status Walk::MeetMember(const Header& header, const ReadContext& context) {
  const char type = header.type();
  Subject subject = Name(header);
  // A directory of V7, which has no type of its own.
  const bool directory =
      type == '5' || (type == '\0' && subject.path.ends_with('/'));
  if (!HasNoData(type) && !directory) {
    const Result<uint64_t> size = DataSize(header);
    if (!size) return size.error();
    subject.data.size = *size;
  }
  data_at_ = at_ + kBlock;
  if (type == 'S' && header.SparseContinues()) {
    // `header` is not valid after this, because it reads on.
    if (Status skipped = SkipSparseBlocks(context); !skipped) return skipped;
  }
  if (Status fits = Place(subject); !fits) return fits;
  Status added;
  if (directory) {
    added = AddDirectory(subject.path);
  } else if (subject.sparse) {
    AddNote("sparse", at_);
    added = AddFile(Kind::kSparse, subject);
  } else if (type == '1') {
    added = AddHardLink(subject);
  } else if (type == '2') {
    AddNote("link", at_);
    added = members_.Add(Kind::kLink, {data_at_, 0}, subject.path);
  } else if (IsSpecial(type)) {
    AddNote("special", at_);
    added = members_.Add(Kind::kSpecial, {data_at_, 0}, subject.path);
  } else {
    added = AddFile(IsRegular(type) ? Kind::kFile : Kind::kOtherFile, subject);
  }
  if (!added) return At(std::move(added).error());
  pending_ = {};
  at_ = subject.next;
  return {};
}

Status Walk::AddDirectory(std::string_view path) {
  path = ShownPath(path);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path.empty() || path == ".") return {};
  return members_.Add(Kind::kDirectory, {data_at_, 0}, path);
}

Status Walk::AddHardLink(const Subject& subject) {
  const std::optional<uint32_t> target = last_.At(ShownPath(subject.link));
  if (!target) {
    AddNote("link", at_);
    return members_.Add(Kind::kLink, {data_at_, 0}, subject.path);
  }
  Subject same = subject;
  same.data = members_.extent(*target);
  const bool sparse = members_.kind(*target) == Kind::kSparse;
  return AddFile(sparse ? Kind::kSparse : Kind::kHardLink, same);
}

Status Walk::AddFile(Kind kind, const Subject& subject) {
  Status added = members_.Add(kind, subject.data, subject.path);
  if (!added) return added;
  if (const auto before = last_.Put(members_.count() - 1)) {
    members_.Supersede(*before);
    AddNote("duplicate_name", at_);
  }
  return {};
}

}  // namespace ctxfs::tar

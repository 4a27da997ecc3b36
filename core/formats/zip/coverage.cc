// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zip/coverage.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "core/base/limits.h"
#include "core/container/bytes_after.h"
#include "core/formats/zip/records.h"
#include "core/formats/zip/zip.h"

namespace ctxfs::zip {
namespace {

using namespace std::string_view_literals;

constexpr uint16_t kDescriptorFollows = 0x0008;
constexpr uint64_t kMaxDescriptor = 24;
constexpr uint64_t kMaxLocalExtra = 65'535;
constexpr uint64_t kMaxPadding = 64 * limits::kKiB;
constexpr uint32_t kGapsPerCheck = 1024;
constexpr uint64_t kMaxCounted = 1000;

/// First bytes of self-extracting programs: Windows, Linux, scripts, macOS.
constexpr std::string_view kPrograms[] = {
    "MZ"sv, "\177ELF"sv, "#!"sv, "\xcf\xfa\xed\xfe"sv, "\xca\xfe\xba\xbe"sv};

Result<Buffer> Head(const Source& source, uint64_t at, uint64_t end,
                    const Request& request) {
  return ReadBuffer(source, at,
                    std::min<uint64_t>(end - at, limits::kProbeBytes),
                    "bytes beside the archive", request);
}

/// Describes the first bytes. Bytes that start with a member may lack an end
/// record, so the text does not call them an archive.
std::string HowItStarts(Bytes head, const FormatSet* formats) {
  return StartsWithMember(head) ? "start like zip" : FormatText(head, formats);
}

std::string Words(const char* key, uint64_t size, const std::string& where,
                  const std::string& format) {
  return fmt::format("{}: {} bytes {} are no part of the archive{}", key, size,
                     where, format.empty() ? "" : ", and " + format);
}

/// Counts adjacent archives, the last ending at `end`, up to kMaxCounted.
Result<uint64_t> CountArchives(const Source& source, uint64_t end,
                               const ReadContext& context) {
  uint64_t archives = 0;
  while (end > 0 && archives < kMaxCounted) {
    CTXFS_TRY(context.Check());
    const uint64_t start = CTXFS_TRY(ArchiveBefore(source, end, context));
    if (start == end) break;
    ++archives;
    end = start;
  }
  return archives;
}

Status WarnOfStart(const Source& source, Directory& directory,
                   const FormatSet* formats, const ReadContext& context) {
  const uint64_t size = directory.first_member;
  if (size == 0) return {};
  const uint64_t archives = CTXFS_TRY(CountArchives(source, size, context));
  const Buffer head = CTXFS_TRY(Head(source, 0, size, context));
  if (archives > 0) {
    const std::string least = archives < kMaxCounted ? "" : "at least ";
    directory.warnings.push_back(
        {fmt::format("bytes_before: the last of {}{} archives in a row is "
                     "shown; those in the {} bytes before it are not",
                     least, archives + 1, size),
         0, Severity::kPartial});
    return {};
  }
  const bool program =
      std::any_of(std::begin(kPrograms), std::end(kPrograms),
                  [text = AsText(head.span())](std::string_view magic) {
                    return text.starts_with(magic);
                  });
  if (program) return {};
  directory.warnings.push_back(
      {Words("bytes_before", size, "before the first member",
             HowItStarts(head.span(), formats)),
       0, Severity::kPartial});
  return {};
}

Status WarnOfEnd(const Source& source, Directory& directory,
                 const FormatSet* formats, const Request& request) {
  const uint64_t size = directory.end.trailing_bytes;
  if (size == 0) return {};
  const uint64_t at = source.size() - size;
  // The read is short, because FindEndRecord searches only the last 65,557
  // bytes.
  const Buffer bytes = CTXFS_TRY(
      ReadBuffer(source, at, size, "bytes after the archive", request));
  const bool padding = AllZero(bytes.span());
  const Bytes head =
      bytes.span().first(std::min<size_t>(bytes.size(), limits::kProbeBytes));
  directory.warnings.push_back(
      {Words("bytes_after", size, "after the end record",
             padding ? "are all zero" : HowItStarts(head, formats)),
       at, padding ? Severity::kNote : Severity::kPartial});
  return {};
}

/// Returns the byte where members must end: the start of the directory, or of
/// the signing block of an Android package, which ends with its size and its
/// magic.
Result<uint64_t> EndOfMembers(const Source& source, uint64_t directory,
                              const Request& request) {
  constexpr std::string_view kMagic = "APK Sig Block 42";
  constexpr uint64_t kTail = 8 + kMagic.size();
  if (directory < kTail) return directory;
  const Buffer tail = CTXFS_TRY(
      ReadBuffer(source, directory - kTail, kTail, "signatures", request));
  if (AsText(tail.span().subspan(8)) != kMagic) return directory;
  const uint64_t size = LoadLe<uint64_t>(tail.data());
  return size >= kTail && size <= directory - 8 ? directory - 8 - size
                                                : directory;
}

/// Returns the end of a member's data by its local header. If a data descriptor
/// follows, includes the longest possible one. At most `member.end`, which is
/// also the result if the header or the data is out of bounds.
Result<uint64_t> EndWithExtras(const Source& source, const Member& member,
                               const Request& request) {
  if (!InBounds(member.header, kLocalSize, member.end)) return member.end;
  const Buffer header = CTXFS_TRY(
      ReadBuffer(source, member.header, kLocalSize, "local header", request));
  const uint64_t data = member.header + kLocalSize +
                        LoadLe<uint16_t>(header.data() + 26) +
                        LoadLe<uint16_t>(header.data() + 28);
  if (!InBounds(data, member.stored_size, member.end)) return member.end;
  const bool described = (member.flags & kDescriptorFollows) != 0;
  const uint64_t end = data + member.stored_size;
  return std::min(member.end, end + (described ? kMaxDescriptor : 0));
}

/// Whether [at, end) is more than padding: too long, or not all zeros.
Result<bool> HasData(const Source& source, uint64_t at, uint64_t end,
                     const Request& request) {
  if (end - at > kMaxPadding) return true;
  const Buffer bytes =
      CTXFS_TRY(ReadBuffer(source, at, end - at, "gap", request));
  return !AllZero(bytes.span());
}

/// Counts gaps and their bytes.
struct Gaps {
  uint64_t count = 0;
  uint64_t bytes = 0;
  uint64_t first = 0;

  void Add(uint64_t at, uint64_t end) {
    if (count++ == 0) first = at;
    bytes += end - at;
  }
  std::string Text() const {
    return fmt::format(
        "gap: {} bytes in {} gaps between members belong to none", bytes,
        count);
  }
};

bool IsWide(uint64_t size) {
  return size > kMaxLocalExtra + kMaxDescriptor + kMaxPadding;
}

}  // namespace

Status WarnOfOtherBytes(const Source& source, Directory& directory,
                        const FormatSet* formats, const ReadContext& context) {
  CTXFS_TRY(WarnOfStart(source, directory, formats, context));
  const uint64_t end =
      CTXFS_TRY(EndOfMembers(source, directory.end.directory_offset, context));
  Gaps wide;
  for (const Member& member : directory.members) {
    const uint64_t stop = std::min(member.end, end);
    const uint64_t start = EndOf(member);
    if (member.end > 0 && start < stop && IsWide(stop - start)) {
      wide.Add(start, stop);
    }
  }
  if (wide.count > 0) {
    directory.warnings.push_back({wide.Text(), wide.first, Severity::kPartial});
  }
  if (directory.end.unused_bytes > 0) {
    directory.warnings.push_back(
        {Words("gap", directory.end.unused_bytes,
               "between the directory and the end record", ""),
         directory.end.directory_offset, Severity::kPartial});
  }
  return WarnOfEnd(source, directory, formats, context);
}

std::vector<Error> FindGaps(const Source& source, const Directory& directory,
                            const ReadContext& context) {
  Gaps gaps;
  const Result<uint64_t> limit =
      EndOfMembers(source, directory.end.directory_offset, context);
  if (!limit) return {limit.error()};
  uint32_t number = 0;
  for (Member member : directory.members) {
    if (number++ % kGapsPerCheck == 0 && !context.Check()) return {};
    member.end = std::min(member.end, *limit);
    const uint64_t start = EndOf(member);
    if (start >= member.end || IsWide(member.end - start)) continue;
    const Result<uint64_t> at = EndWithExtras(source, member, context);
    if (!at) return {at.error()};
    if (*at == member.end) continue;
    const Result<bool> data = HasData(source, *at, member.end, context);
    if (!data) return {data.error()};
    if (*data) gaps.Add(*at, member.end);
  }
  if (gaps.count == 0) return {};
  return {Error{Code::kUnsupported, gaps.Text(), gaps.first}};
}

}  // namespace ctxfs::zip

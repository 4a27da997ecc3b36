// SPDX-License-Identifier: Apache-2.0
//
// The members of an .m8a (docs/formats/mem8.md, section 7).
//
//   32   for each: u16 length, path, u32 offset, u32 size; packed
//   ...  the bytes of the members
#include "core/formats/mem8/members.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_map>

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/formats/mem8/kind.h"

namespace ctxfs::mem8 {
namespace {

constexpr uint64_t kTableAt = 32;
constexpr uint64_t kFixedSize = 10;  // of a member in the table, without path
constexpr uint64_t kFirstWindow = 64 * limits::kKiB;

/// Parses the members in the table. Returns false if the table ends within one.
bool ParseTable(uint16_t count, Mem8Members& members) {
  ByteReader in(members.table.span(), kTableAt);
  members.members.clear();
  members.members.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    Mem8Member member;
    member.stored_path = AsText(in.Take(in.U16()));
    member.offset_field = in.U32();
    member.size = in.U32();
    if (!in.ok()) return false;
    members.members.push_back(std::move(member));
  }
  members.data_at = in.offset();
  return true;
}

/// Reads the table in growing windows: no field states its length.
Status ReadTable(const Source& file, uint16_t count, Mem8Members& members,
                 const Request& request) {
  const uint64_t left = file.size() - kTableAt;
  const Error cut{Code::kCorrupt, "path table truncated", kTableAt};
  if (kFixedSize * count > left) return cut;
  constexpr uint64_t kMax =
      limits::kNameBytes + kFixedSize * (uint64_t{UINT16_MAX} + 1);
  for (uint64_t window = std::min(kFirstWindow, left);;
       window = std::min({4 * window, left, kMax})) {
    members.table =
        CTXFS_TRY(ReadBuffer(file, kTableAt, window, "path table", request));
    if (ParseTable(count, members)) return {};
    if (window == left) return cut;
    if (window == kMax) {
      return Error{
          Code::kLimit,
          fmt::format("its paths take more than {} bytes", limits::kNameBytes),
          kTableAt};
    }
  }
}

Result<Mem8Kind> KindAt(const Source& file, uint64_t at, uint64_t size,
                        const Request& request) {
  std::array<std::byte, limits::kProbeBytes> space;
  const MutableBytes head = MutableBytes(space).first(
      static_cast<size_t>(std::min<uint64_t>(size, space.size())));
  CTXFS_TRY(file.ReadAt(at, head, request));
  return Mem8KindOfHead(head);
}

/// Finds the base of the offsets, which no field states: the base at which more
/// members start with a magic; at a tie, the start of the file. A member with
/// bytes at offset 0 proves that the base is the end of the table.
Result<uint64_t> FindBase(const Source& file, const Mem8Members& members,
                          const Request& request) {
  const uint64_t bases[] = {0, members.data_at};
  uint64_t starts[] = {0, 0};
  for (const Mem8Member& member : members.members) {
    if (member.size == 0) continue;
    CTXFS_TRY(request.CheckMemory());
    if (member.offset_field == 0) return members.data_at;
    for (size_t i = 0; i < std::size(bases); ++i) {
      const uint64_t at = bases[i] + member.offset_field;
      if (at < members.data_at || !InBounds(at, member.size, file.size())) {
        continue;
      }
      const Mem8Kind kind = CTXFS_TRY(KindAt(file, at, member.size, request));
      if (kind == Mem8Kind::kMem8 || kind == Mem8Kind::kArchive ||
          kind == Mem8Kind::kPacked) {
        ++starts[i];
      }
    }
  }
  return starts[1] > starts[0] ? members.data_at : 0;
}

struct PathVerdict {
  std::string path;  // without dropped components; empty: skipped
  std::string status;
};

PathVerdict JudgePath(std::string_view stored) {
  if (stored.empty()) return {"", "skip: empty path"};
  if (stored.starts_with('/')) return {"", "skip: absolute"};
  if (stored.find('\0') != std::string_view::npos) {
    return {"", "skip: NUL in path"};
  }
  std::string path;
  bool dots = false;
  bool empties = false;
  for (std::string_view rest = stored; !rest.empty();) {
    const size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view component = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (component == "..") return {"", "skip: '..' component"};
    if (component.size() > limits::kComponentBytes) {
      return {"", "skip: component over 255 bytes"};
    }
    dots = dots || component == ".";
    empties = empties || component.empty();
    if (component.empty() || component == ".") continue;
    if (!path.empty()) path += '/';
    path += component;
  }
  if (path.empty()) return {"", "skip: empty path"};
  std::string status = "ok";
  if (path != stored) {
    status += " as " + path;
    if (dots) status += " ('.' components dropped)";
    if (empties) status += " (empty components dropped)";
  } else if (!IsUtf8(stored)) {
    status += ": name is bytes, not UTF-8";
  }
  return {std::move(path), std::move(status)};
}

/// Inserts `mark` before the extension of the last component of `path`.
std::string Marked(const std::string& path, const std::string& mark) {
  const size_t name = path.rfind('/') + 1;
  const size_t dot = path.rfind('.');
  const bool extension = dot != std::string::npos && dot > name;
  std::string marked = path;
  return marked.insert(extension ? dot : path.size(), mark);
}

Status JudgePaths(Mem8Members& members, const Request& request) {
  std::unordered_map<std::string, uint32_t> seen;
  for (Mem8Member& member : members.members) {
    CTXFS_TRY(request.CheckMemory());
    PathVerdict verdict = JudgePath(member.stored_path);
    const bool skip = verdict.path.empty();
    member.status = std::move(verdict.status);
    member.path =
        skip ? std::string(member.stored_path) : std::move(verdict.path);
    const uint32_t times = ++seen[member.path];
    if (times > 1) {
      member.path = Marked(member.path, fmt::format("~{}", times));
      if (!skip) member.status = "skip: duplicate (first wins)";
    }
    if (skip || times > 1) ++members.skipped;
  }
  return {};
}

Status JudgeExtent(const Source& file, const Mem8Members& members,
                   Mem8Member& member, const Request& request) {
  const uint64_t at = members.OffsetOf(member);
  const auto refuse = [&member](Mem8Extent extent, const char* why) {
    member.extent = extent;
    member.status = why;
    return Status();
  };
  if (!InBounds(at, member.size, file.size())) {
    // An offset outside the file with a size that fits suggests that a writer
    // let offset plus size wrap around at 32 bits.
    const bool wraps = uint64_t{member.offset_field} + member.size > UINT32_MAX;
    return refuse(
        Mem8Extent::kOutOfRange,
        wraps && member.offset_field > file.size() && member.size <= file.size()
            ? "out of range (u32 overflow)"
            : "out of range");
  }
  if (member.size == 0) {
    if (member.status == "ok") member.status = "ok: an empty member";
    return {};
  }
  if (at < members.data_at) {
    return refuse(Mem8Extent::kInTable, "range overlaps header or table");
  }
  const Mem8Kind kind = CTXFS_TRY(KindAt(file, at, member.size, request));
  member.container = kind == Mem8Kind::kMem8 || kind == Mem8Kind::kArchive;
  if (!member.container && member.status == "ok") {
    member.status = "ok: not a .mem8, shown as a file";
  }
  return {};
}

}  // namespace

Result<Mem8Members> ReadMem8Members(const Source& file, uint16_t count,
                                    const Request& request) {
  Mem8Members members;
  CTXFS_TRY(ReadTable(file, count, members, request));
  members.base = CTXFS_TRY(FindBase(file, members, request));
  CTXFS_TRY(JudgePaths(members, request));
  for (Mem8Member& member : members.members) {
    CTXFS_TRY(JudgeExtent(file, members, member, request));
  }
  return members;
}

}  // namespace ctxfs::mem8

// SPDX-License-Identifier: Apache-2.0
//
// Compares the members of an archive: finds overlaps (docs/formats/zip.md,
// section 6) and equal names (section 9), and writes the warnings.
#include "core/formats/zip/collector.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/text/count_of.h"
#include "core/base/text/text.h"
#include "core/formats/zip/limits.h"
#include "core/formats/zip/names.h"
#include "core/formats/zip/records.h"
#include "core/formats/zip/times.h"

namespace ctxfs::zip {
namespace {

constexpr uint16_t kEncryptedFlag = 0x0001;
constexpr uint16_t kUtf8Flag = 0x0800;
constexpr uint16_t kMaskedFlag = 0x2000;
constexpr uint32_t kModeType = 0170000;
constexpr uint32_t kModeLink = 0120000;
constexpr uint32_t kModeDirectory = 0040000;
constexpr uint32_t kCollectedPerCheck = 65'536;
constexpr uint32_t kWarnedPerCheck = 1024;

Fault FaultOf(const Member& member) {
  if (member.fault != Fault::kNone) return member.fault;
  if ((member.flags & (kEncryptedFlag | kMaskedFlag)) != 0) {
    return Fault::kEncrypted;
  }
  if (member.method == kStored) {
    return member.size == member.stored_size ? Fault::kNone : Fault::kSize;
  }
  if (!IsSupported(member.method)) return Fault::kMethod;
  if (member.size / MostRatio(member.method) > member.stored_size) {
    return Fault::kRatio;
  }
  const bool streamed = DecoderOf(member.method) != nullptr;
  return streamed && member.size > kMaxStreamed ? Fault::kTooLarge
                                                : Fault::kNone;
}

Kind KindOf(const Member& member, std::string_view shown,
            const Attributes& attributes) {
  const uint32_t type = attributes.mode & kModeType;
  if (type == kModeLink) return Kind::kLink;
  const bool directory = shown.ends_with('/') || type == kModeDirectory ||
                         (type == 0 && attributes.directory);
  // A member with data is a file, even if its name or its attributes are those
  // of a directory.
  return directory && member.size == 0 ? Kind::kDirectory : Kind::kFile;
}

/// Returns a lower bound of a member's end: the name in the local header may be
/// shorter than the name in the directory.
uint64_t LeastEndOf(const Member& member) {
  return EndOf(member) - std::min<uint64_t>(EndOf(member), member.name_length);
}

/// Counts the members that a warning is about, and describes the first of them.
struct Count {
  uint64_t members = 0;
  std::string example;
  uint64_t offset = kNoOffset;

  void Add(const Directory& directory, const Member& member) {
    if (members++ > 0) return;
    example = Quote(directory.ShownName(member));
    offset = member.header;
  }
  Warning Of(const std::string& what, Severity severity) const {
    return {fmt::format("{} of {} {}, the first is {}", what, members,
                        NounOf(members, "member"), example),
            offset, severity};
  }
};

}  // namespace

uint64_t EndOf(const Member& member) {
  return CheckedAdd(member.header, CheckedAdd(kLocalSize + member.name_length,
                                              member.stored_size)
                                       .value_or(UINT64_MAX))
      .value_or(UINT64_MAX);
}

std::string OpaqueText(const Member& member) {
  constexpr uint16_t kAes = 99;
  constexpr uint16_t kStrongFlag = 0x0040;
  if (member.fault == Fault::kMethod || member.method == kAes) {
    return MethodText(member.method);
  }
  if ((member.flags & kMaskedFlag) != 0) return "masked headers";
  return (member.flags & kStrongFlag) != 0 ? "strong encryption" : "ZipCrypto";
}

Status Collector::Add(Member member, std::string_view name, Bytes extra,
                      const Attributes& attributes, uint64_t at) {
  std::string& names = directory_.names;
  const std::string shown =
      zip::ShownName(name,
                     {.utf8 = (member.flags & kUtf8Flag) != 0,
                      .backslashes = attributes.of_dos},
                     extra);
  if (names.size() + name.size() + shown.size() > kMaxNameBytes) {
    return Error{Code::kLimit,
                 fmt::format("the names of members have more than {} bytes",
                             kMaxNameBytes),
                 at};
  }
  CTXFS_TRY(AdmitGrowth(names, name.size() + shown.size()));
  CTXFS_TRY(AdmitGrowth(directory_.members));
  member.name = static_cast<uint32_t>(names.size());
  member.name_length = static_cast<uint16_t>(name.size());
  member.shown_length = static_cast<uint32_t>(shown.size());
  names += name;
  if (name.ends_with(shown)) {
    member.shown = static_cast<uint32_t>(names.size() - shown.size());
  } else {
    member.shown = static_cast<uint32_t>(names.size());
    names += shown;
  }
  TakeExtraTime(extra, member);
  if (attributes.mode != 0) member.attributes.SetMode(attributes.mode);
  member.fault = FaultOf(member);
  member.kind = KindOf(member, shown, attributes);
  directory_.members.push_back(member);
  return {};
}

// A member that starts before the furthest end of all earlier members overlaps
// the member with that end: both get the fault. Archive::Open compares the
// exact end of a member with `end`, because only the local header determines
// it.
Status Collector::MarkOverlaps(uint64_t limit, const ReadContext& context) {
  std::vector<Member>& members = directory_.members;
  std::vector<uint32_t> order;
  // stable_sort needs memory for half of `order`, too.
  CTXFS_TRY(AdmitGrowth(order, members.size() + members.size() / 2 + 1));
  order.reserve(members.size());
  for (uint32_t i = 0; i < members.size(); ++i) {
    if (members[i].fault != Fault::kZip64) order.push_back(i);
  }
  const auto earlier = [&members](uint32_t a, uint32_t b) {
    return members[a].header < members[b].header;
  };
  if (!std::is_sorted(order.begin(), order.end(), earlier)) {
    std::stable_sort(order.begin(), order.end(), earlier);
  }
  directory_.first_member =
      order.empty() ? directory_.end.base : members[order[0]].header;
  uint64_t furthest = 0;
  uint32_t holder = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i % kCollectedPerCheck == 0) {
      CTXFS_TRY(context.Check());
    }
    Member& member = members[order[i]];
    const uint64_t end = LeastEndOf(member);
    if (member.header < furthest) {
      member.fault = Fault::kOverlap;
      members[holder].fault = Fault::kOverlap;
    }
    if (end > limit) member.fault = Fault::kOverlap;
    if (end > furthest) {
      furthest = end;
      holder = order[i];
    }
    member.end = i + 1 < order.size()
                     ? std::min(limit, members[order[i + 1]].header)
                     : limit;
  }
  return {};
}

// Compares hashes first: most archives have no equal names, and a hash of 8
// bytes per member takes less memory than a set of names.
Status Collector::FindRepeated(const ReadContext& context) {
  std::vector<Member>& members = directory_.members;
  const auto hash = [this](const Member& member) {
    return std::hash<std::string_view>()(directory_.ShownName(member));
  };
  std::vector<size_t> hashes;
  CTXFS_TRY(AdmitGrowth(hashes, members.size()));
  hashes.reserve(members.size());
  for (const Member& member : members) {
    if (member.kind != Kind::kDirectory) hashes.push_back(hash(member));
  }
  std::sort(hashes.begin(), hashes.end());
  std::vector<size_t> repeated;
  for (size_t i = 1; i < hashes.size(); ++i) {
    if (hashes[i] != hashes[i - 1]) continue;
    CTXFS_TRY(AdmitGrowth(repeated));
    repeated.push_back(hashes[i]);
  }
  if (repeated.empty()) return {};
  CTXFS_TRY(context.Check());

  std::vector<uint32_t> suspects;
  for (uint32_t i = 0; i < members.size(); ++i) {
    if (members[i].kind != Kind::kDirectory &&
        std::binary_search(repeated.begin(), repeated.end(),
                           hash(members[i]))) {
      CTXFS_TRY(AdmitGrowth(suspects));
      suspects.push_back(i);
    }
  }
  const auto name = [this](uint32_t member) {
    return directory_.ShownName(directory_.members[member]);
  };
  // Sorting needs memory, and so does `repeated`.
  CTXFS_TRY(HeapAllowance::Admit(2 * suspects.size() * sizeof(uint32_t)));
  directory_.repeated.reserve(suspects.size());
  std::stable_sort(
      suspects.begin(), suspects.end(),
      [&name](uint32_t a, uint32_t b) { return name(a) < name(b); });
  const auto same = [&](size_t a, size_t b) {
    return a < suspects.size() && b < suspects.size() &&
           name(suspects[a]) == name(suspects[b]);
  };
  for (size_t i = 0; i < suspects.size(); ++i) {
    if (same(i, i + 1) || (i > 0 && same(i - 1, i))) {
      directory_.repeated.push_back(suspects[i]);
    }
  }
  return {};
}

Status Collector::Warn(const ReadContext& context) {
  std::array<Count, std::size(kFaultWords)> faults;
  std::map<std::string, Count> opaque;
  uint32_t number = 0;
  for (const Member& member : directory_.members) {
    if (number++ % kWarnedPerCheck == 0) {
      CTXFS_TRY(context.Check());
    }
    if (member.kind != Kind::kFile) {
      continue;
    }
    if (member.IsOpaque()) {
      const FaultWords& words = kFaultWords[static_cast<size_t>(member.fault)];
      opaque[words.key + (": " + OpaqueText(member)) + ": " + words.of_many]
          .Add(directory_, member);
    } else {
      faults[static_cast<size_t>(member.fault)].Add(directory_, member);
    }
  }
  std::vector<Warning>& warnings = directory_.warnings;
  for (size_t i = 1; i < faults.size(); ++i) {
    if (faults[i].members == 0) continue;
    const FaultWords& words = kFaultWords[i];
    warnings.push_back(faults[i].Of(
        words.key + (": " + std::string(words.of_many)), Severity::kOfEntries));
  }
  for (const auto& [what, count] : opaque) {
    CTXFS_TRY(AdmitGrowth(warnings));
    warnings.push_back(count.Of(what, Severity::kPartial));
  }
  if (!directory_.repeated.empty()) {
    warnings.push_back({fmt::format(
        "duplicate_name: {} members have a name that another one has too",
        directory_.repeated.size())});
  }
  return {};
}

Status Collector::Finish(uint64_t limit, const ReadContext& context) {
  CTXFS_TRY(MarkOverlaps(limit, context));
  CTXFS_TRY(FindRepeated(context));
  CTXFS_TRY(HeapAllowance::Admit(directory_.names.size()));
  directory_.names.shrink_to_fit();
  return Warn(context);
}

void PreferLastNames(Directory& directory) {
  std::vector<Member>& members = directory.members;
  const std::vector<uint32_t>& repeated = directory.repeated;
  const auto name = [&](size_t i) {
    return directory.ShownName(members[repeated[i]]);
  };
  for (size_t first = 0; first < repeated.size();) {
    size_t end = first + 1;
    while (end < repeated.size() && name(end) == name(first)) ++end;
    for (size_t i = end - 1; i > first; --i) {
      std::swap(members[repeated[i]], members[repeated[i - 1]]);
    }
    first = end;
  }
}

}  // namespace ctxfs::zip

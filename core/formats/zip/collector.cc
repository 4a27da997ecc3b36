// SPDX-License-Identifier: Apache-2.0
//
// Checks that compare the members of an archive: overlaps (docs/zip.md, section
// 6) and equal names (section 9); and the warnings.
#include "core/formats/zip/collector.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include "core/base/text.h"
#include "core/formats/zip/limits.h"
#include "core/formats/zip/names.h"
#include "core/formats/zip/records.h"

namespace ctxfs::zip {
namespace {

constexpr uint16_t kEncryptedFlag = 0x0001;
constexpr uint16_t kUtf8Flag = 0x0800;
constexpr uint16_t kMaskedFlag = 0x2000;
constexpr uint32_t kModeType = 0170000;
constexpr uint32_t kModeLink = 0120000;
constexpr uint32_t kCollectedPerCheck = 65'536;

Fault FaultOf(const Member& member) {
  if (member.fault != Fault::kNone) return member.fault;
  if ((member.flags & (kEncryptedFlag | kMaskedFlag)) != 0) {
    return Fault::kEncrypted;
  }
  switch (member.method) {
    case kStored:
      return member.size == member.stored_size ? Fault::kNone : Fault::kSize;
    case kDeflate:
      return member.size / kMostDeflateRatio > member.stored_size
                 ? Fault::kTooLarge
                 : Fault::kNone;
    case kZstd:
      return member.size > kMostZstdBytes ||
                     member.stored_size > kMostZstdStored
                 ? Fault::kTooLarge
                 : Fault::kNone;
    default:
      return Fault::kMethod;
  }
}

/// The first byte after a member, by the directory alone.
uint64_t EndOf(const Member& member) {
  return CheckedAdd(member.header, CheckedAdd(kLocalSize + member.name_length,
                                              member.stored_size)
                                       .value_or(UINT64_MAX))
      .value_or(UINT64_MAX);
}

}  // namespace

Status Collector::Add(Member member, std::string_view name, Bytes extra,
                      uint32_t mode, uint64_t at) {
  std::string& names = directory_.names;
  const std::string shown =
      zip::ShownName(name, (member.flags & kUtf8Flag) != 0, extra);
  if (names.size() + name.size() + shown.size() > kMostNameBytes) {
    return Error{Code::kLimit,
                 "the names of members have more than " +
                     std::to_string(kMostNameBytes) + " bytes",
                 at};
  }
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
  member.fault = FaultOf(member);
  if ((mode & kModeType) == kModeLink) {
    member.kind = Kind::kLink;
  } else if (name.ends_with('/') && member.size == 0) {
    member.kind = Kind::kDirectory;
  }
  directory_.members.push_back(member);
  return {};
}

// A member that overlaps another one starts before the furthest end of all
// members that start before it; so does the one with that end.
Status Collector::MarkOverlaps(uint64_t limit, const ReadContext& context) {
  std::vector<Member>& members = directory_.members;
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < members.size(); ++i) {
    if (members[i].fault != Fault::kZip64) order.push_back(i);
  }
  const auto earlier = [&members](uint32_t a, uint32_t b) {
    return members[a].header < members[b].header;
  };
  if (!std::is_sorted(order.begin(), order.end(), earlier)) {
    std::stable_sort(order.begin(), order.end(), earlier);
  }
  uint64_t furthest = 0;
  uint32_t holder = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i % kCollectedPerCheck == 0) {
      if (Status wanted = context.Check(); !wanted) return wanted;
    }
    Member& member = members[order[i]];
    const uint64_t end = EndOf(member);
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

// Hashes first: most archives have no equal names, and 8 bytes a member are
// less than a set of names.
Status Collector::FindRepeated(const ReadContext& context) {
  std::vector<Member>& members = directory_.members;
  const auto hash = [this](const Member& member) {
    return std::hash<std::string_view>()(directory_.ShownName(member));
  };
  std::vector<size_t> hashes;
  hashes.reserve(members.size());
  for (const Member& member : members) {
    if (member.kind == Kind::kFile) hashes.push_back(hash(member));
  }
  std::sort(hashes.begin(), hashes.end());
  std::vector<size_t> repeated;
  for (size_t i = 1; i < hashes.size(); ++i) {
    if (hashes[i] == hashes[i - 1]) repeated.push_back(hashes[i]);
  }
  if (repeated.empty()) return {};
  if (Status wanted = context.Check(); !wanted) return wanted;

  std::vector<uint32_t> suspects;
  for (uint32_t i = 0; i < members.size(); ++i) {
    if (members[i].kind == Kind::kFile &&
        std::binary_search(repeated.begin(), repeated.end(),
                           hash(members[i]))) {
      suspects.push_back(i);
    }
  }
  const auto name = [this](uint32_t member) {
    return directory_.ShownName(directory_.members[member]);
  };
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

void Collector::Warn() {
  struct Count {
    uint64_t members = 0;
    std::string example;
    uint64_t offset = 0;
  };
  std::array<Count, std::size(kFaultWords)> faults;
  Count links;
  const auto count = [this](const Member& member, Count& counted) {
    if (counted.members++ > 0) return;
    counted.example = Quote(directory_.ShownName(member));
    counted.offset = member.header;
  };
  for (const Member& member : directory_.members) {
    if (member.kind == Kind::kLink) {
      count(member, links);
    } else if (member.kind == Kind::kFile) {
      count(member, faults[static_cast<size_t>(member.fault)]);
    }
  }
  const auto warn = [this](const char* key, const Count& counted,
                           const std::string& what, bool damage) {
    if (counted.members == 0) return;
    directory_.warnings.push_back({std::string(key) + ": " + what + " of " +
                                       std::to_string(counted.members) +
                                       " members, the first is " +
                                       counted.example,
                                   counted.offset, damage});
  };
  for (size_t i = 1; i < faults.size(); ++i) {
    const FaultWords& words = kFaultWords[i];
    warn(words.key, faults[i], words.of_many,
         static_cast<Fault>(i) != Fault::kEncrypted);
  }
  warn("link", links, "the content is the target of a symbolic link", false);
  if (!directory_.repeated.empty()) {
    directory_.warnings.push_back(
        {"duplicate_name: " + std::to_string(directory_.repeated.size()) +
         " members have a name that another one has too"});
  }
}

Status Collector::Finish(uint64_t limit, const ReadContext& context) {
  if (Status marked = MarkOverlaps(limit, context); !marked) return marked;
  if (Status ordered = FindRepeated(context); !ordered) return ordered;
  directory_.names.shrink_to_fit();
  Warn();
  return {};
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

// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tar/members.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <numeric>

#include "core/base/heap/heap_allowance.h"
#include "core/base/seed.h"
#include "core/container/archive/plain_name.h"
#include "core/formats/tar/limits.h"
#include "core/formats/tar/sparse.h"

namespace ctxfs::tar {

Status Members::Add(Kind kind, Extent extent, std::string_view name) {
  if (members_.size() >= kMaxMembers) {
    return Error{
        Code::kLimit,
        fmt::format("the archive has more than {} members", kMaxMembers)};
  }
  if (name.size() > kMaxNameBytes - names_.size()) {
    return Error{Code::kLimit,
                 fmt::format("the names of the members take more than {} bytes",
                             kMaxNameBytes)};
  }
  CTXFS_TRY(AdmitGrowth(names_, name.size()));
  Member member{};
  member.at = extent.at;
  member.size = extent.size;
  member.name_at = static_cast<uint32_t>(names_.size());
  member.name_length = static_cast<uint32_t>(name.size()) & 0xFFFFFFU;
  member.kind = static_cast<unsigned>(kind) & 0x7FU;
  members_.push_back(member);
  names_ += name;
  return {};
}

Status Members::SetAttributes(const StoredAttributes& attributes) {
  PackedAttributes& packed = members_.back().attributes;
  if (attributes.mode) packed.SetMode(*attributes.mode);
  if (!attributes.mtime) return {};
  packed.SetMtime(attributes.mtime->seconds);
  const int64_t nanoseconds = attributes.mtime->nanoseconds;
  if (nanoseconds == 0) return {};
  CTXFS_TRY(AdmitGrowth(nanoseconds_, members_.size() - nanoseconds_.size()));
  nanoseconds_.resize(members_.size());
  nanoseconds_.back() = static_cast<uint32_t>(nanoseconds);
  return {};
}

StoredAttributes Members::attributes(uint32_t member) const {
  const uint32_t original = Original(member);
  const PackedAttributes& packed = members_[original].attributes;
  StoredAttributes attributes{.mode = packed.mode()};
  if (const std::optional<int64_t> seconds = packed.mtime()) {
    const bool whole = original >= nanoseconds_.size();
    attributes.mtime = {*seconds, whole ? 0 : nanoseconds_[original]};
  }
  return attributes;
}

void Members::Swap(uint32_t a, uint32_t b) {
  std::swap(members_[a], members_[b]);
  if (!nanoseconds_.empty()) std::swap(nanoseconds_[a], nanoseconds_[b]);
}

Status Members::AddSymlink(Extent extent, std::string_view name,
                           std::string_view target) {
  if (name.size() + target.size() > kMaxNameBytes - names_.size()) {
    return Error{Code::kLimit,
                 fmt::format("the names of the members and the targets of "
                             "links take more than {} bytes",
                             kMaxNameBytes)};
  }
  extent.size = target.size();
  CTXFS_TRY(Add(Kind::kSymlink, extent, name));
  return AppendAdmitted(names_, target);
}

Status Members::ShrinkToFit() {
  CTXFS_TRY(HeapAllowance::Admit(names_.size()));
  names_.shrink_to_fit();
  return {};
}

Status Members::MoveKeepers(const std::vector<Yield>& yields) {
  if (yields.empty()) return {};
  std::vector<uint32_t> places;
  CTXFS_TRY(AdmitGrowth(places, members_.size()));
  places.resize(members_.size());
  std::iota(places.begin(), places.end(), 0U);
  if (!nanoseconds_.empty()) nanoseconds_.resize(members_.size());
  for (const auto& [keeper, member] : yields) {
    Swap(places[keeper], places[member]);
    std::swap(places[keeper], places[member]);
  }
  for (Member& member : members_) {
    if (static_cast<Kind>(member.kind) != Kind::kHardLink) continue;
    member.at = places[static_cast<size_t>(member.at)];
  }
  decltype(sparse_) sparse;
  for (auto& [member, map] : sparse_) {
    sparse.emplace(places[member], std::move(map));
  }
  sparse_ = std::move(sparse);
  return HeapAllowance::Check();
}

uint64_t Members::FileSize(uint32_t member) const {
  if (kind(member) == Kind::kDirectory || !IsShown(kind(member))) return 0;
  if (kind(member) == Kind::kSymlink) return members_[member].size;
  const std::shared_ptr<const SparseMap> map = sparse(member);
  return map != nullptr ? map->size : extent(member).size;
}

std::string_view ShownPath(std::string_view name) {
  while (name.starts_with("./")) name.remove_prefix(2);
  return name;
}

std::string_view PlainPath(std::string_view name, std::string& scratch) {
  return PlainPathOf(ShownPath(name), scratch);
}

LastOfName::LastOfName(const Members& members, bool plain)
    : members_(members), plain_(plain), slots_(64), seed_(RandomSeed()) {}

std::string_view LastOfName::PathOf(std::string_view name,
                                    std::string& scratch) const {
  return plain_ ? PlainPath(name, scratch) : ShownPath(name);
}

uint32_t LastOfName::Hash(std::string_view path) const {
  return static_cast<uint32_t>(
      XXH3_64bits_withSeed(path.data(), path.size(), seed_));
}

size_t LastOfName::Find(uint32_t hash, std::string_view path) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  std::string scratch;
  while (slots_[at].member != kFree &&
         (slots_[at].hash != hash ||
          PathOf(members_.name(slots_[at].member), scratch) != path)) {
    at = (at + 1) & mask;
  }
  return at;
}

Status LastOfName::Grow() {
  CTXFS_TRY(HeapAllowance::Admit(2 * slots_.size() * sizeof(Slot)));
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.member == kFree) continue;
    size_t at = slot.hash & mask;
    while (slots_[at].member != kFree) at = (at + 1) & mask;
    slots_[at] = slot;
  }
  return {};
}

std::optional<uint32_t> LastOfName::At(std::string_view name) const {
  std::string scratch;
  const std::string_view path = PathOf(name, scratch);
  const uint32_t found = slots_[Find(Hash(path), path)].member;
  if (found == kFree) return std::nullopt;
  return found;
}

Result<std::optional<uint32_t>> LastOfName::Put(uint32_t member) {
  std::string scratch;
  const std::string_view path = PathOf(members_.name(member), scratch);
  const uint32_t hash = Hash(path);
  Slot& slot = slots_[Find(hash, path)];
  const uint32_t before = std::exchange(slot.member, member);
  slot.hash = hash;
  if (before != kFree) return std::optional(before);
  if (++used_ > slots_.size() / 2) {
    CTXFS_TRY(Grow());
  }
  return std::optional<uint32_t>();
}

}  // namespace ctxfs::tar

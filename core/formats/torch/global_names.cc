// SPDX-License-Identifier: Apache-2.0
#include "core/formats/torch/global_names.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/formats/torch/limits.h"
#include "core/formats/torch/names.h"

namespace ctxfs::torch {
namespace {

/// Returns the listed form of a name: truncated if it is too long.
std::string ShortName(std::string_view name) {
  if (name.size() <= kMaxListedName) return std::string(name);
  return fmt::format("{}... ({} bytes)", name.substr(0, kMaxListedName),
                     name.size());
}

}  // namespace

Result<bool> HashSet::Insert(uint64_t hash) {
  constexpr uint64_t kInsteadOfFree = 1;
  if (hash == 0) hash = kInsteadOfFree;
  if (2 * size_ >= slots_.size()) CTXFS_TRY(Grow());
  uint64_t& slot = Slot(hash);
  if (slot == hash) return true;
  slot = hash;
  ++size_;
  return false;
}

Status HashSet::Grow() {
  constexpr size_t kFewest = 1024;
  const size_t count = std::max(kFewest, 2 * slots_.size());
  CTXFS_TRY(HeapAllowance::Admit(count * sizeof(uint64_t)));
  const std::vector<uint64_t> old =
      std::exchange(slots_, std::vector<uint64_t>(count));
  for (const uint64_t hash : old) {
    if (hash != 0) Slot(hash) = hash;
  }
  return {};
}

uint64_t& HashSet::Slot(uint64_t hash) {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at] != 0 && slots_[at] != hash) at = (at + 1) & mask;
  return slots_[at];
}

Status GlobalNames::Add(std::string_view name) {
  if (IsKnownName(name)) return AddTo(known_, name);
  return AddTo(name.starts_with("__torch__.") ? script_ : unknown_, name);
}

Status GlobalNames::AddTo(Kind& kind, std::string_view name) {
  if (kind.met.size() >= kMaxGlobals + kMaxCounted) return {};
  const bool full = kind.listed.size() >= kMaxGlobals;
  // Names with the same truncated form are listed and counted once.
  if (!full || name.size() > kMaxListedName) {
    const std::string listed = ShortName(name);
    if (kind.listed.contains(listed)) return {};
    if (!full) kind.listed.insert(listed);
  }
  CTXFS_TRY(kind.met.Insert(kind.listed.hash_function()(name)));
  return {};
}

void GlobalNames::SetIncomplete(std::string why) {
  if (gap_.empty()) gap_ = std::move(why);
}

std::vector<GlobalNames::Listed> GlobalNames::List(bool script) const {
  std::vector<Listed> list;
  const auto add = [&list](const Kind& kind, bool safe) {
    std::vector<std::string_view> names(kind.listed.begin(), kind.listed.end());
    std::ranges::sort(names);
    for (const std::string_view name : names) {
      if (list.size() == kMaxGlobals) return;
      list.push_back({std::string(name), safe});
    }
  };
  add(unknown_, /*safe=*/false);
  add(script_, script);
  add(known_, /*safe=*/true);
  return list;
}

uint64_t GlobalNames::Count() const {
  return unknown_.met.size() + script_.met.size() + known_.met.size();
}

uint64_t GlobalNames::CountUnsafe(bool script) const {
  return unknown_.met.size() + (script ? 0 : script_.met.size());
}

}  // namespace ctxfs::torch

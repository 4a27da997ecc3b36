// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zip/links.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/text/text.h"
#include "core/container/archive/link_plan.h"
#include "core/formats/zip/zip.h"

namespace ctxfs::zip {
namespace {

constexpr uint32_t kMembersPerLinkCheck = 4096;

/// Returns a member's shown name, without the slash that ends a directory's.
std::string_view PathOf(const Archive& archive, uint32_t member) {
  std::string_view name = archive.Name(member);
  if (archive.member(member).kind == Kind::kDirectory && name.ends_with('/')) {
    name.remove_suffix(1);
  }
  return name;
}

}  // namespace

Status Links::ReadTarget(const Archive& archive, uint32_t member,
                         const ReadContext& context) {
  const std::optional<Error> fault = archive.MemberFault(member);
  if (archive.Size(member) > kMaxLinkTarget || targets_.size() >= kMaxLinks ||
      (fault && fault->code != Code::kCorrupt)) {
    CTXFS_TRY(AdmitGrowth(hidden_));
    hidden_.push_back(member);
    return {};
  }
  Result<std::string> target = [&]() -> Result<std::string> {
    const Content content = CTXFS_TRY(archive.Open(member, context));
    return ReadAll(content, context);
  }();
  if (target) {
    targets_.emplace(member, std::move(*target));
  } else if (target.error().Permanent()) {
    CTXFS_TRY(AdmitGrowth(damaged_));
    damaged_.push_back(member);
  } else {
    return std::move(target).error();
  }
  return {};
}

Status Links::Hide(const Archive& archive, const ReadContext& context) {
  LinkPlan plan(/*last_keeps_name=*/false);
  for (uint32_t i = 0; i < archive.count(); ++i) {
    const auto target = Target(i);
    if (!target) continue;
    CTXFS_TRY(context.Check());
    plan.AddLink(i, archive.Name(i), *target);
  }
  if (plan.empty()) return {};
  for (uint32_t i = 0; i < archive.count(); ++i) {
    if (i % kMembersPerLinkCheck == 0) {
      CTXFS_TRY(context.Check());
    }
    const Kind kind = archive.member(i).kind;
    if (kind == Kind::kLink) continue;
    plan.AddOther(i, PathOf(archive, i), kind == Kind::kDirectory);
  }
  const std::vector<uint32_t> hidden = CTXFS_TRY(plan.Hidden(context));
  for (const uint32_t member : hidden) targets_.erase(member);
  hidden_.insert(hidden_.end(), hidden.begin(), hidden.end());
  return {};
}

Result<std::shared_ptr<const Links>> Links::Read(const Archive& archive,
                                                 const ReadContext& context) {
  auto links = std::make_shared<Links>();
  for (uint32_t i = 0; i < archive.count(); ++i) {
    if (archive.member(i).kind != Kind::kLink) continue;
    CTXFS_TRY(context.Check());
    CTXFS_TRY(links->ReadTarget(archive, i, context));
  }
  CTXFS_TRY(links->Hide(archive, context));
  if (!links->hidden_.empty()) {
    const uint32_t first =
        *std::min_element(links->hidden_.begin(), links->hidden_.end());
    links->warnings_.push_back(
        {LinkWarning(links->hidden_.size(), archive.Name(first)),
         archive.member(first).header});
  }
  if (!links->damaged_.empty()) {
    const uint32_t first = links->damaged_.front();
    links->warnings_.push_back(
        {fmt::format("link: the targets of {} symbolic links cannot be read; "
                     "the first is {}",
                     links->damaged_.size(), Quote(archive.Name(first))),
         archive.member(first).header, Severity::kDamage});
  }
  return std::shared_ptr<const Links>(std::move(links));
}

}  // namespace ctxfs::zip

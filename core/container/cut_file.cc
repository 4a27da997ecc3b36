// SPDX-License-Identifier: Apache-2.0
#include "core/container/cut_file.h"

#include <memory>

#include "core/base/errors.h"
#include "core/base/text/count_of.h"
#include "core/base/text/human_size.h"

namespace ctxfs {

std::string CutFile::Text() const {
  std::string need = HumanSize(needs);
  std::string there = HumanSize(has);
  if (need == there) {
    need = std::to_string(needs);
    there = std::to_string(has) + " bytes";
  }
  const std::string why =
      lost.empty() ? "needs " : lost + " is missing; needs at least ";
  return "cut: " + why + need + " and has " + there + "; " + Whole();
}

std::string CutFile::Whole() const {
  const std::string count = std::to_string(whole);
  // If the index is truncated, the number of entries is unknown.
  const bool known = whole < entries;
  const std::string of = known ? " of " + std::to_string(entries) : "";
  return count + of + " " + NounOf(known ? entries : whole, kind) +
         (whole == 1 || (known && entries == 1) ? " is whole" : " are whole");
}

std::optional<CutFile> CutOf(const Container& container) {
  const uint64_t has = container.source()->size();
  if (container.NeededSize() <= has) return std::nullopt;
  const std::shared_ptr<const FileTable> entries = container.Entries();
  CutFile cut{.needs = container.NeededSize(),
              .has = has,
              .lost = std::string(container.LostPart())};
  for (uint32_t i = 0; i < entries->count(); ++i) {
    const FileFacts facts = entries->Facts(i);
    if (facts.kind == FileKind::kDirectory) continue;
    const std::optional<Error>& fault = facts.fault;
    const bool whole = !fault || fault->code == Code::kLocked;
    if (!whole && !IsDamage(*fault)) continue;
    cut.whole += whole ? 1 : 0;
    if (cut.entries++ > 0) continue;
    const auto first = entries->Describe(i, LoneContext());
    if (first) cut.kind = first->kind;
  }
  return cut;
}

}  // namespace ctxfs

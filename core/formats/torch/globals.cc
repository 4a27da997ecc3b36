// SPDX-License-Identifier: Apache-2.0
//
// Lists the names that loading a checkpoint would import
// (docs/formats/torch.md, section 12).
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/text/text.h"
#include "core/formats/torch/checkpoint.h"
#include "core/formats/torch/global_scan.h"
#include "core/formats/torch/limits.h"

namespace ctxfs::torch {
namespace {

bool EqualsInAnyCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::ranges::equal(a, b, {}, lower, lower);
}

/// Whether torch might load the record `name`. torch ignores the case of names;
/// if several records match, its choice depends on its version.
bool MayBeLoaded(std::string_view name) {
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) return false;
  name.remove_prefix(slash + 1);
  return EqualsInAnyCase(name, "data.pkl") ||
         EqualsInAnyCase(name, "constants.pkl");
}

/// Returns "1 function or class", "3 functions or classes".
std::string Counted(uint64_t count) {
  return std::to_string(count) +
         (count == 1 ? " function or class" : " functions or classes");
}

}  // namespace

Status Checkpoint::ListGlobals(const ReadContext& context) {
  uint64_t records = 0;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < archive_->count(); ++i) {
    if (!MayBeLoaded(archive_->Name(i))) continue;
    bytes = CheckedAdd(bytes, archive_->Size(i)).value_or(UINT64_MAX);
    if (++records > kMaxPickleRecords || bytes > kMaxSearchedBytes) {
      globals_.SetIncomplete("there are too many records of pickles");
      break;
    }
    CTXFS_TRY(ListGlobalsOf(i, context));
  }
  WarnOfGlobals();
  return {};
}

Status Checkpoint::ListGlobalsOf(uint32_t member, const ReadContext& context) {
  const auto scan = [&](const zip::Archive& archive) -> Status {
    const Content content = CTXFS_TRY(archive.Open(member, context));
    uint64_t end = 0;
    CTXFS_TRY(ScanGlobals(content, 0, context, globals_, end));
    return {};
  };
  Status scanned = scan(*archive_);
  if (!scanned && scanned.error().code == Code::kChecksum) {
    // torch verifies no checksums, so the scan reads the record again without
    // verifying it. The second archive copies the directory, which can be
    // large.
    CTXFS_TRY(HeapAllowance::Admit(archive_->directory().CopyBytes() +
                                   archive_->count() * sizeof(AtomicVerdict)));
    scanned = scan(*std::make_shared<const zip::Archive>(
        source(), archive_->directory(),
        zip::Archive::Options{.verify = false, .zero_is_no_checksum = true}));
  }
  if (scanned || !scanned.error().Permanent()) return scanned;
  globals_.SetIncomplete(Quote(archive_->Name(member)) +
                         " cannot be read: " + scanned.error().what);
  return {};
}

Status Checkpoint::ListLegacyGlobals(const ReadContext& context) {
  constexpr int kPickles = 5;
  const Content file(Range{source(), 0, nullptr}, source()->size());
  uint64_t at = 0;
  for (int i = 0; i < kPickles; ++i) {
    const bool whole = CTXFS_TRY(ScanGlobals(file, at, context, globals_, at));
    if (!whole) break;
  }
  WarnOfGlobals();
  return {};
}

void Checkpoint::WarnOfGlobals() {
  if (!globals_.complete()) {
    Warn(
        {"globals_incomplete: loading the pickle may import more than what is "
         "listed: " +
             globals_.gap(),
         kNoOffset, Severity::kDamage});
  }
  const uint64_t count = globals_.Count();
  if (count > kMaxGlobals) {
    const bool more = count > kMaxCounted;
    Warn({fmt::format("many_globals: the pickle names {}{}, and {} are listed",
                      more ? "more than " : "",
                      Counted(more ? kMaxCounted : count), kMaxGlobals)});
  }
}

void DescribeGlobals(const GlobalNames& names, const SafeNames& safe,
                     Json& info) {
  Json list = Json::array();
  uint64_t outside = names.CountUnsafe(safe.script);
  for (GlobalNames::Listed& one : names.List(safe.script)) {
    if (!one.safe && safe.known != nullptr && safe.known(one.name)) {
      one.safe = true;
      --outside;
    }
    list.push_back({{"name", std::move(one.name)}, {"safe", one.safe}});
  }
  if (outside > 0) {
    info["warnings"].push_back("unsafe_globals: the pickle names " +
                               Counted(outside) +
                               " that torch.load would import; ctxfs imports "
                               "none");
  }
  info["globals"] = std::move(list);
  // If names may be missing, counts at least one unsafe name.
  const uint64_t least = names.complete() ? 0 : 1;
  info["unsafe_globals"] = std::max(outside, least);
  info["globals_complete"] = names.complete();
}

void AddGlobalFacts(const Json& info, Facts& facts) {
  for (const Json& global : info.value("globals", Json::array())) {
    facts.Add("global." + TextAt(global, "name"),
              global.value("safe", false) ? "safe" : "unsafe");
  }
}

}  // namespace ctxfs::torch

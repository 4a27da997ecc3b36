// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/compare/diff_result.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/io/urls/url.h"
#include "fs/commands/confine.h"
#include "fs/commands/progress.h"
#include "fs/commands/target.h"

namespace ctxfs {
namespace {

Json SideJson(const DiffEntry* entry) {
  if (entry == nullptr) return nullptr;
  Json json = {{"path", entry->path}, {"size", entry->size}};
  if (entry->is_array()) {
    json["dtype"] = entry->dtype;
    json["shape"] = entry->shape;
  }
  return json;
}

Json ValuesJson(const ValueDifference& values) {
  Json bins = Json::array();
  for (size_t i = 0; i < values.bins.size(); ++i) {
    const std::optional<double> end = BinEnd(i);
    bins.push_back(
        {{"below", end ? Json(*end) : Json()}, {"count", values.bins[i]}});
  }
  return {
      {"elements", values.elements},
      {"different", values.different},
      {"unlike", values.unlike},
      {"max_absolute", values.max_absolute},
      {"max_relative", values.max_relative},
      {"mean_absolute", values.mean_absolute},
      {"cosine", values.cosine},
      {"relative_l2",
       std::isfinite(values.relative_l2) ? Json(values.relative_l2) : Json()},
      {"histogram", std::move(bins)}};
}

uint64_t CountArrays(const DiffSide& side) {
  return static_cast<uint64_t>(std::ranges::count_if(
      side.entries(), [](const auto& one) { return one.second.is_array(); }));
}

/// Fails for two models without a tensor name in common: to list all tensors as
/// removed and added would say nothing about their values.
Status CheckNames(const DiffSide& first, const DiffSide& second,
                  const std::vector<EntryDifference>& found) {
  const uint64_t removed = CountArrays(first);
  const uint64_t added = CountArrays(second);
  const bool in_common =
      std::ranges::any_of(found, [](const EntryDifference& one) {
        return one.first != nullptr && one.second != nullptr &&
               (one.first->is_array() || one.second->is_array());
      });
  // Directories also have other files, whose differences must be listed.
  const bool models = !first.format().empty() && !second.format().empty();
  if (in_common || !models || removed == 0 || added == 0) return {};
  return Error{
      Code::kUnsupported,
      fmt::format("no names in common: {} and {} tensors", removed, added)};
}

}  // namespace

int DiffTally::ExitCode() const {
  if (Of(DiffKind::kFailed) > 0) return kFailedCode;
  uint64_t all = 0;
  for (const uint64_t count : entries) all += count;
  return all == Of(DiffKind::kSame) ? kSameCode : kDifferentCode;
}

std::string DiffTally::Text() const {
  std::string text;
  for (const DiffKind kind :
       {DiffKind::kChanged, DiffKind::kRenamed, DiffKind::kRemoved,
        DiffKind::kAdded, DiffKind::kFailed, DiffKind::kSame}) {
    if (Of(kind) == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", Of(kind),
                        DiffKindName(kind));
  }
  return text.empty() ? "nothing to compare" : text;
}

std::optional<DiffResult> DiffResult::Of(const Arguments& arguments,
                                         DiffSide& first, DiffSide& second) {
  std::vector<std::string> operands;
  for (const std::string& operand : arguments.operands) {
    operands.push_back(WithoutMount(operand));
  }
  ConfineToReading(SourcesOf(operands), LeavingLinks::kFollowed);
  for (size_t i = 0; i < operands.size(); ++i) {
    const Status opened = (i == 0 ? first : second).Open(operands[i]);
    if (opened) continue;
    PrintError(arguments.operands[i], opened.error());
    return std::nullopt;
  }
  Progress progress;
  DiffResult result;
  for (size_t i = 0; i < operands.size(); ++i) {
    for (const auto& one : (i == 0 ? first : second).incomplete()) {
      result.incomplete.push_back({WithoutQuery(arguments.operands[i]), one});
    }
  }
  result.names = MapNames(first, second);
  result.found = DiffEntries(
      first, second, {.values = arguments.values, .jobs = arguments.jobs},
      progress);
  progress.Clear();
  if (const Status named = CheckNames(first, second, result.found); !named) {
    PrintError(arguments.operands.back(), named.error());
    return std::nullopt;
  }
  for (const EntryDifference& one : result.found) result.tally.Add(one);
  return result;
}

int DiffResult::ExitCode() const {
  return incomplete.empty() ? tally.ExitCode() : DiffTally::kFailedCode;
}

std::optional<double> BinEnd(size_t bin) {
  if (bin == ValueDifference::kBinEnds.size()) return std::nullopt;
  return ValueDifference::kBinEnds[bin];
}

Json DifferenceJson(const EntryDifference& one) {
  Json json = {{"kind", DiffKindName(one.kind)},
               {"first", SideJson(one.first)},
               {"second", SideJson(one.second)}};
  if (one.offset) json["offset"] = *one.offset;
  if (!one.keys.empty()) json["keys"] = one.keys;
  if (one.values) json["values"] = ValuesJson(*one.values);
  if (one.no_values) json["no_values"] = *one.no_values;
  if (one.error) json["error"] = one.error->Text();
  return json;
}

Json TallyJson(const DiffTally& tally) {
  Json json = Json::object();
  for (size_t i = 0; i < kDiffKinds; ++i) {
    json[DiffKindName(static_cast<DiffKind>(i))] = {
        {"entries", tally.entries[i]}, {"size", tally.bytes[i]}};
  }
  return json;
}

Json IncompleteJson(const DiffResult& result) {
  Json json = Json::array();
  for (const auto& [source, container] : result.incomplete) {
    json.push_back({{"source", source},
                    {"path", container.path},
                    {"error", container.error.Text()}});
  }
  return json;
}

Json NamesJson(const DiffResult& result) {
  if (!result.names) return nullptr;
  return {{"architecture", result.names->architecture},
          {"mapped", result.names->arrays}};
}

}  // namespace ctxfs

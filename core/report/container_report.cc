// SPDX-License-Identifier: Apache-2.0
#include "core/report/container_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/container/cut_file.h"
#include "core/report/container_summary.h"
#include "core/report/entry_rows.h"
#include "core/report/found_faults.h"
#include "core/report/identity.h"
#include "core/report/incomplete.h"
#include "core/report/script_json.h"
#include "core/report/sections/layer_sizes.h"
#include "core/report/sections/value_report.h"

namespace ctxfs {
namespace {

constexpr size_t kTextBytes = 500;
constexpr size_t kFacts = 100;
constexpr size_t kWarnings = 200;
constexpr size_t kCounted = 30;  // rows of counts, such as by codec
constexpr size_t kLayers = 40;
constexpr size_t kBriefFaults = 5;
// If less than this is left of page_bytes, no details of a container are read.
constexpr uint64_t kLeastDetails = 64 * limits::kKiB;
constexpr uint32_t kEntriesACheck = 256;

std::string ShownText(const Json& value) {
  return CutText(
      value.is_string() ? value.get_ref<const std::string&>() : JsonLine(value),
      kTextBytes);
}

/// The largest of named counts, in descending order of `size_of`.
template <typename Count, typename SizeOf>
auto Largest(const std::map<std::string, Count>& counts,
             const SizeOf& size_of) {
  std::vector<std::pair<std::string, Count>> ordered(counts.begin(),
                                                     counts.end());
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](const auto& a, const auto& b) {
                     return size_of(a.second) > size_of(b.second);
                   });
  if (ordered.size() > kCounted) ordered.resize(kCounted);
  return ordered;
}

Json CountsOf(const std::map<std::string, uint64_t>& counts) {
  Json shown = Json::array();
  for (const auto& [name, count] : Largest(counts, std::identity())) {
    shown.push_back({CutText(name, kTextBytes), count});
  }
  return shown;
}

Json DtypesOf(const ContainerSummary& summary) {
  Json shown = Json::array();
  for (const auto& [name, dtype] :
       Largest(summary.dtypes, [](const auto& dtype) { return dtype.bytes; })) {
    shown.push_back(
        {CutText(name, kTextBytes), dtype.bytes, dtype.arrays, dtype.elements});
  }
  return shown;
}

void AddFormat(const Json& info, Json& report) {
  report["format"] = ShownText(info.value("format", Json("unknown")));
  if (const auto version = info.find("version");
      version != info.end() && version->is_primitive()) {
    report["version"] = ShownText(*version);
  }
}

/// Adds "facts": [[key, text]], the fields of info.json that the page shows
/// nowhere else; with `texts_only`, only texts.
void AddFacts(const Json& info, bool texts_only, Json& report) {
  Json facts = Json::array();
  for (const auto& [key, value] : info.items()) {
    if (key == "format" || key == "version" || key == "warnings") continue;
    if (key == "incomplete") continue;  // it has a section of its own
    // This field counts only faults of the index. The page lists all faults
    // elsewhere.
    if (key == "entries_unreadable") continue;
    // "salvaged" describes the mount, not the container.
    if (key == "salvaged" || (texts_only && !value.is_string())) continue;
    if (value.empty() && value.is_structured()) continue;
    if (facts.size() == kFacts) break;
    facts.push_back({CutText(key, kTextBytes), ShownText(value)});
  }
  report["facts"] = std::move(facts);
}

/// Adds "contents": [number, unit], such as [50, "samples"]. Of the facts that
/// count a kind of content, takes samples first, then rows, length and
/// parameters.
void AddContents(const Facts& facts, Json& report) {
  for (const char* const key : {"samples", "rows", "length", "parameters"}) {
    for (const Fact& fact : facts.all()) {
      if (fact.key != key || !fact.value.is_number_unsigned()) continue;
      const bool tensors = fact.key == "parameters";
      report["contents"] = {fact.value, tensors ? fact.key : fact.unit};
      return;
    }
  }
}

/// Adds "identity": [[key, text]].
Status AddIdentity(const Container& container, const ReadContext& context,
                   Json& report) {
  const Identity identity = Identity::Of(container, context);
  if (identity.error && !identity.error->Permanent()) return *identity.error;
  if (!identity.facts.all().empty()) report["identity"] = identity.PageFacts();
  AddContents(identity.facts, report);
  for (const std::string& note : identity.Notes()) {
    report["left_out"].push_back(CutText(note, kTextBytes));
  }
  return {};
}

void AddWarnings(const Json& all, Json& report) {
  Json warnings = Json::array();
  for (const Json& warning : all) {
    if (warnings.size() == kWarnings) break;
    warnings.push_back(ShownText(warning));
  }
  const uint64_t more = all.size() - warnings.size();
  report["warnings"] = std::move(warnings);
  if (more != 0) {
    report["left_out"].push_back(fmt::format("{} further warnings", more));
  }
}

/// Returns the faults that opening the container has found. For a cut file, the
/// first text stands for the faults of all entries that the file lacks.
Json LastingFaults(const Container& container) {
  Json texts = Json::array();
  std::unordered_set<std::string> of_cut;
  const std::optional<CutFile> cut =
      container.InfoMayChange() ? std::nullopt : CutOf(container);
  if (cut) {
    texts.push_back(cut->Text());
    const std::shared_ptr<const FileTable> entries = container.Entries();
    for (uint32_t entry = 0; entry < entries->count(); ++entry) {
      const std::optional<Error> fault = entries->Fault(entry);
      if (fault) of_cut.insert(fault->what);
    }
  }
  for (const Error& fault : container.Faults()) {
    if (of_cut.contains(fault.what) || (cut && cut->Caused(fault))) continue;
    texts.push_back(fault.Text());
  }
  return texts;
}

/// Adds the fields that are the same at each call. Counts and warnings of
/// info.json are not among them, because they may depend on headers, and a
/// header that fails to read once may be readable the next time.
void AddLastingInfo(const Container& container, const Json& info,
                    Json& report) {
  AddFormat(info, report);
  if (!container.InfoMayChange()) {
    AddFacts(info, /*texts_only=*/true, report);
  }
  AddWarnings(LastingFaults(container), report);
}

/// Adds "incomplete", the text of IncompleteText, if there is one. Stores the
/// text in `told`, which may be null.
Status AddIncomplete(const Container& container, const ReadContext& context,
                     Json& report, std::optional<std::string>* told) {
  std::optional<std::string> text =
      CTXFS_TRY(IncompleteText(container, context));
  if (text) report["incomplete"] = CutText(*text, kTextBytes);
  if (told != nullptr) *told = std::move(text);
  return {};
}

void AddInfo(const Json& info, Json& report) {
  AddFormat(info, report);
  AddFacts(info, /*texts_only=*/false, report);
  AddWarnings(info.value("warnings", Json::array()), report);
}

/// Data from the index about the entries.
struct Described {
  ContainerSummary summary;
  LayerSizes layers;
  EntryRows rows;
};

Status Describe(const FileTable& entries, uint32_t count,
                const ReadContext& context, Described& to) {
  for (uint32_t entry = 0; entry < count; ++entry) {
    if (entry % kEntriesACheck == 0) {
      CTXFS_TRY(context.Check());
    }
    const EntryInfo info =
        entries.Describe(entry, context).value_or(EntryInfo{});
    if (info.incomplete) {
      return Error{Code::kIo, "the container cannot be read"};
    }
    to.summary.Add(info);
    to.layers.Add(info.name.value_or(""), info.size);
    to.rows.Add(info);
  }
  return {};
}

/// Adds "counted_before": {"entry_count", "elements", "decoded_bytes"}, the
/// part of the container that earlier containers of the page show, too. Adds
/// nothing if there is no such part.
void AddCountedBefore(const CountedOnce::Sums& before, Json& report) {
  if (before.entries == 0) return;
  report["counted_before"] = {{"entry_count", before.entries},
                              {"elements", before.elements},
                              {"decoded_bytes", before.decoded_bytes}};
}

void AddCounts(const Described& described, Json& report) {
  const ContainerSummary& summary = described.summary;
  report["stored_bytes"] = summary.stored_bytes;
  report["decoded_bytes"] = summary.decoded_bytes;
  report["array_count"] = summary.arrays;
  report["elements"] = summary.elements;
  report["all_tensors"] = summary.all_tensors;
  report["codecs"] = CountsOf(summary.codecs);
  report["checksums"] = CountsOf(summary.checksums);
  report["dtypes"] = DtypesOf(summary);
  report["layers"] = described.layers.Largest(kLayers);
}

/// Adds "unverified", the number of unverified entries, if not 0, and, if there
/// are faults, "faults": {"count", "damaged", "listed": [[name or null, text]],
/// "rows": faulty rows of the table of entries}.
void AddFaults(const FoundFaults& faults, const FileTable& entries,
               uint64_t rows, const ReadContext& context, Json& report) {
  if (faults.unread != 0) {
    report["unverified"] = faults.unread;
    report["left_out"].push_back(
        fmt::format("{} entries were not verified, because too much would have "
                    "to be read; --exact reads all of them",
                    faults.unread));
  }
  if (faults.count() == 0) return;
  Json listed = Json::array();
  std::set<std::string> texts;
  for (const std::string& text : faults.texts) {
    texts.insert(CutText(text, kTextBytes));
  }
  for (const FoundFaults::Fault& one : faults.listed) {
    Json name;
    if (one.entry) {
      name = CutText(entries.Describe(*one.entry, context)
                         .value_or(EntryInfo{})
                         .name.value_or(""),
                     kEntryNameBytes);
    }
    std::string text = CutText(one.error.Text(), kTextBytes);
    texts.insert(text);
    listed.push_back({std::move(name), std::move(text)});
  }
  // Removes warnings that repeat a fault.
  std::erase_if(report["warnings"].get_ref<Json::array_t&>(),
                [&texts](const Json& warning) {
                  return texts.contains(warning.get<std::string>());
                });
  Json shown = Json::array();
  for (const uint32_t entry : faults.entries) {
    if (entry < rows) shown.push_back(entry);
  }
  report["faults"] = {{"count", faults.count()},
                      {"damaged", faults.damaged},
                      {"listed", std::move(listed)},
                      {"rows", std::move(shown)}};
  const uint64_t more = faults.count() - faults.listed.size();
  if (more != 0) {
    report["left_out"].push_back(fmt::format("{} further faults", more));
  }
}

/// Adds "verified_by", the compression of a packed file whose checksums cover
/// all of it. Adds the sizes at the top of the page. Unless `index_only`, takes
/// them from info.json where it has them, because sizes summed over entries
/// depend on which entries are readable.
void AddSizes(const Container& container, const Json& info, bool index_only,
              Json& report) {
  const uint64_t all = container.StoredSize();
  const uint64_t own = CountAt(info, "container_size").value_or(all);
  report["container_size"] = own;
  if (const auto packed = container.source()->packed_file();
      packed && packed->verified) {
    report["verified_by"] = packed->compression;
  }
  if (all != own) {
    report["facts"].push_back({"size_of_all_its_files", std::to_string(all)});
  }
  if (index_only) return;
  for (const auto& [fact, size] :
       {std::pair("stored_size", "stored_bytes"),
        std::pair("decoded_size", "decoded_bytes")}) {
    if (const auto known = CountAt(info, fact)) report[size] = *known;
  }
}

/// The fields for the overview of several containers.
Json BriefReport(Json report) {
  Json brief = {{"brief", true}};
  for (const char* const key :
       {"name", "format", "version", "contents", "container_size",
        "stored_bytes", "decoded_bytes", "entry_count", "array_count",
        "elements", "all_tensors", "counted_before", "unverified",
        "verified_by", "incomplete"}) {
    if (report.contains(key)) brief[key] = std::move(report[key]);
  }
  // The overview's verdict depends on whether all entries have a checksum.
  brief["checksums"] = Json::array();
  for (Json& one : report["checksums"]) {
    one[0] = one[0] == "none" ? "none" : "checksum";
    brief["checksums"].push_back(std::move(one));
  }
  if (report.contains("faults")) {
    brief["faults"] = std::move(report["faults"]);
    brief["faults"]["rows"] = Json::array();
    Json& listed = brief["faults"]["listed"];
    if (listed.size() > kBriefFaults) {
      listed.get_ref<Json::array_t&>().resize(kBriefFaults);
    }
  }
  return brief;
}

}  // namespace

Result<std::string> ContainerReport(
    const std::shared_ptr<const Container>& container, const std::string& name,
    const ReportOptions& options, ReportRoom& room, const ReadContext& context,
    const FoundFaults* faults, std::optional<std::string>* incomplete) {
  Json report = {{"name", CutText(name, kEntryNameBytes)},
                 {"left_out", Json::array()}};
  const bool index_only = options.depth == ReportDepth::kIndex;
  const Json info = container->Info(context);
  index_only ? AddLastingInfo(*container, info, report) : AddInfo(info, report);
  if (!index_only || !container->InfoMayChange()) {
    CTXFS_TRY(AddIncomplete(*container, context, report, incomplete));
  }
  if (!index_only) CTXFS_TRY(AddIdentity(*container, context, report));

  const std::shared_ptr<const FileTable> entries = container->Entries();
  const uint64_t count = entries->count();
  const uint64_t described_count = std::min(count, options.described);
  Described described{{}, {}, EntryRows(room.rows, room.row_bytes)};
  CTXFS_TRY(Describe(*entries, static_cast<uint32_t>(described_count), context,
                     described));
  const uint64_t rows = described.rows.rows();
  room.rows -= rows;
  room.row_bytes -= std::min(room.row_bytes, described.rows.bytes());
  report["entry_count"] = count;
  AddCounts(described, report);
  AddSizes(*container, info, index_only, report);
  if (!index_only) AddCountedBefore(room.counted.Add(*container), report);
  if (described_count < count) {
    report["left_out"].push_back(
        fmt::format("sizes and counts are those of the first {} of {} entries",
                    described_count, count));
  }
  if (rows < count) {
    report["left_out"].push_back(fmt::format(
        "{} of {} entries are not in the table", count - rows, count));
  }
  if (faults != nullptr) AddFaults(*faults, *entries, rows, context, report);
  const bool brief = room.page_bytes < kLeastDetails;
  if (!index_only && !brief) {
    ValueReport(container, options, room, context).AddAll(report);
  }
  // An interrupted report is incomplete and must not be shown.
  CTXFS_TRY(context.Check());
  std::string text = "{\"entries\":" + described.rows.Text() + ",\n" +
                     ScriptJson(report).substr(1);
  if (brief || text.size() > room.page_bytes) {
    text = ScriptJson(BriefReport(std::move(report)));
  } else {
    room.page_bytes -= text.size();
  }
  CTXFS_TRY(context.Charge(text.size()));
  return text;
}

std::string FailedReport(const std::string& name, const Error& error) {
  return ScriptJson({{"name", CutText(name, kEntryNameBytes)},
                     {"error", CutText(error.Text(), kTextBytes)}});
}

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/verify/checker.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/base/errors.h"
#include "core/base/limits.h"
#include "core/base/parallel.h"
#include "core/codec/crypto/digest.h"
#include "core/container/interfaces/has_identity.h"
#include "core/content/read_through.h"
#include "core/io/directory.h"
#include "fs/commands/verify/data_files.h"
#include "fs/commands/verify/global_lines.h"

namespace ctxfs {
namespace {

/// Returns the fields that identify an Error.
std::tuple<Code, uint64_t, std::string> KeyOf(const Error& error) {
  return {error.code, error.offset, error.what};
}

/// Computes CheckReport::verified_by.
std::string VerifiedBy(const Container& container) {
  const auto packed = container.source()->packed_file();
  return packed && packed->verified ? std::string(packed->compression) : "";
}

}  // namespace

/// The result of checking one file.
struct Checker::Outcome {
  DataFile file;
  bool exists = false;
  uint64_t size = 0;  // bytes that were read
  bool entry = false;
  bool verified = false;  // whether it is an entry with a checksum
  std::optional<Error> error;
  FileDigest digest;  // without a path
};

/// The other files that a container reads, such as the shards of a model.
/// Thread-safe.
class Checker::OtherFiles {
 public:
  /// All files of a container that is a directory count as its own.
  explicit OtherFiles(const Container& container)
      : own_(container.source().get()), all_own_(own_->is_directory()) {}

  /// Whether all of `content` is stored in another file that is a container
  /// itself.
  bool Hold(const Content& content) {
    const std::optional<Range> range = content.AsStored();
    if (all_own_ || !range || range->source.get() == own_) return false;
    if (dynamic_cast<const FileSource*>(range->source.get()) == nullptr) {
      return false;
    }
    const MutexLock lock(mutex_);
    const auto [known, added] = known_.try_emplace(range->source, false);
    if (added) {
      const Result<Buffer> head = ReadHead(*range->source, Request());
      known->second = head && IsContainer(head->span());
    }
    return known->second;
  }

  /// The other files that contents passed to Hold are stored in, without
  /// containers if `alone`.
  std::vector<SourcePtr> Files(bool alone) {
    const MutexLock lock(mutex_);
    std::vector<SourcePtr> files;
    for (const auto& [file, container] : known_) {
      if (!alone || !container) files.push_back(file);
    }
    std::ranges::sort(files, {},
                      [](const SourcePtr& file) { return file->name(); });
    return files;
  }

 private:
  const Source* const own_;
  const bool all_own_;
  Mutex mutex_;
  std::map<SourcePtr, bool> known_ CTXFS_GUARDED_BY(mutex_);
};

CheckReport Checker::Check(const FoundContainer& found) const {
  CheckReport report;
  if (found.error) {
    report.faults.push_back({"", std::nullopt, *found.error});
    return report;
  }
  const bool alone = !found.named && !found.matched;
  if (found.container != nullptr) {
    CheckContainer(found.container, {"", 0, alone}, report);
    return report;
  }
  const Result<SourcePtr> source = found.opened != nullptr
                                       ? Result<SourcePtr>(found.opened)
                                       : OpenSource(found.path);
  if (source) {
    CheckSource(*source, {"", 0, alone}, report);
  } else {
    report.faults.push_back({"", std::nullopt, source.error()});
  }
  return report;
}

void Checker::CheckSource(const std::shared_ptr<const Source>& source,
                          const Place& place, CheckReport& report) const {
  OpenOptions options = options_.open;
  Result<std::shared_ptr<const Container>> container =
      OpenContainer(source, options);
  if (!container) {
    report.faults.push_back({place.path, std::nullopt, container.error()});
    // If a container violates a structural rule, salvage checks the readable
    // part.
    options.salvage = true;
    if (container.error().code == Code::kCorrupt) {
      container = OpenContainer(source, options);
    }
    if (!container) return;
  }
  CheckContainer(std::move(*container), place, report);
}

void Checker::CheckContainer(std::shared_ptr<const Container> container,
                             const Place& place, CheckReport& report) const {
  const Json info = container->Info(cache_);
  if (place.depth == 0) {
    report.format = info.value("format", "");
    report.cut = CutOf(*container);
    report.verified_by = VerifiedBy(*container);
  }
  AddFindings(*container, info, place, report);
  if (place.depth == 0) CompareIdentity(*container, report);
  WarnOfGlobals(info, place, report);
  const ContainerTree container_tree(std::move(container));
  if (!container_tree.status()) {
    report.faults.push_back(
        {place.path, std::nullopt, container_tree.status().error()});
  }
  CheckFiles(container_tree, place, report);
  CheckChildren(container_tree, place, report);
}

void Checker::AddFindings(const Container& container, const Json& info,
                          const Place& place, CheckReport& report) const {
  std::set<std::string> said;
  // The error of a failed open is already a fault. A warning may repeat it.
  for (const Fault& fault : report.faults) {
    if (fault.path == place.path) said.insert(fault.error.Text());
  }
  for (Error& error : container.Inspect(cache_)) {
    if (!said.insert(error.Text()).second) continue;
    report.faults.push_back({place.path, std::nullopt, std::move(error)});
  }
  for (const Warning& warning : container.warnings()) {
    const bool told = warning.severity == Severity::kOfEntries;
    if (!told && warning.severity != Severity::kPartial) continue;
    if (!said.insert(warning.Text()).second || told) continue;
    report.faults.push_back({place.path,
                             std::nullopt,
                             {Code::kUnsupported, warning.text, warning.offset},
                             /*partial=*/true});
  }
  const std::string incomplete = info.value("incomplete", "");
  if (!incomplete.empty() && place.path.empty()) report.incomplete = incomplete;
  if (!incomplete.empty() && !place.path.empty()) {
    report.warnings.push_back(place.path + ": incomplete: " + incomplete);
  }
  for (const Json& warning : info.value("warnings", Json::array())) {
    const std::string text = warning.get<std::string>();
    if (said.contains(text)) continue;
    report.warnings.push_back(place.path.empty() ? text
                                                 : place.path + ": " + text);
  }
}

void Checker::CompareIdentity(const Container& container,
                              CheckReport& report) const {
  if (options_.identity.empty()) return;
  const auto* const sealed = dynamic_cast<const HasIdentity*>(&container);
  const Result<std::string> found =
      sealed != nullptr
          ? sealed->SealedIdentity(cache_)
          : Error{Code::kUnsupported, "containers of its format have none"};
  if (found && *found == options_.identity) return;
  report.faults.push_back(
      {"", std::nullopt,
       found ? Error{Code::kChecksum, fmt::format("identity is {}, expected {}",
                                                  *found, options_.identity)}
             : Within("identity", found.error())});
}

void Checker::WarnOfGlobals(const Json& info, const Place& place,
                            CheckReport& report) {
  constexpr size_t kMaxNamed = 20;
  const std::string where = place.path.empty() ? "" : place.path + ": ";
  const GlobalLines globals = GlobalsOf(info, kMaxNamed, /*unsafe_only=*/true);
  for (const GlobalLine& one : globals.shown) {
    report.warnings.push_back(where + "unsafe global " + one.name);
  }
  if (globals.more == 0) return;
  report.warnings.push_back(fmt::format(
      "{}and {} more unsafe globals: ctxfs info --json", where, globals.more));
}

void Checker::CheckFiles(const ContainerTree& container_tree,
                         const Place& place, CheckReport& report) const {
  DataFiles files(container_tree);
  for (auto& [directory, error] : files.AddNumbered(cache_)) {
    report.faults.push_back(
        {place.Below(directory), std::nullopt, std::move(error)});
  }
  if (progress_.shown()) progress_.Expect(files.ExpectedBytes(cache_));
  OtherFiles others(container_tree.container());
  Mutex mutex;
  std::vector<Outcome> told;
  ForEachInParallel(files.count(), options_.jobs, [&](uint64_t i) {
    Outcome outcome = CheckFile(files.At(i), place, others);
    const MutexLock lock(mutex);
    report.files += outcome.exists ? 1 : 0;
    report.bytes += outcome.size;
    if (outcome.entry && !outcome.error && place.counts) {
      ++(outcome.verified ? report.verified : report.unverified);
    }
    if (outcome.error || !outcome.digest.sha256.empty()) {
      told.push_back(std::move(outcome));
    }
  });
  if (options_.other_files && place.depth == 0) {
    report.other_files = others.Files(place.alone);
  }
  if (options_.digests) {
    AddOtherNames(container_tree, files.other_names(), told);
  }
  std::sort(told.begin(), told.end(), [](const Outcome& a, const Outcome& b) {
    return a.file.Order() < b.file.Order();
  });
  AddOutcomes(container_tree, place, std::move(told), report);
}

void Checker::AddOutcomes(const ContainerTree& container_tree,
                          const Place& place, std::vector<Outcome> outcomes,
                          CheckReport& report) const {
  // A file computed from an entry fails with the entry's error. Reports that
  // error once, for the entry, and drops equal findings from opening the
  // container.
  std::set<std::tuple<Code, uint64_t, std::string>> said;
  std::set<std::string> reasons;
  std::set<std::string> texts;
  const std::string where = place.path.empty() ? "" : place.path + ": ";
  for (const Outcome& outcome : outcomes) {
    if (!outcome.error || !outcome.entry) continue;
    said.insert(KeyOf(*outcome.error));
    reasons.insert(outcome.error->what);
    texts.insert(where + outcome.error->Text());
  }
  std::erase_if(report.warnings, [&texts](const std::string& text) {
    return texts.contains(text);
  });
  std::erase_if(report.faults, [&](const Fault& fault) {
    return fault.path == place.path && !fault.partial &&
           reasons.contains(fault.error.what);
  });
  for (Outcome& outcome : outcomes) {
    const std::string path = place.Below(outcome.file.PathIn(container_tree));
    if (!outcome.error) {
      outcome.digest.path = path;
      report.digests.push_back(std::move(outcome.digest));
      continue;
    }
    if (!outcome.entry && said.contains(KeyOf(*outcome.error))) continue;
    Fault fault{path, std::nullopt, std::move(*outcome.error)};
    if (outcome.entry) {
      const FileTree::File entry = outcome.file.At();
      const auto info = entry.table->Describe(entry.number, cache_);
      if (info) fault.entry = info->name;
      const auto known = entry.table->Fault(entry.number);
      fault.of_cut = report.cut && place.depth == 0 && known &&
                     known->code == fault.error.code && fault.IsDamage();
    }
    report.faults.push_back(std::move(fault));
  }
}

void Checker::AddOtherNames(const ContainerTree& container_tree,
                            const std::vector<NodeId>& names,
                            std::vector<Outcome>& outcomes) {
  std::unordered_map<NodeId, FileDigest> digests;
  for (const Outcome& outcome : outcomes) {
    const DataFile& file = outcome.file;
    if (file.files->NameCount(file.node) > 1 && !outcome.error) {
      digests.emplace(file.node, outcome.digest);
    }
  }
  for (const NodeId node : names) {
    const auto digest = digests.find(container_tree.FirstName(node));
    if (digest == digests.end()) continue;
    Outcome same;
    same.file = {&container_tree, NameTree::kRoot, node};
    same.digest = digest->second;
    outcomes.push_back(std::move(same));
  }
}

Checker::Outcome Checker::CheckFile(const DataFile& file, const Place& place,
                                    OtherFiles& others) const {
  Outcome outcome;
  outcome.file = file;
  const auto failed = [&outcome](Error error) {
    outcome.error = std::move(error);
    return std::move(outcome);
  };
  const FileTree& files = *file.files;
  outcome.entry = file.IsEntry();
  const Result<bool> exists = files.Exists(file.node, Cost::kDecode, cache_);
  if (!exists) return failed(exists.error());
  if (!*exists) return outcome;
  const Result<uint64_t> size = files.Size(file.node, cache_);
  if (!size) return failed(size.error());
  const Result<Content> content = files.Open(file.node, cache_);
  if (!content) return failed(content.error());
  if (content->size() != *size) {
    return failed(
        {Code::kCorrupt, fmt::format("opens with {} bytes, but its size is {}",
                                     content->size(), *size)});
  }
  if (outcome.entry) {
    const FileTree::File entry = file.At();
    const auto info = entry.table->Describe(entry.number, cache_);
    outcome.verified = info && info->verified != "none";
  }
  const bool elsewhere = (place.alone || options_.other_files) &&
                         others.Hold(*content) && place.alone;
  outcome.exists = options_.digests || !elsewhere;
  if (outcome.exists) {
    outcome.size = *size;
    if (Status read = Scan(*content, outcome); !read) {
      outcome.error = std::move(read).error();
    }
  }
  progress_.Add(*size);
  return outcome;
}

Status Checker::Scan(const Content& content, Outcome& outcome) const {
  if (!options_.digests) return content.Scan(cache_);
  Sha256 sha256;
  Xxh3 xxh3;
  CTXFS_TRY(ReadThrough(content, cache_, [&](Bytes piece) {
    sha256.Update(piece);
    xxh3.Update(piece);
    return Status();
  }));
  content.MarkConsumed(cache_);
  outcome.digest = {"", sha256.Hex(), xxh3.Hex(), content.size()};
  if (outcome.digest.sha256.empty() || outcome.digest.xxh3.empty()) {
    return Error{Code::kNoMemory, "no digests"};
  }
  return {};
}

void Checker::CheckChildren(const ContainerTree& container_tree,
                            const Place& place, CheckReport& report) const {
  const NameTree& tree = container_tree.tree();
  for (NodeId node = 0; node < tree.node_count(); ++node) {
    if (!tree.IsDirectory(node)) continue;
    const auto child = container_tree.NestedAt(node);
    if (!child || child->open_source == nullptr) continue;
    const std::string path = place.Below(tree.Path(node));
    const Result<bool> exists =
        container_tree.Exists(node, Cost::kDecode, cache_);
    if (exists && !*exists) continue;
    Result<std::shared_ptr<const Source>> source =
        exists ? child->open_source(cache_) : exists.error();
    if (source && place.alone &&
        dynamic_cast<const FileSource*>(source->get()) != nullptr) {
      continue;
    }
    if (!source && source.error().code == Code::kLimit) {
      // The contents of the child exceed a limit. The bytes of the child were
      // checked as a file.
      report.warnings.push_back(path + ": " + source.error().Text());
      continue;
    }
    if (source && place.depth >= limits::kContainerDepth) {
      source = Error{Code::kLimit,
                     fmt::format("containers are nested deeper than {} levels",
                                 limits::kContainerDepth)};
    }
    if (!source) {
      report.faults.push_back({path, std::nullopt, source.error()});
      continue;
    }
    const bool counts = place.counts && child->role == Role::kEntries;
    CheckSource(*source, {path, place.depth + 1, place.alone, counts}, report);
  }
}

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/checker.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/limits.h"
#include "core/base/parallel.h"
#include "core/content/sha256_of.h"
#include "core/io/directory.h"
#include "fs/commands/global_lines.h"

namespace ctxfs {
namespace {

/// Returns the fields of an Error by which two are compared.
std::tuple<Code, uint64_t, std::string> KeyOf(const Error& error) {
  return {error.code, error.offset, error.what};
}

}  // namespace

int CheckReport::Outcome() const {
  int worst = 0;
  for (const Fault& fault : faults) {
    worst = std::max(worst, fault.IsDamage() ? 1 : 2);
  }
  return worst;
}

/// The result of checking one file.
struct Checker::Outcome {
  NodeId node = 0;
  bool exists = false;
  uint64_t size = 0;  // bytes that were read
  std::optional<Error> error;
  std::string digest;
};

CheckReport Checker::Check(const std::string& path, bool alone) const {
  CheckReport report;
  const Result<std::shared_ptr<const Source>> source = OpenSource(path);
  if (!source) {
    report.faults.push_back({"", std::nullopt, source.error()});
    return report;
  }
  CheckSource(*source, {"", 0, alone}, report);
  return report;
}

void Checker::CheckSource(const std::shared_ptr<const Source>& source,
                          const Place& place, CheckReport& report) const {
  OpenOptions options = options_.open;
  Result<std::shared_ptr<const Container>> container =
      OpenContainer(source, options);
  if (!container) {
    report.faults.push_back({place.path, std::nullopt, container.error()});
    // A container that breaks a structural rule is checked as far as salvage
    // can read it.
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
  if (place.depth == 0) report.format = info.value("format", "");
  std::set<std::string> said;
  // The error of a failed open is already a fault, and may be repeated as a
  // warning.
  for (const Fault& fault : report.faults) {
    if (fault.path == place.path) said.insert(fault.error.Text());
  }
  for (Error& error : container->Inspect(cache_)) {
    if (!said.insert(error.Text()).second) continue;
    report.faults.push_back({place.path, std::nullopt, std::move(error)});
  }
  for (const Json& warning : info.value("warnings", Json::array())) {
    const std::string text = warning.get<std::string>();
    if (said.contains(text)) continue;
    report.warnings.push_back(place.path.empty() ? text
                                                 : place.path + ": " + text);
  }
  WarnOfGlobals(info, place, report);
  const ContainerTree branch(std::move(container));
  if (!branch.status()) {
    report.faults.push_back(
        {place.path, std::nullopt, branch.status().error()});
  }
  CheckFiles(branch, place, report);
  CheckChildren(branch, place, report);
}

void Checker::WarnOfGlobals(const Json& info, const Place& place,
                            CheckReport& report) {
  constexpr size_t kMostNamed = 20;
  const std::string where = place.path.empty() ? "" : place.path + ": ";
  const GlobalLines globals = GlobalsOf(info, kMostNamed, /*unsafe_only=*/true);
  for (const GlobalLine& one : globals.shown) {
    report.warnings.push_back(where + "unsafe global " + one.name);
  }
  if (globals.more == 0) return;
  report.warnings.push_back(fmt::format(
      "{}and {} more unsafe globals: ctxfs info --json", where, globals.more));
}

void Checker::CheckFiles(const ContainerTree& branch, const Place& place,
                         CheckReport& report) const {
  const NameTree& tree = branch.tree();
  std::vector<NodeId> files;
  for (NodeId node = 0; node < tree.node_count(); ++node) {
    if (tree.IsDirectory(node) || !branch.IsData(node)) continue;
    files.push_back(node);
  }
  if (progress_.shown()) {
    for (const NodeId node : files) {
      if (branch.SizeCost(node) > Cost::kSmallRead) continue;
      const Result<uint64_t> size = branch.Size(node, cache_);
      if (size) progress_.Expect(*size);
    }
  }
  Mutex mutex;
  std::vector<Outcome> told;
  ForEachInParallel(files.size(), options_.jobs, [&](uint64_t i) {
    Outcome outcome = CheckFile(branch, files[i]);
    const MutexLock lock(mutex);
    report.files += outcome.exists ? 1 : 0;
    report.bytes += outcome.size;
    if (outcome.error || !outcome.digest.empty()) {
      told.push_back(std::move(outcome));
    }
  });
  std::sort(told.begin(), told.end(),
            [](const Outcome& a, const Outcome& b) { return a.node < b.node; });
  // A file that is computed from an entry fails with the entry's error. It is
  // reported once, for the entry.
  std::set<std::tuple<Code, uint64_t, std::string>> said;
  for (const Outcome& outcome : told) {
    if (outcome.error && branch.Entry(outcome.node)) {
      said.insert(KeyOf(*outcome.error));
    }
  }
  for (Outcome& outcome : told) {
    const std::string path = place.Below(tree.Path(outcome.node));
    if (!outcome.error) {
      report.digests.push_back({path, std::move(outcome.digest)});
      continue;
    }
    const std::optional<uint32_t> entry = branch.Entry(outcome.node);
    if (!entry && said.contains(KeyOf(*outcome.error))) continue;
    Fault fault{path, std::nullopt, std::move(*outcome.error)};
    if (entry) {
      const auto info = branch.entries()->Describe(*entry, cache_);
      if (info) fault.entry = info->name;
    }
    report.faults.push_back(std::move(fault));
  }
}

Checker::Outcome Checker::CheckFile(const ContainerTree& branch,
                                    NodeId node) const {
  Outcome outcome;
  outcome.node = node;
  const auto failed = [&outcome](Error error) {
    outcome.error = std::move(error);
    return std::move(outcome);
  };
  const Result<bool> exists = branch.Exists(node, Cost::kDecode, cache_);
  if (!exists) return failed(exists.error());
  if (!*exists) return outcome;
  outcome.exists = true;
  const Result<uint64_t> size = branch.Size(node, cache_);
  if (!size) return failed(size.error());
  const Result<Content> content = branch.Open(node, cache_);
  if (!content) return failed(content.error());
  if (content->size() != *size) {
    return failed({Code::kCorrupt,
                   "opens with " + std::to_string(content->size()) +
                       " bytes, but its size is " + std::to_string(*size)});
  }
  outcome.size = *size;
  if (options_.digests) {
    Result<std::string> digest = Sha256Of(*content, cache_);
    if (digest) outcome.digest = std::move(*digest);
    if (!digest) outcome.error = std::move(digest).error();
  } else if (Status read = content->Scan(cache_); !read) {
    outcome.error = std::move(read).error();
  }
  progress_.Add(*size);
  return outcome;
}

void Checker::CheckChildren(const ContainerTree& branch, const Place& place,
                            CheckReport& report) const {
  const NameTree& tree = branch.tree();
  for (NodeId node = 0; node < tree.node_count(); ++node) {
    if (!tree.IsDirectory(node)) continue;
    const ChildContainer* child = branch.Hanging(node);
    if (child == nullptr || child->open_source == nullptr) continue;
    const std::string path = place.Below(tree.Path(node));
    const Result<bool> exists = branch.Exists(node, Cost::kDecode, cache_);
    if (exists && !*exists) continue;
    Result<std::shared_ptr<const Source>> source =
        exists ? child->open_source(cache_) : exists.error();
    if (source && place.alone &&
        dynamic_cast<const FileSource*>(source->get()) != nullptr) {
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
    CheckSource(*source, {path, place.depth + 1, place.alone}, report);
  }
}

}  // namespace ctxfs

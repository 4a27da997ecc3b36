// SPDX-License-Identifier: Apache-2.0
#include "core/tree/faults_json.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/json/json.h"
#include "core/container/complete.h"
#include "core/container/documents.h"
#include "core/container/put_text.h"
#include "core/tree/container_tree.h"
#include "core/tree/fault_ledger.h"
#include "core/tree/index_json.h"

namespace ctxfs {
namespace {

using Fault = FaultLedger::Fault;

constexpr NodeId kNodesPerCheck = 16'384;

/// The faults known without reading files, and the number of further ones.
struct Known {
  std::vector<Fault> faults;
  uint64_t left_out = 0;

  void Add(Fault fault) {
    if (faults.size() == FaultLedger::kMaxFaults) {
      ++left_out;
    } else {
      faults.push_back(std::move(fault));
    }
  }
};

/// Adds a fault if the view of all arrays, or of the table, does not exist
/// because a part is missing or damaged.
void AddIncomplete(const ContainerTree& tree, const ReadContext& context,
                   Known& known) {
  const std::optional<NodeId> views = tree.Aside(Role::kViews);
  const std::string view = JoinedView(tree.container().Export());
  if (!views || view.empty()) return;
  const Status complete = CheckComplete(tree.container(), context);
  // Neither an array of a type that ctxfs cannot decode nor a missing key is a
  // fault of the container.
  if (complete || complete.error().code == Code::kUnsupported ||
      complete.error().code == Code::kLocked) {
    return;
  }
  known.Add({"", Within("there is no " + tree.Path(*views) + "/" + view,
                        complete.error())});
}

/// Adds the faults of numbered files that have stored bytes.
Status AddNumbered(const ContainerTree& tree, const ReadContext& context,
                   Known& known) {
  for (const NodeId directory : tree.NumberedDirectories()) {
    const NumberedDirectory& numbered = *tree.Numbered(directory);
    if (!IsStored(numbered.table().placement().role)) continue;
    for (uint32_t file = 0; file < numbered.table().count(); ++file) {
      if (file % kNodesPerCheck == 0) CTXFS_TRY(context.Check());
      std::optional<Error> fault = numbered.table().Fault(file);
      if (!fault || fault->code == Code::kLocked) continue;
      CTXFS_TRY(HeapAllowance::Check());
      CTXFS_TRY(numbered.FindNames(context));
      known.Add({tree.Path(directory) + "/" + numbered.Path(file + 1),
                 *std::move(fault)});
    }
  }
  return {};
}

/// Fails only if the request is interrupted, if memory is refused, or if the
/// names of numbered files cannot be found now.
Result<Known> KnownFaults(const ContainerTree& tree,
                          const ReadContext& context) {
  Known known;
  for (Error& fault : tree.container().Faults()) {
    known.Add({"", std::move(fault)});
  }
  AddIncomplete(tree, context, known);
  const NameTree& names = tree.tree();
  for (NodeId node = 0; node < names.node_count(); ++node) {
    if (node % kNodesPerCheck == 0) {
      CTXFS_TRY(context.Check());
    }
    if (names.IsDirectory(node) || !tree.IsData(node)) continue;
    const FileTree::File file = tree.At(node);
    std::optional<Error> fault = file.table->Fault(file.number);
    // A missing key is no fault of the container.
    if (!fault || fault->code == Code::kLocked) continue;
    CTXFS_TRY(HeapAllowance::Check());
    known.Add({names.Path(node), *std::move(fault)});
  }
  CTXFS_TRY(AddNumbered(tree, context, known));
  return known;
}

std::string Line(const Fault& fault) {
  Json object = Json::object();
  PutText(object, "path", fault.path);
  if (fault.error.offset != kNoOffset) object["offset"] = fault.error.offset;
  object["reason"] = fault.error.what;
  return JsonLine(object);
}

Result<std::string> Text(const ContainerTree& tree,
                         const ReadContext& context) {
  const Known known = CTXFS_TRY(KnownFaults(tree, context));
  std::vector<std::string> lines;
  std::set<std::string> said;
  for (const Fault& fault : known.faults) {
    lines.push_back(Line(fault));
    said.insert(lines.back());
  }
  for (const Fault& fault : tree.faults().All()) {
    std::string line = Line(fault);
    if (!said.contains(line)) lines.push_back(std::move(line));
  }
  if (const uint64_t more = known.left_out + tree.faults().left_out();
      more > 0) {
    lines.push_back(JsonLine({{"path", ""},
                              {"reason", "more faults, which are not listed"},
                              {"count", more}}));
  }
  std::string text = "[";
  for (const std::string& line : lines) {
    CTXFS_TRY(AppendAdmitted(text, text.size() == 1 ? "\n" : ",\n"));
    CTXFS_TRY(AppendAdmitted(text, line));
  }
  CTXFS_TRY(AppendAdmitted(text, "\n]\n"));
  return text;
}

}  // namespace

std::shared_ptr<const FileTable> FaultsJson(const ContainerTree& tree) {
  return FreshDocument(
      Role::kMetadata, "faults.json",
      [&tree](const ReadContext& context) { return Text(tree, context); },
      /*live=*/true);
}

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
//
// ctxfs cat: writes the verified bytes of files to standard output.
#include <unistd.h>

#include "core/content/read_through.h"
#include "fs/commands/arguments.h"
#include "fs/commands/confine.h"
#include "fs/commands/new_file.h"
#include "fs/commands/source_tree.h"

namespace ctxfs {
namespace {

Status CatOne(const std::string& operand, const Arguments& arguments,
              const std::shared_ptr<SpillFile>& spill_file) {
  const Target target = ParseTarget(operand);
  Result<std::unique_ptr<SourceTree>> tree = SourceTree::Open(
      target.source, arguments.open, arguments.views.value_or(AllViews()),
      arguments.list_mode());
  if (!tree) return std::move(tree).error();
  (*tree)->cache().SpillTo(spill_file);
  const Result<SourceTree::File> file = (*tree)->Find(target.path);
  if (!file) return file.error();
  const Result<Namespace::OpenFile> open = (*tree)->Open(*file);
  if (!open) return open.error();
  return ReadThrough(open->content, (*tree)->cache(), [](Bytes piece) {
    return WriteAll(STDOUT_FILENO, piece, "standard output");
  });
}

int RunCat(const Arguments& arguments) {
  const std::shared_ptr<SpillFile> spill_file = OpenSpillFile();
  ConfineToReading(SourcesOf(arguments.operands));
  ExitCode last = ExitCode::kOk;  // of the last error
  for (const std::string& operand : arguments.operands) {
    const Status copied = CatOne(operand, arguments, spill_file);
    if (!copied) last = PrintError(operand, copied.error());
  }
  return static_cast<int>(last);
}

}  // namespace

const Command kCatCommand{
    .name = "cat",
    .operands = "SOURCE//PATH...",
    .summary = "Writes files to standard output, verified",
    .run = &RunCat,
    .options = "SVKI",
    .examples =
        "  ctxfs cat episode.wshard//meta/episode\n"
        "  ctxfs cat models//llama.mosh/.ctxfs/info.json | jq .format\n",
    .kind = OperandKind::kPath,
    .min_operands = 1};

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs cat`: writes the verified bytes of files to standard output.
#include <unistd.h>

#include "fs/commands/arguments.h"
#include "fs/commands/copy/new_file.h"
#include "fs/commands/read_operands.h"

namespace ctxfs {
namespace {

Result<ExitCode> WriteOut(SourceTree& tree, const SourceTree::File& file) {
  CTXFS_TRY(ReadFile(tree, file, [](Bytes piece) {
    return WriteAll(STDOUT_FILENO, piece, "standard output");
  }));
  return ExitCode::kOk;
}

int RunCat(const Arguments& arguments) {
  return static_cast<int>(ReadOperands(arguments, &WriteOut));
}

}  // namespace

const Command kCatCommand{
    .name = "cat",
    .operands = "SOURCE//PATH...",
    .summary = "Writes files to standard output, verified",
    .run = &RunCat,
    .options = "SVKIN",
    .examples =
        "  ctxfs cat episode.wshard//meta/episode\n"
        "  ctxfs cat models//llama.mosh/.ctxfs/info.json | jq .format\n",
    .kind = OperandKind::kPath,
    .min_operands = 1};

}  // namespace ctxfs

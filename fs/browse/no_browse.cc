// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs browse` in a build without ncurses (CTXFS_BROWSE=OFF): fails.
#include "core/base/result.h"
#include "fs/commands/arguments.h"

namespace ctxfs {
namespace {

int RunBrowse(const Arguments& arguments) {
  return static_cast<int>(PrintError(
      arguments.operands.front(),
      {Code::kUnsupported,
       "this build has no ncurses and cannot browse; 'ctxfs ls' and 'ctxfs "
       "info' show the same"}));
}

}  // namespace

const Command kBrowseCommand{
    .name = "browse",
    .operands = "SOURCE[//PATH]",
    .summary = "Cannot browse: this build has no ncurses",
    .run = &RunBrowse,
    .options = "aSVKIN",
    .examples = "  ctxfs ls -l model.gguf\n",
    .kind = OperandKind::kPath,
    .min_operands = 1,
    .max_operands = 1};

}  // namespace ctxfs

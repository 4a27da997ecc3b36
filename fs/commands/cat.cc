// SPDX-License-Identifier: Apache-2.0
//
// ctxfs cat: writes the verified bytes of files to standard output.
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/limits.h"
#include "fs/commands/arguments.h"
#include "fs/commands/confine.h"
#include "fs/commands/source_tree.h"

namespace ctxfs {
namespace {

Status WriteOut(Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      return Error{Code::kIo,
                   std::string("standard output: ") + std::strerror(errno)};
    }
    bytes = bytes.subspan(static_cast<size_t>(wrote));
  }
  return {};
}

Status Copy(const Content& content, const ReadContext& context) {
  if (content.size() == 0) return content.Verify(context);
  Window window;
  for (uint64_t at = 0; at < content.size(); at += limits::kMiB) {
    Status read = content.Read(at, limits::kMiB, context, window);
    if (!read) return read;
    for (const Bytes slice : window.slices()) {
      if (Status wrote = WriteOut(slice); !wrote) return wrote;
    }
  }
  return {};
}

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
  return Copy(open->content, (*tree)->cache());
}

int RunCat(int argc, char** argv) {
  Arguments arguments;
  if (const auto code = ParseArguments(argc, argv, kCatCommand, &arguments)) {
    return *code;
  }
  const std::shared_ptr<SpillFile> spill_file = OpenSpillFile();
  ConfineToReading(SourcesOf(arguments.operands));
  ExitCode last = ExitCode::kOk;  // of the last error
  for (const std::string& operand : arguments.operands) {
    const Status copied = CatOne(operand, arguments, spill_file);
    if (copied) continue;
    PrintError(operand, copied.error());
    last = ExitCodeOf(copied.error());
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

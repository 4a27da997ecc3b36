// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs digest`: prints the digests of every file of a SOURCE's containers.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/base/text/printable.h"
#include "core/vfs/source_tree.h"
#include "fs/commands/arguments.h"
#include "fs/commands/confine.h"
#include "fs/commands/container_search.h"
#include "fs/commands/verify/checker.h"
#include "fs/commands/verify/digest_manifest.h"
#include "fs/common/shown_text.h"
#include "fs/common/terminal.h"

namespace ctxfs {
namespace {

/// Writes a manifest as text or JSON.
class Writer {
 public:
  explicit Writer(bool json) : json_(json) {
    if (!json_) Line(kDigestManifestHead);
  }

  void Add(const std::string& path, const FileDigest& file) {
    ++files_;
    if (!json_) return Line(DigestManifestLine(path, file));
    all_.push_back({{"path", path},
                    {"size", file.size},
                    {"xxh3", file.xxh3},
                    {"sha256", file.sha256}});
  }

  void Finish() {
    if (!json_) return Line(DigestManifestEnd(files_));
    std::fputs(PrintableJson(FormatJson(all_)).c_str(), stdout);
  }

 private:
  /// Escapes names only on a terminal: `check --against` needs the original
  /// bytes.
  void Line(std::string_view text) const {
    const std::string line = terminal_ ? ShownText(text) : std::string(text);
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fputc('\n', stdout);
  }

  const bool terminal_ = Terminal::Of(stdout).is_terminal();
  const bool json_;
  uint64_t files_ = 0;
  Json all_ = Json::array();
};

int RunDigest(const Arguments& arguments) {
  std::shared_ptr<SpillFile> spill_file = OpenSpillFile();
  ConfineToReading(SourcesOf(arguments.operands), LeavingLinks::kRefused);
  BlockCache cache(256 * limits::kMiB);
  cache.SpillTo(std::move(spill_file));
  Progress progress;
  const Checker checker(
      {.open = arguments.open, .jobs = arguments.jobs, .digests = true}, cache,
      progress);
  ContainerSearch search(arguments.operands, arguments.open);
  Writer writer(arguments.json);
  // Like `ctxfs check`: 1 for damage, 2 for unreadable files.
  int code = 0;
  while (const std::optional<FoundContainer> found = search.Next()) {
    const CheckReport report = checker.Check(*found);
    progress.Clear();
    for (const FileDigest& file : report.digests) {
      writer.Add(found->PathOf(file.path), file);
    }
    if (report.faults.empty()) continue;
    PrintReport(stderr, found->shown(), report,
                {.name = found->shown(), .all = arguments.all});
    for (const Fault& fault : report.faults) {
      code = std::max(code, fault.IsDamage() ? 1 : 2);
    }
  }
  writer.Finish();
  for (const std::string& source : search.Empty()) {
    PrintError(source, NoContainerIn(source));
    code = 2;
  }
  return code;
}

}  // namespace

const Command kDigestCommand{
    .name = "digest",
    .operands = "SOURCE[//PATH]",
    .summary = "Writes SHA-256 and XXH3 of every file of a container",
    .run = &RunDigest,
    .options = "AjJSKIN",
    .examples =
        "  ctxfs digest model.gguf > model.digest\n"
        "  ctxfs check --against=model.digest copy.gguf\n",
    .kind = OperandKind::kSource,
    .min_operands = 1,
    .max_operands = 1,
    .usage_error = 2,
    .key_error = 2,
    .exit_codes =
        "  0 all were read, 1 damaged, 2 something could not be read, or "
        "usage\n"};

}  // namespace ctxfs

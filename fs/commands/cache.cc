// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs cache`: the blocks of remote objects and the materialised files on
// disk.
#include <fmt/core.h>

#include <cstdio>
#include <string>

#include "core/base/json/json.h"
#include "core/base/text/count_of.h"
#include "core/base/text/human_size.h"
#include "core/base/text/text.h"
#include "core/io/urls/url.h"
#include "fs/commands/arguments.h"
#include "fs/commands/disk_cache.h"
#include "fs/commands/progress.h"
#include "fs/commands/read_operands.h"
#include "fs/common/shown_text.h"
#include "fs/remote/fetcher_process.h"

namespace ctxfs {
namespace {

/// Exit codes of actions that read no container.
constexpr std::string_view kCacheCodes =
    "  0 ok, 1 usage, 2 the cache cannot be used\n";

/// Prints an error whose text names its subject.
int Fail(const Error& error) {
  std::fprintf(stderr, "ctxfs: %s\n", ShownText(error.Text()).c_str());
  return static_cast<int>(ExitCode::kSource);
}

void PrintLine(const DiskCache& cache, const std::string& text) {
  std::printf("%s: %s\n", ListedName(cache.directory).c_str(), text.c_str());
}

/// Returns "51 blocks of 2 objects", for example, followed by ", 3 files" if
/// files are materialised.
std::string Counts(const StoreContents& contents) {
  const std::string files =
      contents.files == 0 ? "" : ", " + CountOf(contents.files, "file");
  return CountOf(contents.blocks, "block") + " of " +
         CountOf(contents.objects, "object") + files;
}

void PrintJson(const DiskCache& cache) {
  const StoreContents contents = cache.contents.value_or(StoreContents{});
  const Json json = {
      {"directory", cache.directory}, {"exists", cache.contents.has_value()},
      {"size", contents.bytes},       {"size_limit", cache.most},
      {"objects", contents.objects},  {"blocks", contents.blocks},
      {"files", contents.files}};
  std::printf("%s\n", PrintableJson(JsonLine(json)).c_str());
}

int RunCacheInfo(const Arguments& arguments) {
  const Result<DiskCache> cache = CountDiskCache();
  if (!cache) return Fail(cache.error());
  if (arguments.json) {
    PrintJson(*cache);
  } else if (!cache->contents) {
    PrintLine(*cache, "does not exist yet: nothing is cached");
  } else {
    PrintLine(*cache, HumanSize(cache->contents->bytes) + " of at most " +
                          HumanSize(cache->most) + ", " +
                          Counts(*cache->contents));
  }
  return 0;
}

int RunCacheClear(const Arguments& /*arguments*/) {
  const Result<DiskCache> cache = ClearDiskCache();
  if (!cache) return Fail(cache.error());
  const StoreContents removed = cache->contents.value_or(StoreContents{});
  PrintLine(*cache,
            CountOf(removed.bytes, "byte") + " freed, " + Counts(removed));
  return 0;
}

/// Reads files to fill the cache.
class Warmer {
 public:
  /// Reads a file, or all files below a directory.
  Result<ExitCode> Read(SourceTree& tree, const SourceTree::File& file) {
    // Measures only for a terminal, because measuring the files of a remote
    // directory costs requests.
    if (progress_.shown()) CTXFS_TRY(Measure(tree, file));
    return ReadAll(tree, file);
  }

  void PrintCounts() {
    progress_.Clear();
    std::puts(fmt::format("{} ({}) read", CountOf(files_, "file"),
                          CountOf(bytes_, "byte"))
                  .c_str());
  }

 private:
  /// Adds the sizes of the files that ReadAll reads, if known without decoding.
  Status Measure(SourceTree& tree, const SourceTree::File& file) {
    if (!file.directory) {
      progress_.Expect(CTXFS_TRY(tree.CheapSize(file)).value_or(0));
      return {};
    }
    const auto visit = [&](const SourceTree::File& child) -> Status {
      return child.link ? Status() : Measure(tree, child);
    };
    const auto ignore = [](const std::string&, const Error&) {};
    return tree.ForEach(file, visit, ignore);
  }

  /// Skips symbolic links, which lead to files of the tree.
  Result<ExitCode> ReadAll(SourceTree& tree, const SourceTree::File& file) {
    if (!file.directory) {
      CTXFS_TRY(ReadOne(tree, file));
      return ExitCode::kOk;
    }
    ExitCode last = ExitCode::kOk;
    const auto lost = [&](const std::string& path, const Error& error) {
      progress_.Clear();
      last = PrintError(path, error);
    };
    const auto visit = [&](const SourceTree::File& child) -> Status {
      if (child.link) return {};
      const Result<ExitCode> read = ReadAll(tree, child);
      if (!read) lost(child.path, read.error());
      if (read && *read != ExitCode::kOk) last = *read;
      return {};
    };
    CTXFS_TRY(tree.ForEach(file, visit, lost));
    return last;
  }

  Status ReadOne(SourceTree& tree, const SourceTree::File& file) {
    CTXFS_TRY(ReadFile(tree, file, [this](Bytes piece) -> Status {
      bytes_ += piece.size();
      progress_.Add(piece.size());
      return {};
    }));
    ++files_;
    return {};
  }

  Progress progress_;
  uint64_t files_ = 0;
  uint64_t bytes_ = 0;
};

int RunCacheWarm(const Arguments& arguments) {
  for (const std::string& operand : arguments.operands) {
    if (IsUrl(operand)) continue;
    return Fail({Code::kNotFound, Quote(operand) +
                                      ": not a URL; only objects of servers "
                                      "are cached"});
  }
  if (const Status made = MakeDiskCache(); !made) return Fail(made.error());
  WaitForCache();
  Warmer warmer;
  const ExitCode code = ReadOperands(
      arguments, [&warmer](SourceTree& tree, const SourceTree::File& file) {
        return warmer.Read(tree, file);
      });
  warmer.PrintCounts();
  return static_cast<int>(code);
}

const Command kCacheInfo{.name = "info",
                         .operands = "",
                         .summary = "Prints directory, size and contents",
                         .run = &RunCacheInfo,
                         .options = "J",
                         .max_operands = 0,
                         .program = "ctxfs cache info",
                         .exit_codes = kCacheCodes};

const Command kCacheClear{.name = "clear",
                          .operands = "",
                          .summary = "Removes the blocks of all objects",
                          .run = &RunCacheClear,
                          .max_operands = 0,
                          .program = "ctxfs cache clear",
                          .exit_codes = kCacheCodes};

const Command kCacheWarm{
    .name = "warm",
    .operands = "URL[//PATH]...",
    .summary = "Fetches what reading files needs, verified",
    .run = &RunCacheWarm,
    .options = "SVKIN",
    .examples = "  ctxfs cache warm s3://bucket/model.safetensors//tensors\n",
    .kind = OperandKind::kPath,
    .min_operands = 1,
    .program = "ctxfs cache warm"};

const Command* const kActions[] = {&kCacheInfo, &kCacheClear, &kCacheWarm};

}  // namespace

const Command kCacheCommand{
    .name = "cache",
    .operands = "info|clear|warm",
    .summary = "Shows, clears or fills the cache of remote objects",
    .examples = "  ctxfs cache warm s3://bucket/model.safetensors//tensors\n",
    .min_operands = 1,
    .actions = kActions,
    .exit_codes =
        "  0 ok, 1 usage, others as 'ctxfs cache ACTION --help' lists them\n"};

}  // namespace ctxfs

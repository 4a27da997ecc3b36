// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs check` and fsck.ctxfs, which read the files of containers and verify
// all checksums.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/limits.h"
#include "core/base/mutex.h"
#include "core/base/parallel.h"
#include "core/base/text/count_of.h"
#include "core/base/text/text.h"
#include "core/io/directory.h"
#include "core/io/urls/url.h"
#include "core/vfs/source_tree.h"
#include "core/vfs/sources.h"
#include "fs/commands/arguments.h"
#include "fs/commands/confine.h"
#include "fs/commands/container_search.h"
#include "fs/commands/text.h"
#include "fs/commands/verify/check_inputs.h"
#include "fs/commands/verify/check_report.h"
#include "fs/commands/verify/check_tally.h"
#include "fs/commands/verify/checker.h"
#include "fs/commands/verify/commit_check.h"
#include "fs/commands/verify/commit_trees.h"
#include "fs/commands/verify/digest_manifest.h"
#include "fs/commands/verify/expected_digest.h"
#include "fs/common/shown_text.h"
#include "fs/common/terminal.h"

namespace ctxfs {
namespace {

/// Exit codes: clean, damaged, not all checked, damaged and not all checked.
using Codes = std::array<int, 4>;

constexpr Codes kCheckCodes{0, 1, 2, 2};
// The codes of fsck(8) are bits: 4 "filesystem errors left uncorrected", 8
// "operational error", 16 "usage or syntax error". Its 1 means "corrected".
constexpr Codes kFsckCodes{0, 4, 8, 4 | 8};

/// Options that fsck(8) passes to every checker. This check ignores them,
/// because it changes nothing.
bool IsForRepair(std::string_view argument) {
  constexpr std::string_view kIgnored[] = {"-a", "-p", "-n", "-y", "-f", "-V"};
  return std::find(std::begin(kIgnored), std::end(kIgnored), argument) !=
         std::end(kIgnored);
}

/// Removes options for repair (IsForRepair) and returns the number of remaining
/// arguments. After "--" every argument is a source.
int WithoutRepair(int argc, char** argv) {
  char** const last = std::find_if(argv + 1, argv + argc, [](const char* word) {
    return std::string_view(word) == "--";
  });
  char** const kept = std::remove_if(argv + 1, last, IsForRepair);
  return static_cast<int>(std::move(last, argv + argc, kept) - argv);
}

/// A line for sha256sum(1). If the name has a backslash or line break, it is
/// escaped and the line begins with a backslash.
std::string DigestLine(const std::string& path, const std::string& sha256) {
  const std::string escaped = Escaped(path, "\n\r");
  return (escaped == path ? "" : "\\") + sha256 + "  " + escaped;
}

/// Checks every container of the sources and prints the reports.
class Checks {
 public:
  Checks(const Arguments& arguments, std::shared_ptr<SpillFile> spill_file,
         Published published)
      : arguments_(arguments),
        published_(std::move(published)),
        search_(arguments.operands, arguments.open,
                published_.expected != nullptr
                    ? ContainerSearch::Others::kFound
                    : ContainerSearch::Others::kPassedOver) {
    cache_.SpillTo(std::move(spill_file));
  }

  /// Checks all containers. Returns Tally::Bits.
  size_t Run() {
    // With many containers, each thread checks one; with few, all threads share
    // the files of one.
    const bool many = FindFirst(2 * size_t{arguments_.jobs});
    const Checker checker(
        {.open = arguments_.open,
         .jobs = many ? 1 : arguments_.jobs,
         .digests = arguments_.sha256 || published_.manifest.has_value(),
         .other_files = published_.expected != nullptr,
         .identity = arguments_.identity},
        cache_, progress_);
    const unsigned threads = many ? arguments_.jobs : 1;
    ForEachInParallel(threads, threads, [&](uint64_t /*thread*/) {
      const Stop stop(*this);
      while (std::optional<FoundContainer> found = Take()) {
        const Turn turn(*this, found->turn);
        Check(checker, *found);
      }
    });
    Conclude();
    const MutexLock lock(mutex_);
    return tally_.Bits();
  }

 private:
  /// Maximum number of reports that wait until those of earlier containers are
  /// printed.
  static constexpr size_t kMaxWaiting = 1000;

  /// The turn of a container that is being checked. The destructor prints its
  /// report if no earlier container is being checked, and then the reports that
  /// waited for it.
  class Turn {
   public:
    Turn(Checks& checks, uint64_t turn) : checks_(checks), turn_(turn) {}
    ~Turn() { checks_.EndTurn(turn_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Checks& checks_;
    const uint64_t turn_;
  };

  /// Marks the end of a checking thread. The destructor wakes the threads that
  /// wait for reports to be printed, because the thread may have ended by an
  /// exception and will print none.
  class Stop {
   public:
    explicit Stop(Checks& checks) : checks_(checks) {}
    ~Stop() {
      const MutexLock lock(checks_.mutex_);
      checks_.stopping_ = true;
      checks_.printed_.NotifyAll();
    }
    Stop(const Stop&) = delete;
    Stop& operator=(const Stop&) = delete;

   private:
    Checks& checks_;
  };

  /// Finds the first containers. Returns whether there are at least `enough`.
  bool FindFirst(size_t enough) {
    const MutexLock lock(mutex_);
    while (first_.size() < enough) {
      std::optional<FoundContainer> found = search_.NextInTurn();
      if (!found) return false;
      first_.push_back(*std::move(found));
    }
    return true;
  }

  std::optional<FoundContainer> Take() {
    {
      const MutexLock lock(mutex_);
      while (waiting_.size() >= kMaxWaiting && !stopping_) {
        printed_.Wait(mutex_);
      }
      if (!first_.empty()) {
        FoundContainer found = std::move(first_.front());
        first_.pop_front();
        return found;
      }
    }
    std::optional<FoundContainer> found = search_.NextInTurn();
    const MutexLock lock(mutex_);
    PrintWaiting();  // turns of files passed over may have delayed them
    return found;
  }

  void EndTurn(uint64_t turn) {
    const MutexLock lock(mutex_);
    if (!waiting_.contains(turn)) search_.EndTurn(turn);
    PrintWaiting();
  }

  /// Prints the reports whose turn it is.
  void PrintWaiting() CTXFS_REQUIRES(mutex_) {
    while (!waiting_.empty() && search_.IsFirstTurn(waiting_.begin()->first)) {
      const auto first = waiting_.extract(waiting_.begin());
      Print(first.mapped().found, std::move(first.mapped().report));
      search_.EndTurn(first.key());
    }
    printed_.NotifyAll();
  }

  void Check(const Checker& checker, FoundContainer& found) {
    if (published_.expected == nullptr) {
      CheckReport report = checker.Check(found);
      CompareSize(found, found.path, report);
      return Report(found, std::move(report));
    }
    if (found.container != nullptr) found.opened = found.container->source();
    if (!found.error && found.opened == nullptr) {
      // The source is opened only once, so that the checked bytes are the
      // compared bytes.
      Result<SourcePtr> source = OpenSource(found.path);
      if (source) {
        found.opened = *std::move(source);
      } else {
        found.error = std::move(source).error();
      }
    }
    if (found.other) return CheckOther(found);
    CheckReport report = checker.Check(found);
    if (found.opened != nullptr) {
      CompareSize(found, found.path, report);
      Compare(found, found.path, found.opened, report);
    }
    for (const SourcePtr& file : report.other_files) {
      const size_t slash = found.path.rfind('/');
      const std::string folder =
          slash == std::string::npos ? "" : found.path.substr(0, slash + 1);
      CompareSize(found, folder + file->name(), report);
      Compare(found, folder + file->name(), file, report);
    }
    report.other_files.clear();
    Report(found, std::move(report));
  }

  /// Compares a file that is no container with its digest, if there is one.
  void CheckOther(const FoundContainer& found) {
    if (found.opened == nullptr) return;
    CheckReport report;
    report.files = 1;
    report.bytes = found.opened->size();
    CompareSize(found, found.path, report);
    const bool expected = Expected(found, found.path).has_value();
    if (!expected && report.faults.empty()) return;
    if (expected) Compare(found, found.path, found.opened, report);
    if (report.IsAsPublished() && !arguments_.json) return CountOther();
    Report(found, std::move(report));
  }

  void CountOther() {
    const MutexLock lock(mutex_);
    ++compared_others_;
  }

  Result<ExpectedDigest> Expected(const FoundContainer& found,
                                  const std::string& path) const {
    return published_.expected->Of(path, arguments_.operands[found.source]);
  }

  /// Compares the size of a file with its commit's list.
  void CompareSize(const FoundContainer& found, const std::string& path,
                   CheckReport& report) const {
    if (found.error || IsUrl(path)) return;
    std::optional<Error> fault =
        SizeFault(commits_, path, arguments_.operands[found.source]);
    if (!fault) return;
    if (path != found.path) fault->what = Quote(path) + ": " + fault->what;
    report.faults.push_back({"", std::nullopt, *std::move(fault)});
  }

  /// Compares a file with its expected digest.
  void Compare(const FoundContainer& found, const std::string& path,
               const SourcePtr& source, CheckReport& report) {
    const auto fail = [&](Error error) {
      if (path != found.path) error.what = Quote(path) + ": " + error.what;
      report.faults.push_back({"", std::nullopt, std::move(error)});
    };
    Result<ExpectedDigest> expected = Expected(found, path);
    if (!expected || source->is_directory()) {
      // Without a digest to compare with, nothing is known to be damaged, so
      // the code is kUnsupported.
      return fail({Code::kUnsupported, expected ? "a directory has no digest"
                                                : expected.error().Text()});
    }
    const PublishedDigest& digest = expected->digest;
    ComparedFile compared{path, "", *expected};
    if (digest.size && *digest.size != source->size()) {
      fail({Code::kChecksum,
            fmt::format("{} bytes, expected {} as in {}", source->size(),
                        *digest.size, Quote(expected->from))});
    } else if (const Result<std::string> hex =
                   DigestOfSource(source, digest.kind, cache_);
               !hex) {
      fail(hex.error());
    } else if (compared.found = *hex; !compared.Matches()) {
      fail({Code::kChecksum,
            fmt::format("{} is {}, expected {} as in {}", NameOf(digest.kind),
                        *hex, digest.hex, Quote(expected->from))});
    }
    report.compared.push_back(std::move(compared));
  }

  /// Stores the report until its turn, without the open source and container of
  /// `found`.
  void Report(const FoundContainer& found, CheckReport report) {
    FoundContainer kept = found;
    kept.Close();
    const MutexLock lock(mutex_);
    waiting_.emplace(found.turn, Waiting{std::move(kept), std::move(report)});
  }

  void Print(const FoundContainer& found, CheckReport report)
      CTXFS_REQUIRES(mutex_) {
    progress_.Clear();
    if (published_.manifest) {
      published_.manifest->Compare(found.above(), report);
      if (found.named) published_.manifest->AddMissing(report);
    }
    if (!arguments_.sha256) report.digests.clear();
    tally_.Add(report);
    if (arguments_.json) {
      all_.push_back(ReportJson(found.shown(), report));
      return;
    }
    const bool alone = found.named && arguments_.operands.size() == 1;
    concluded_ = concluded_ || alone;
    PrintReport(reports_, found.shown(), report,
                {.name = ShownPath(found.shown()),
                 .all = arguments_.all,
                 .quiet = arguments_.quiet,
                 .outcome = alone || !arguments_.quiet});
    for (const FileDigest& file : report.digests) {
      const std::string line =
          DigestLine(found.mounted + "/" + file.path, file.sha256);
      std::puts(terminal_ ? ShownText(line).c_str() : line.c_str());
    }
  }

  /// Returns a path as lines print it: relative to the SOURCE if that is the
  /// only one and a directory above the path.
  std::string ShownPath(const std::string& path) const {
    const std::string& top = arguments_.operands.front();
    if (arguments_.operands.size() > 1 || !path.starts_with(top)) return path;
    const size_t below = path.find_first_not_of('/', top.size());
    const bool separate = top.ends_with('/') || path[top.size()] == '/';
    return below == std::string::npos || !separate ? path : path.substr(below);
  }

  /// Prints the SOURCEs without a container, and the JSON or the totals.
  void Conclude() {
    const MutexLock lock(mutex_);
    progress_.Clear();
    for (const std::string& source : search_.Empty()) {
      PrintError(source, NoContainerIn(source));
      tally_.AddEmpty();
    }
    if (published_.manifest && search_.searched()) ReportMissing();
    for (const std::string& folder : search_.commits()) ReportCommit(folder);
    if (arguments_.json) {
      AddOtherNames(search_.other_names(), all_);
      std::fputs(PrintableJson(FormatJson(all_)).c_str(), stdout);
    } else if (tally_.containers() > 0 &&
               (search_.searched() || (arguments_.quiet && !concluded_))) {
      std::string text = tally_.Text(search_.others());
      if (compared_others_ > 0) {
        text += fmt::format(", {} of them as published", compared_others_);
      }
      std::fprintf(reports_, "%s\n", text.c_str());
    }
  }

  /// Reports files of the manifest that were in no container.
  void ReportMissing() CTXFS_REQUIRES(mutex_) {
    CheckReport report;
    published_.manifest->AddMissing(report);
    if (report.faults.empty()) return;
    const std::string& source = arguments_.operands.front();
    tally_.Add(report);
    if (arguments_.json) {
      all_.push_back(ReportJson(source, report));
    } else {
      PrintReport(reports_, source, report,
                  {.name = source,
                   .all = arguments_.all,
                   .quiet = arguments_.quiet,
                   .outcome = !arguments_.quiet});
    }
  }

  /// Reports missing and additional files in the directory of a commit.
  void ReportCommit(const std::string& folder) CTXFS_REQUIRES(mutex_) {
    const bool each = arguments_.json || arguments_.all;
    const std::optional<CheckReport> report =
        CompareNames(commits_, folder, arguments_.missing, each);
    if (!report) return;
    if (!report->faults.empty()) tally_.AddMissingFiles();
    if (arguments_.json) {
      all_.push_back(ReportJson(folder, *report));
    } else {
      PrintNotes(
          reports_, folder, *report,
          {.name = folder, .all = arguments_.all, .quiet = arguments_.quiet});
    }
  }

  const Arguments& arguments_;
  const CommitTrees commits_;
  Published published_;  // only Print changes the manifest
  std::FILE* const reports_ = arguments_.sha256 ? stderr : stdout;
  // Escapes names only on a terminal: sha256sum(1) needs the original bytes.
  const bool terminal_ = Terminal::Of(stdout).is_terminal();
  BlockCache cache_{256 * limits::kMiB};
  Progress progress_;
  ContainerSearch search_;
  struct Waiting {
    FoundContainer found;
    CheckReport report;
  };

  Mutex mutex_;
  CondVar printed_;  // waiting_ has become smaller
  std::deque<FoundContainer> first_ CTXFS_GUARDED_BY(mutex_);
  std::map<uint64_t, Waiting> waiting_ CTXFS_GUARDED_BY(mutex_);  // by turn
  bool stopping_ CTXFS_GUARDED_BY(mutex_) = false;   // a thread has ended
  bool concluded_ CTXFS_GUARDED_BY(mutex_) = false;  // the outcome is printed
  Tally tally_ CTXFS_GUARDED_BY(mutex_);
  uint64_t compared_others_ CTXFS_GUARDED_BY(mutex_) = 0;
  Json all_ CTXFS_GUARDED_BY(mutex_) = Json::array();
};

template <const Codes& kCodes>
int RunCheck(const Arguments& arguments) {
  constexpr uint64_t kMaxKeyBytes = 64 * limits::kKiB;
  Buffer key;
  if (!arguments.signed_by.empty()) {
    Result<Buffer> read = ReadNamedFile(arguments.signed_by, kMaxKeyBytes);
    if (!read) {
      PrintError(arguments.signed_by, read.error());
      return kCodes[2];
    }
    key = *std::move(read);
  }
  std::shared_ptr<SpillFile> spill_file = OpenSpillFile();
  std::vector<std::string> read = SourcesOf(arguments.operands);
  for (const std::string* file : {&arguments.published, &arguments.against}) {
    if (!file->empty()) read.push_back(*file);
  }
  ConfineToReading(read, LeavingLinks::kRefused);
  std::string failed;
  Result<Published> published =
      ReadPublished(arguments, std::move(key), &failed);
  if (!published) {
    PrintError(failed, published.error());
    return kCodes[2];
  }
  return kCodes[Checks(arguments, std::move(spill_file), *std::move(published))
                    .Run()];
}

}  // namespace

const Command kCheckCommand{
    .name = "check",
    .operands = "SOURCE[//PATH]...",
    .summary = "Reads everything and verifies every checksum",
    .alias = "verify",
    .run = &RunCheck<kCheckCodes>,
    .options = "AqjJCDGPMYSKIN",
    .examples =
        "  ctxfs check -q ~/models\n"
        "  ctxfs check --sha256=auto ~/.cache/huggingface/hub\n"
        "  ctxfs check --against=model.digest model.gguf\n"
        "  ctxfs check --checksums=sha256 model.mosh > sums\n",
    .kind = OperandKind::kSource,
    .min_operands = 1,
    .usage_error = 2,
    .key_error = 2,
    .exit_codes =
        "  0 clean, 1 damaged, 2 something could not be checked, or usage\n"};

int RunFsck(int argc, char** argv) {
  Command command = kCheckCommand;
  command.program = "fsck.ctxfs";
  command.run = &RunCheck<kFsckCodes>;
  command.usage_error = 16;
  command.key_error = 8;
  command.source_error = 8;
  command.alias = "";
  command.exit_codes =
      "  0 clean, 4 damaged, 8 something could not be checked, 12 both,\n"
      "  16 usage\n";
  return RunCommand(WithoutRepair(argc, argv), argv, command);
}

}  // namespace ctxfs

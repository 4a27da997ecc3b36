// SPDX-License-Identifier: Apache-2.0
//
// ctxfs check and fsck.ctxfs: reads everything and verifies every checksum.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/limits.h"
#include "core/base/mutex.h"
#include "core/base/parallel.h"
#include "fs/commands/arguments.h"
#include "fs/commands/check_report.h"
#include "fs/commands/checker.h"
#include "fs/commands/confine.h"
#include "fs/commands/container_search.h"
#include "fs/commands/text.h"
#include "fs/common/shown_text.h"
#include "fs/common/terminal.h"

namespace ctxfs {
namespace {

/// What was found in all containers. It decides the exit code.
class Tally {
 public:
  void Add(const CheckReport& report) {
    for (const Fault& fault : report.faults) {
      (fault.IsDamage() ? damaged_ : unchecked_) = true;
    }
    ++outcomes_[static_cast<size_t>(report.Outcome())];
  }
  /// Adds a SOURCE without a container.
  void AddEmpty() { unchecked_ = true; }

  uint64_t containers() const {
    return std::accumulate(outcomes_.begin(), outcomes_.end(), uint64_t{0});
  }

  /// "19 checked, 3 damaged, 38 other files".
  std::string Text(uint64_t others) const {
    std::string text = fmt::format("{} checked, {} damaged",
                                   containers() - Of(CheckOutcome::kUnchecked),
                                   Of(CheckOutcome::kDamaged));
    const std::pair<CheckOutcome, const char*> rest[] = {
        {CheckOutcome::kPartial, "partial"},
        {CheckOutcome::kUnchecked, "could not be checked"},
        {CheckOutcome::kUnverifiable, "without checksums"}};
    for (const auto& [outcome, words] : rest) {
      if (Of(outcome) == 0) continue;
      text += fmt::format(", {} {}", Of(outcome), words);
    }
    return fmt::format("{}, {}{}", text, others,
                       others == 1 ? " other file" : " other files");
  }

  /// 0 for clean, plus 1 for damage, plus 2 for what was not all checked.
  size_t Bits() const { return (damaged_ ? 1U : 0U) + (unchecked_ ? 2U : 0U); }

 private:
  uint64_t Of(CheckOutcome outcome) const {
    return outcomes_[static_cast<size_t>(outcome)];
  }

  std::array<uint64_t, kCheckOutcomes> outcomes_{};
  bool damaged_ = false;
  bool unchecked_ = false;  // something could not be read or opened
};

/// Exit codes: clean, damaged, not all checked, and both of these.
using Codes = std::array<int, 4>;

constexpr Codes kCheckCodes{0, 1, 2, 2};
// The codes of fsck(8), which are bits: 4 "filesystem errors left uncorrected",
// 8 "operational error", 16 "usage or syntax error". Its 1 means "corrected".
constexpr Codes kFsckCodes{0, 4, 8, 4 | 8};

/// fsck(8) passes these to every checker; a check that changes nothing ignores
/// them.
bool IsForRepair(std::string_view argument) {
  constexpr std::string_view kIgnored[] = {"-a", "-p", "-n", "-y", "-f", "-V"};
  return std::find(std::begin(kIgnored), std::end(kIgnored), argument) !=
         std::end(kIgnored);
}

/// Removes them from the arguments and returns how many are left. After "--"
/// every argument is a source.
int WithoutRepair(int argc, char** argv) {
  char** const last = std::find_if(argv + 1, argv + argc, [](const char* word) {
    return std::string_view(word) == "--";
  });
  char** const kept = std::remove_if(argv + 1, last, IsForRepair);
  return static_cast<int>(std::move(last, argv + argc, kept) - argv);
}

/// A line that sha256sum(1) reads: names with a backslash or line break are
/// escaped, and the line begins with a backslash.
std::string DigestLine(const std::string& path, const std::string& sha256) {
  const std::string escaped = Escaped(path, "\n\r");
  return (escaped == path ? "" : "\\") + sha256 + "  " + escaped;
}

/// Checks every container of the sources, and prints the reports.
class Checks {
 public:
  Checks(const Arguments& arguments, std::shared_ptr<SpillFile> spill_file)
      : arguments_(arguments), search_(arguments.operands) {
    cache_.SpillTo(std::move(spill_file));
  }

  /// Returns Tally::Bits.
  size_t Run() {
    // With many containers each thread checks its own; with few, all threads
    // check the files of one container at a time.
    const bool many = FindFirst(2 * size_t{arguments_.jobs});
    const Checker checker({.open = arguments_.open,
                           .jobs = many ? 1 : arguments_.jobs,
                           .digests = arguments_.sha256},
                          cache_, progress_);
    const unsigned threads = many ? arguments_.jobs : 1;
    ForEachInParallel(threads, threads, [&](uint64_t /*thread*/) {
      while (const std::optional<FoundContainer> found = Take()) {
        Report(*found, checker.Check(*found));
      }
    });
    Conclude();
    const MutexLock lock(mutex_);
    return tally_.Bits();
  }

 private:
  /// Finds the first containers. Returns whether there are `enough`.
  bool FindFirst(size_t enough) {
    const MutexLock lock(mutex_);
    while (first_.size() < enough) {
      std::optional<FoundContainer> found = search_.Next();
      if (!found) return false;
      first_.push_back(*std::move(found));
    }
    return true;
  }

  std::optional<FoundContainer> Take() {
    {
      const MutexLock lock(mutex_);
      if (!first_.empty()) {
        FoundContainer found = std::move(first_.front());
        first_.pop_front();
        return found;
      }
    }
    return search_.Next();
  }

  void Report(const FoundContainer& found, const CheckReport& report) {
    const MutexLock lock(mutex_);
    progress_.Clear();
    tally_.Add(report);
    if (arguments_.json) {
      all_.push_back(ReportJson(found.shown(), report));
      return;
    }
    PrintReport(reports_, found.shown(), report, arguments_.all);
    for (const FileDigest& file : report.digests) {
      const std::string line =
          DigestLine(found.mounted + "/" + file.path, file.sha256);
      std::puts(terminal_ ? ShownText(line).c_str() : line.c_str());
    }
  }

  /// Prints the SOURCEs without a container, and the JSON or the totals.
  void Conclude() {
    const MutexLock lock(mutex_);
    progress_.Clear();
    for (const std::string& source : search_.Empty()) {
      PrintError(source, NoContainerIn(source));
      tally_.AddEmpty();
    }
    if (arguments_.json) {
      std::fputs(PrintableJson(FormatJson(all_)).c_str(), stdout);
    } else if (search_.searched() && tally_.containers() > 0) {
      std::fprintf(reports_, "%s\n", tally_.Text(search_.others()).c_str());
    }
  }

  const Arguments& arguments_;
  std::FILE* const reports_ = arguments_.sha256 ? stderr : stdout;
  // Escapes names only on a terminal: sha256sum(1) needs their bytes.
  const bool terminal_ = Terminal::Of(stdout).is_terminal();
  BlockCache cache_{256 * limits::kMiB};
  Progress progress_;
  ContainerSearch search_;
  Mutex mutex_;
  std::deque<FoundContainer> first_ CTXFS_GUARDED_BY(mutex_);
  Tally tally_ CTXFS_GUARDED_BY(mutex_);
  Json all_ CTXFS_GUARDED_BY(mutex_) = Json::array();
};

template <const Codes& kCodes>
int RunCheck(const Arguments& arguments) {
  std::shared_ptr<SpillFile> spill_file = OpenSpillFile();
  ConfineToReading(arguments.operands, LeavingLinks::kRefused);
  return kCodes[Checks(arguments, std::move(spill_file)).Run()];
}

}  // namespace

const Command kCheckCommand{
    .name = "check",
    .operands = "SOURCE...",
    .summary = "Reads everything and verifies every checksum",
    .alias = "verify",
    .run = &RunCheck<kCheckCodes>,
    .options = "AjJCSKIN",
    .examples =
        "  ctxfs check ~/models\n"
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

// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs report`: writes an HTML page about containers.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/errors.h"
#include "core/base/limits.h"
#include "core/base/parallel.h"
#include "core/base/text/count_of.h"
#include "core/base/text/human_size.h"
#include "core/base/text/text.h"
#include "core/base/work.h"
#include "core/io/fd.h"
#include "core/io/io_error.h"
#include "core/io/urls/url.h"
#include "core/report/found_faults.h"
#include "core/report/page.h"
#include "core/vfs/source_tree.h"
#include "core/vfs/sources.h"
#include "fs/commands/arguments.h"
#include "fs/commands/confine.h"
#include "fs/commands/container_search.h"
#include "fs/commands/copy/new_file.h"
#include "fs/commands/page/report_diff.h"
#include "fs/commands/page/report_output.h"
#include "fs/commands/progress.h"
#include "fs/common/shown_text.h"

namespace ctxfs {
namespace {

constexpr uint64_t kReportCacheBytes = 256 * limits::kMiB;

// The exit codes of `ctxfs check`.
constexpr int kDamaged = 1;
constexpr int kUnchecked = 2;

/// Writes the page to a descriptor, inside the sandbox.
class Reporter {
 public:
  explicit Reporter(const Arguments& arguments)
      : arguments_(arguments),
        options_{.depth = arguments.exact ? ReportDepth::kExact
                                          : ReportDepth::kSampled,
                 .for_each =
                     [jobs = arguments.jobs](uint64_t count, const auto& work) {
                       ForEachInParallel(count, jobs, work);
                     },
                 .expect = [this](uint64_t bytes) { progress_.Expect(bytes); },
                 .done = [this](uint64_t bytes) { progress_.Add(bytes); }} {}

  void AddSource(const std::string& source) {
    ContainerSearch search({source}, arguments_.open);
    while (const std::optional<FoundContainer> found = search.Next()) {
      if (!ReportRoom::Take(room_.containers)) {
        ++left_out_;
        unchecked_ = true;
      } else {
        AddContainer(*found);
      }
    }
    for (const std::string& empty : search.Empty()) {
      PrintError(empty, NoContainerIn(empty));
      unchecked_ = true;
    }
    others_ += search.others();
    searched_ = searched_ || search.searched();
  }

  /// Writes the page unless no container could be opened. Returns the exit
  /// code.
  int Write(int to) {
    progress_.Clear();
    if (left_out_ != 0) PrintLeftOut();
    if (searched_) PrintTotals();
    if (opened_ != 0) {
      const std::string title = Title();
      const std::string head = PageHead(title);
      const std::string data =
          PageData(options_.depth, title, containers_, left_out_);
      for (const std::string* part : {&head, &data, TheFrame().tail.get()}) {
        if (!WriteAll(to, AsBytes(*part), "pipe")) return kUnchecked;
      }
    }
    return unchecked_ ? kUnchecked : damaged_ ? kDamaged : 0;
  }

 private:
  /// The title of the page: the name of its only container. If it has several
  /// containers, the name of the only SOURCE; if there are several SOURCEs too,
  /// the number of containers, such as "3 containers".
  std::string Title() const {
    if (containers_.size() == 1 && left_out_ == 0) return last_name_;
    return arguments_.operands.size() == 1
               ? NameOfPath(WithoutQuery(arguments_.operands.front()))
               : CountOf(containers_.size() + left_out_, "container");
  }

  /// The name of a container on the page: the last name of its path if it is
  /// the SOURCE itself, else the path below the SOURCE. The full path is there
  /// only with --paths, because the page may be shared.
  std::string NameOf(const FoundContainer& found) const {
    if (arguments_.paths) return found.shown();
    const std::string name = BaseName(found.path);
    if (found.named) return name;
    const size_t slash = found.mounted.rfind('/');
    return slash == std::string::npos
               ? name
               : found.mounted.substr(0, slash + 1) + name;
  }

  void AddContainer(const FoundContainer& found) {
    last_name_ = NameOf(found);
    if (found.error) {
      ++failed_;
      unchecked_ = true;
      PrintError(found.shown(), *found.error);
      return;
    }
    const Result<std::shared_ptr<const Container>> container =
        ContainerOf(found, arguments_.open);
    if (!container) return AddFailure(found, container.error());
    // Without --exact, the work limit is that of a mount request, so that a
    // tiny container cannot keep a processor busy.
    const WorkLimit limit{.factor = arguments_.exact ? 0 : limits::kWorkFactor};
    const uint64_t stored = (*container)->StoredSize();
    Work verifying = limit.On(stored);
    const FoundFaults faults = FindFaults(**container, options_, room_,
                                          ReadContext(cache_).With(verifying));
    Work showing = limit.On(stored);
    std::optional<std::string> incomplete;
    Result<std::string> report = ContainerReport(
        *container, last_name_, options_, room_,
        ReadContext(cache_).With(showing), &faults, &incomplete);
    if (!report) return AddFailure(found, report.error());
    ++opened_;
    containers_.push_back(*std::move(report));
    NoteFaults(found.shown(), faults);
    if (incomplete) NoteIncomplete(found.shown(), *incomplete);
  }

  void NoteFaults(const std::string& path, const FoundFaults& faults) {
    damaged_ |= faults.damaged != 0;
    unchecked_ |= faults.unchecked != 0;
    if (faults.count() == 0) return;
    progress_.Clear();
    std::fprintf(stderr, "ctxfs: %s: %s, which the page shows\n",
                 Quote(path).c_str(), CountOf(faults.count(), "fault").c_str());
  }

  void NoteIncomplete(const std::string& path, const std::string& text) {
    progress_.Clear();
    std::fprintf(stderr, "ctxfs: %s: incomplete: %s\n", Quote(path).c_str(),
                 ShownText(text).c_str());
  }

  void PrintTotals() const {
    std::string text = CountOf(opened_, "container") + ", " +
                       std::to_string(failed_) + " could not be opened, " +
                       CountOf(others_, "other file");
    if (left_out_ != 0) text += ", " + std::to_string(left_out_) + " left out";
    std::fprintf(stderr, "%s\n", text.c_str());
  }

  void PrintLeftOut() const {
    std::fprintf(stderr,
                 "ctxfs: %llu further containers were not examined: a page has "
                 "at most %llu\n",
                 static_cast<unsigned long long>(left_out_),
                 static_cast<unsigned long long>(ReportRoom().containers));
  }

  void AddFailure(const FoundContainer& found, const Error& error) {
    ++failed_;
    progress_.Clear();
    PrintError(found.shown(), error);
    (IsDamage(error) ? damaged_ : unchecked_) = true;
    containers_.push_back(FailedReport(NameOf(found), error));
  }

  const Arguments& arguments_;
  Progress progress_;
  const ReportOptions options_;
  BlockCache cache_{kReportCacheBytes};
  ReportRoom room_;
  std::vector<std::string> containers_;
  std::string last_name_;  // of the last container
  uint64_t opened_ = 0;
  uint64_t left_out_ = 0;
  uint64_t failed_ = 0;
  uint64_t others_ = 0;
  bool searched_ = false;
  bool damaged_ = false;
  bool unchecked_ = false;
};

int WriteReport(const Arguments& arguments, int to) {
  ConfineToReading(SourcesOf(arguments.operands), LeavingLinks::kRefused);
  Reporter reporter(arguments);
  for (const std::string& source : arguments.operands) {
    reporter.AddSource(source);
  }
  return reporter.Write(to);
}

/// Appends all bytes of the pipe `from` to `output`; returns their number.
Result<uint64_t> Copy(int from, ReportOutput& output) {
  Buffer buffer(static_cast<size_t>(limits::kMiB));
  uint64_t size = 0;
  while (true) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return IoError("cannot read the page");
    if (got == 0) return size;
    const auto length = static_cast<size_t>(got);
    CTXFS_TRY(output.Write(buffer.span().first(length)));
    size += length;
  }
}

/// Waits for a process and returns its exit code. Fails if a signal ended it.
Result<int> Join(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  return Error{Code::kIo,
               fmt::format("signal {} ended the process that made the page",
                           WTERMSIG(status))};
}

/// Makes the page in a child process that is confined to reading, and writes it
/// in this process, which opens no container. Returns the exit code.
Result<int> MakePage(const Arguments& arguments, ReportOutput& output) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return IoError("cannot make a pipe");
  Fd from(ends[0]);
  Fd to(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return IoError("cannot start a process");
  if (child == 0) {
    from = Fd(-1);
    const int code = arguments.diff ? WriteComparison(arguments, to.get())
                                    : WriteReport(arguments, to.get());
    (void)std::fflush(nullptr);
    // Runs no destructors: the parent owns the new file.
    ::_exit(code);
  }
  to = Fd(-1);
  const Result<uint64_t> size = Copy(from.get(), output);
  from = Fd(-1);  // after a failed Copy, the child's writes fail
  const Result<int> code = Join(child);
  if (!size) return size.error();
  if (!code || *size == 0) return code;
  CTXFS_TRY(output.Commit());
  if (!output.is_standard_output()) {
    std::printf("%s: %s\n", ShownName(output.path()).c_str(),
                HumanSize(*size).c_str());
  }
  return code;
}

int RunReport(const Arguments& arguments) {
  Result<ReportOutput> output = ReportOutput::Open(arguments);
  const Result<int> code =
      output ? MakePage(arguments, *output) : std::move(output).error();
  if (code) return *code;
  PrintError(ReportPath(arguments), code.error());
  return kUnchecked;
}

}  // namespace

const Command kReportCommand{
    .name = "report",
    .operands = "SOURCE[//PATH]...",
    .summary = "Makes an HTML page about containers",
    .run = &RunReport,
    .options = "LjoBUEFSKIN",
    .examples =
        "  ctxfs report model.mosh -o model.html\n"
        "  ctxfs report --exact -o all.html ~/models\n"
        "  ctxfs report --diff --values -o diff.html base.gguf tuned.gguf\n",
    .kind = OperandKind::kSource,
    .min_operands = 1,
    .usage_error = kUnchecked,
    .key_error = kUnchecked,
    .exit_codes =
        "  0 no fault, 1 damaged, 2 something could not be read, or usage;\n"
        "  with --diff, 0 the same, 1 different, 2 something could not be\n"
        "  compared\n"};

}  // namespace ctxfs

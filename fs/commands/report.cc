// SPDX-License-Identifier: Apache-2.0
//
// ctxfs report: an HTML page about containers.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/content/work.h"
#include "core/io/io_error.h"
#include "core/report/page.h"
#include "core/vfs/open_container.h"
#include "fs/commands/arguments.h"
#include "fs/commands/confine.h"
#include "fs/commands/find_containers.h"
#include "fs/commands/new_file.h"
#include "fs/commands/progress.h"
#include "fs/commands/text.h"

namespace ctxfs {
namespace {

constexpr uint64_t kReportCacheBytes = 256 * limits::kMiB;

/// Writes the page to a descriptor. Runs in the sandbox.
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
    const Result<std::vector<std::string>> paths = FindContainers(source);
    if (!paths) {
      code_ = PrintError(source, paths.error());
      return;
    }
    for (const std::string& path : *paths) {
      if (!ReportRoom::Take(room_.containers)) {
        ++left_out_;
      } else {
        AddContainer(path);
      }
    }
  }

  /// Writes the page, unless no container could be opened, and returns the code
  /// of the last error.
  ExitCode Write(int to) {
    progress_.Clear();
    if (opened_ == 0) return code_;
    const PageFrame& frame = TheFrame();
    const std::string data = PageData(options_.depth, containers_, left_out_);
    for (const std::string* part :
         {frame.head.get(), &data, frame.tail.get()}) {
      if (!WriteAll(to, AsBytes(*part), "pipe")) return ExitCode::kSource;
    }
    return code_;
  }

 private:
  void AddContainer(const std::string& path) {
    const Result<std::shared_ptr<const Container>> container =
        OpenContainerFile(path, arguments_.open);
    if (!container) return AddFailure(path, container.error());
    // Without --exact the work is limited as for a request to a mount, so that
    // a container of a few bytes cannot keep a processor busy.
    const WorkLimit limit{.factor = arguments_.exact ? 0 : limits::kWorkFactor};
    Work work = limit.On((*container)->StoredSize());
    Result<std::string> report = ContainerReport(
        *container, path, options_, room_, ReadContext(cache_).With(work));
    if (!report) return AddFailure(path, report.error());
    ++opened_;
    containers_.push_back(*std::move(report));
  }

  void AddFailure(const std::string& path, const Error& error) {
    progress_.Clear();
    code_ = PrintError(path, error);
    containers_.push_back(FailedReport(path, error));
  }

  const Arguments& arguments_;
  Progress progress_;
  const ReportOptions options_;
  BlockCache cache_{kReportCacheBytes};
  ReportRoom room_;
  std::vector<std::string> containers_;
  uint64_t opened_ = 0;
  uint64_t left_out_ = 0;
  ExitCode code_ = ExitCode::kOk;
};

/// The file that the page is written to.
struct Output {
  DirectoryFd directory;
  std::string name;
  std::string path;  // as given, for messages
};

/// "model.mcf.html" of "../model.mcf".
std::string DefaultOutput(const std::string& source) {
  std::error_code failed;
  std::filesystem::path path = std::filesystem::absolute(source, failed);
  path = path.lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const std::string name = path.filename().string();
  return (name.empty() || name == "/" ? "report" : name) + ".html";
}

/// Fails if a file that exists may not be replaced. Only pages are replaced, so
/// that a mistyped name cannot destroy a container.
Status MayReplace(const Output& output, const struct stat& there,
                  const Arguments& arguments) {
  if (!arguments.replace) {
    return Error{Code::kIo, "exists already; --replace replaces it"};
  }
  for (const std::string& source : arguments.operands) {
    struct stat st {};
    if (::stat(source.c_str(), &st) == 0 && st.st_dev == there.st_dev &&
        st.st_ino == there.st_ino) {
      return Error{Code::kIo, "is a source"};
    }
  }
  if (!S_ISREG(there.st_mode) || there.st_size == 0) return {};
  constexpr std::string_view kPage = "<!doctype html>";
  std::array<char, kPage.size()> begin{};
  const Fd file(::openat(output.directory->get(), output.name.c_str(),
                         O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.ok() ||
      ::pread(file.get(), begin.data(), begin.size(), 0) !=
          static_cast<ssize_t>(begin.size()) ||
      std::string_view(begin.data(), begin.size()) != kPage) {
    return Error{Code::kIo, "exists and is not a page that ctxfs made"};
  }
  return {};
}

/// Finds the file to write. Fails if it exists and may not be replaced.
Result<Output> Prepare(const std::filesystem::path& path,
                       const Arguments& arguments) {
  Output output;
  output.path = path.string();
  output.name = path.filename().string();
  if (output.name.empty() || output.name == "." || output.name == "..") {
    return SystemError("cannot write", EISDIR);
  }
  const std::string directory =
      path.has_parent_path() ? path.parent_path().string() : ".";
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return IoError("cannot open the directory");
  output.directory = std::make_shared<const Fd>(fd);
  struct stat there {};
  if (::fstatat(fd, output.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) {
    return output;
  }
  Status may = MayReplace(output, there, arguments);
  if (!may) return std::move(may).error();
  return output;
}

/// Appends all bytes of the pipe `from` to `file`, and returns their number.
Result<uint64_t> Copy(int from, NewFile& file) {
  Buffer buffer(static_cast<size_t>(limits::kMiB));
  uint64_t size = 0;
  while (true) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return IoError("cannot read the page");
    if (got == 0) return size;
    const auto length = static_cast<size_t>(got);
    Status wrote = file.Write(buffer.span().first(length));
    if (!wrote) return std::move(wrote).error();
    size += length;
  }
}

/// Waits for a process and returns its exit code. Fails if a signal ended it.
Result<ExitCode> Join(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return static_cast<ExitCode>(WEXITSTATUS(status));
  return Error{Code::kIo, "signal " + std::to_string(WTERMSIG(status)) +
                              " ended the process that made the page"};
}

/// Makes the page in a process that is confined to reading, and writes it in
/// this one, which opens no container.
Result<ExitCode> MakePage(const Arguments& arguments, const Output& output) {
  Result<NewFile> file = NewFile::Create(output.directory);
  if (!file) return std::move(file).error();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return IoError("cannot make a pipe");
  const Fd from(ends[0]);
  Fd to(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return IoError("cannot start a process");
  if (child == 0) {
    ConfineToReading(arguments.operands);
    Reporter reporter(arguments);
    for (const std::string& source : arguments.operands) {
      reporter.AddSource(source);
    }
    const ExitCode code = reporter.Write(to.get());
    (void)std::fflush(nullptr);
    // Without destructors: the parent owns the new file.
    ::_exit(static_cast<int>(code));
  }
  to = Fd(-1);
  const Result<uint64_t> size = Copy(from.get(), *file);
  Result<ExitCode> code = Join(child);
  if (!size) return size.error();
  if (!code || *size == 0) return code;
  if (Status done = file->Commit(output.name, arguments.replace); !done) {
    return std::move(done).error();
  }
  std::printf("%s: %s\n", ShownName(output.path).c_str(),
              HumanSize(*size).c_str());
  return code;
}

int RunReport(const Arguments& arguments) {
  const std::string path = arguments.output.empty()
                               ? DefaultOutput(arguments.operands.front())
                               : arguments.output;
  Result<Output> output = Prepare(path, arguments);
  const Result<ExitCode> code =
      output ? MakePage(arguments, *output) : std::move(output).error();
  return static_cast<int>(code ? *code : PrintError(path, code.error()));
}

}  // namespace

const Command kReportCommand{
    .name = "report",
    .operands = "SOURCE...",
    .summary = "Makes an HTML page about containers",
    .run = &RunReport,
    .options = "joEFSKI",
    .examples =
        "  ctxfs report model.mosh -o model.html\n"
        "  ctxfs report --exact -o all.html ~/models\n",
    .kind = OperandKind::kSource,
    .min_operands = 1};

}  // namespace ctxfs

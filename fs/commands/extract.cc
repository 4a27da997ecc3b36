// SPDX-License-Identifier: Apache-2.0
//
// ctxfs extract: writes files out, verified, and nowhere but below a directory.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/io/fd.h"
#include "fs/commands/arguments.h"
#include "fs/commands/commands.h"
#include "fs/commands/parallel.h"
#include "fs/commands/progress.h"
#include "fs/commands/source_tree.h"

namespace ctxfs {
namespace {

const Command kCommand{
    "ctxfs extract",
    "[-a] [-j N] [--replace] [--views LIST] [--salvage] [--keyfile PATH] "
    "[--insecure-keyfile] SOURCE[//PATH] DIR",
    "ajFVSKI", 2, 2};

constexpr std::string_view kAbout = ".ctxfs";

Error SystemError(const std::string& what) {
  return {Code::kIo, what + ": " + std::strerror(errno)};
}

// Shared by the files that are to be written into it.
using DirectoryFd = std::shared_ptr<const Fd>;

/// The directory `name` in `above`, made if need be; never what a link there
/// leads to.
Result<DirectoryFd> EnterDirectory(const Fd& above, const std::string& name) {
  constexpr mode_t kMode = 0777;  // less the umask
  if (::mkdirat(above.get(), name.c_str(), kMode) != 0 && errno != EEXIST) {
    return SystemError("cannot be made");
  }
  const int fd = ::openat(above.get(), name.c_str(),
                          O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return SystemError("cannot be entered");
  return DirectoryFd(std::make_shared<const Fd>(fd));
}

/// A file to write, in a directory that is there.
struct Job {
  SourceTree::File file;
  DirectoryFd directory;
  std::string name;
};

class Extractor {
 public:
  Extractor(SourceTree& tree, const Arguments& arguments)
      : tree_(tree), arguments_(arguments) {}

  /// Makes the directories, and finds what is to be written into them.
  void Plan(const SourceTree::File& file, const DirectoryFd& into,
            const std::string& name) {
    if (!file.directory) {
      jobs_.push_back({file, into, name});
      if (!progress_.shown()) return;
      if (const Result<uint64_t> size = tree_.Size(file)) {
        progress_.Expect(*size);
      }
      return;
    }
    const Result<DirectoryFd> directory =
        name.empty() ? into : EnterDirectory(*into, name);
    if (!directory) return Fail(file.path, directory.error());
    const Status listed =
        tree_.ForEach(file, [&](const SourceTree::File& child) {
          std::string last = child.path.substr(child.path.rfind('/') + 1);
          if (arguments_.all || !last.starts_with(kAbout)) {
            Plan(child, *directory, last);
          }
          return Status();
        });
    if (!listed) Fail(file.path, listed.error());
  }

  /// Writes them.
  ExitCode Run() {
    ForEachInParallel(jobs_.size(), arguments_.jobs, [this](uint64_t i) {
      const Job& job = jobs_[i];
      const Status written = Write(job);
      if (!written) Fail(job.file.path, written.error());
    });
    progress_.Clear();
    return worst_;
  }

 private:
  void Fail(const std::string& path, const Error& error) {
    const MutexLock lock(mutex_);
    progress_.Clear();
    PrintError(path, error);
    worst_ = ExitCodeOf(error);
  }

  Status Write(const Job& job) {
    const Result<Namespace::OpenFile> open = tree_.Open(job.file);
    if (!open) return open.error();
    const Content& content = open->content;
    // Nothing is made for a file that turns out to be damaged at once.
    if (Status verified = content.Verify(tree_.cache()); !verified) {
      return verified;
    }
    const char* const name = job.name.c_str();
    if (arguments_.replace) ::unlinkat(job.directory->get(), name, 0);
    constexpr mode_t kMode = 0666;  // less the umask
    const Fd out(::openat(job.directory->get(), name,
                          O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
    if (!out.ok()) return SystemError("cannot be written");
    Status copied = Copy(content, out);
    if (!copied) {
      ::unlinkat(job.directory->get(), name, 0);
      return copied;
    }
    content.Spend(tree_.cache());
    return {};
  }

  Status Copy(const Content& content, const Fd& out) {
    Window window;
    for (uint64_t at = 0; at < content.size(); at += limits::kMiB) {
      Status read = content.Read(at, limits::kMiB, tree_.cache(), window);
      if (!read) return read;
      for (Bytes rest : window.slices()) {
        while (!rest.empty()) {
          const ssize_t wrote = ::write(out.get(), rest.data(), rest.size());
          if (wrote < 0 && errno == EINTR) continue;
          if (wrote < 0) return SystemError("cannot be written");
          rest = rest.subspan(static_cast<size_t>(wrote));
        }
      }
      progress_.Add(std::min(limits::kMiB, content.size() - at));
    }
    return {};
  }

  SourceTree& tree_;
  const Arguments& arguments_;
  std::vector<Job> jobs_;
  Progress progress_;
  Mutex mutex_;
  ExitCode worst_ = ExitCode::kOk;
};

Result<DirectoryFd> OpenTarget(const std::string& path) {
  constexpr mode_t kMode = 0777;
  if (::mkdir(path.c_str(), kMode) != 0 && errno != EEXIST) {
    return SystemError("cannot be made");
  }
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return SystemError("cannot be entered");
  return DirectoryFd(std::make_shared<const Fd>(fd));
}

}  // namespace

int RunExtract(int argc, char** argv) {
  Arguments arguments;
  if (const auto code = ParseArguments(argc, argv, kCommand, &arguments)) {
    return *code;
  }
  const auto fail = [](const std::string& path, const Error& error) {
    PrintError(path, error);
    return static_cast<int>(ExitCodeOf(error));
  };
  const Target target = ParseTarget(arguments.operands.front());
  // Views say the same again; who wants them says so.
  const bool in_views = target.path.find("views") != std::string::npos;
  const ViewSet views =
      arguments.views.value_or(in_views ? AllViews() : ViewSet());
  const Result<std::unique_ptr<SourceTree>> tree =
      SourceTree::Open(target.source, arguments.open, views);
  if (!tree) return fail(target.source, tree.error());
  const Result<SourceTree::File> top = (*tree)->Find(target.path);
  if (!top) return fail(arguments.operands.front(), top.error());
  const std::string& directory = arguments.operands.back();
  const Result<DirectoryFd> into = OpenTarget(directory);
  if (!into) return fail(directory, into.error());

  Extractor extractor(**tree, arguments);
  extractor.Plan(
      *top, *into,
      top->directory ? "" : top->path.substr(top->path.rfind('/') + 1));
  return static_cast<int>(extractor.Run());
}

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
//
// ctxfs extract: writes verified files into a directory.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/parallel.h"
#include "core/content/read_through.h"
#include "core/io/io_error.h"
#include "core/registry/views.h"
#include "fs/commands/arguments.h"
#include "fs/commands/confine.h"
#include "fs/commands/new_file.h"
#include "fs/commands/progress.h"
#include "fs/commands/source_tree.h"
#include "fs/commands/target.h"

namespace ctxfs {
namespace {

/// A file to write, in a directory that exists.
struct Job {
  SourceTree::File file;
  size_t directory;
};

class Extractor {
 public:
  Extractor(SourceTree& tree, TargetTree& target, const Arguments& arguments)
      : tree_(tree), target_(target), arguments_(arguments) {}

  /// Creates the directory, if it is one, and all below it, and collects the
  /// files to write into them.
  void Plan(const SourceTree::File& file, size_t into) {
    if (!file.directory) return AddJob(file, into);
    const Status listed =
        tree_.ForEach(file, [&](const SourceTree::File& child) {
          if (!child.directory) {
            AddJob(child, into);
            return Status();
          }
          const Result<size_t> directory = target_.Add(into, child.name());
          if (directory) {
            Plan(child, *directory);
          } else {
            Fail(jobs_.size(), child.path, directory.error());
          }
          return Status();
        });
    if (!listed) Fail(jobs_.size(), file.path, listed.error());
  }

  /// Writes the files, and prints how many.
  ExitCode Run() {
    ForEachInParallel(jobs_.size(), arguments_.jobs, [this](uint64_t i) {
      const Status written = Write(jobs_[i]);
      if (!written) Fail(i, jobs_[i].file.path, written.error());
    });
    // Flushing a directory puts the names of its files on disk.
    ForEachInParallel(target_.count(), arguments_.jobs, [this](uint64_t i) {
      const Status flushed = Flush(i);
      if (!flushed) Fail(jobs_.size(), target_.Path(i), flushed.error());
    });
    progress_.Clear();
    std::printf("%llu files (%llu bytes) written, %llu failed\n",
                static_cast<unsigned long long>(files_.load()),
                static_cast<unsigned long long>(bytes_.load()),
                static_cast<unsigned long long>(failures_));
    return code_;
  }

 private:
  void AddJob(const SourceTree::File& file, size_t into) {
    jobs_.push_back({file, into});
    if (!progress_.shown()) return;
    if (const Result<uint64_t> size = tree_.Size(file)) {
      progress_.Expect(*size);
    }
  }

  /// Prints and counts a failure. `place` is its position in the tree: the exit
  /// code is that of the last failure in tree order, whichever thread fails
  /// last.
  void Fail(uint64_t place, const std::string& path, const Error& error) {
    const MutexLock lock(mutex_);
    progress_.Clear();
    const ExitCode code = PrintError(path, error);
    ++failures_;
    if (place < last_failure_) return;
    last_failure_ = place;
    code_ = code;
  }

  Status Write(const Job& job) {
    const Result<Namespace::OpenFile> open = tree_.Open(job.file);
    if (!open) return open.error();
    const Content& content = open->content;
    Result<DirectoryFd> directory = target_.Open(job.directory);
    if (!directory) return std::move(directory).error();
    const std::string name = job.file.name();
    // Fails before anything is decoded. Commit checks it again.
    struct stat st {};
    if (!arguments_.replace && ::fstatat((*directory)->get(), name.c_str(), &st,
                                         AT_SYMLINK_NOFOLLOW) == 0) {
      return SystemError("cannot write", EEXIST);
    }
    if (Status verified = content.Verify(tree_.cache()); !verified) {
      return verified;
    }
    Result<NewFile> out = NewFile::Create(std::move(*directory));
    if (!out) return std::move(out).error();
    Status copied =
        ReadThrough(content, tree_.cache(), [this, &out](Bytes piece) {
          progress_.Add(piece.size());
          return out->Write(piece);
        });
    if (!copied) return copied;
    if (Status done = out->Commit(name, arguments_.replace); !done) {
      return done;
    }
    content.Spend(tree_.cache());
    ++files_;
    bytes_ += content.size();
    return {};
  }

  Status Flush(size_t directory) const {
    const Result<DirectoryFd> open = target_.Open(directory);
    if (!open) return open.error();
    // Some file systems cannot flush a directory, and need not.
    if (::fsync((*open)->get()) != 0 && errno != EINVAL) {
      return IoError("cannot write");
    }
    return {};
  }

  SourceTree& tree_;
  TargetTree& target_;
  const Arguments& arguments_;
  std::vector<Job> jobs_;
  Progress progress_;
  std::atomic<uint64_t> files_ = 0;  // written
  std::atomic<uint64_t> bytes_ = 0;
  Mutex mutex_;
  uint64_t failures_ = 0;
  uint64_t last_failure_ = 0;
  ExitCode code_ = ExitCode::kOk;
};

/// Whether a path leads into a directory `views`, or `views~2`, its name in a
/// container with an entry called `views`.
bool LeadsIntoViews(const std::string& path) {
  const std::string slashed = "/" + path + "/";
  return slashed.find("/views/") != std::string::npos ||
         slashed.find("/views~") != std::string::npos;
}

int RunExtract(const Arguments& arguments) {
  const auto fail = [](const std::string& path, const Error& error) {
    return static_cast<int>(PrintError(path, error));
  };
  const Target target = ParseTarget(arguments.operands.front());
  // Views show the same data again, so they are only written on request.
  const bool all = arguments.all || LeadsIntoViews(target.path);
  const ViewSet views = arguments.views.value_or(all ? AllViews() : ViewSet());
  const Result<std::unique_ptr<SourceTree>> tree = SourceTree::Open(
      target.source, arguments.open, views, arguments.list_mode());
  if (!tree) return fail(target.source, tree.error());
  const Result<SourceTree::File> top = (*tree)->Find(target.path);
  if (!top) return fail(arguments.operands.front(), top.error());
  (*tree)->cache().SpillTo(OpenSpillFile());
  const std::string& directory = arguments.operands.back();
  Result<TargetTree> into = TargetTree::Make(directory);
  if (!into) return fail(directory, into.error());

  Extractor extractor(**tree, *into, arguments);
  extractor.Plan(*top, TargetTree::kTop);
  return static_cast<int>(extractor.Run());
}

}  // namespace

const Command kExtractCommand{
    .name = "extract",
    .operands = "SOURCE[//PATH] DIR",
    .summary = "Copies files into a directory, verified",
    .run = &RunExtract,
    .options = "ajFSVKI",
    .examples =
        "  ctxfs extract model.mosh out\n"
        "  ctxfs extract episode.wshard//views/frames frames\n",
    .kind = OperandKind::kPath,
    .min_operands = 2,
    .max_operands = 2};

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs extract`: writes verified files into a directory.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/errors.h"
#include "core/base/json/json.h"
#include "core/base/parallel.h"
#include "core/base/text/count_of.h"
#include "core/base/text/printable.h"
#include "core/base/text/text.h"
#include "core/container/complete.h"
#include "core/io/io_error.h"
#include "core/vfs/source_tree.h"
#include "core/views/list/views.h"
#include "fs/commands/arguments.h"
#include "fs/commands/confine.h"
#include "fs/commands/copy/new_file.h"
#include "fs/commands/named_files.h"
#include "fs/commands/progress.h"
#include "fs/commands/target.h"

namespace ctxfs {
namespace {

/// A file to write into an existing directory.
struct Job {
  SourceTree::File file;
  size_t directory;
  /// For a hard link: the job that writes the file under its first name.
  std::optional<size_t> first = std::nullopt;
};

/// Maximum number of failures in --json; standard error has all.
constexpr size_t kMaxTold = 10'000;

/// Whether a path leads into `views`, or `views~2`, its name in a container
/// with an entry called `views`.
bool LeadsIntoViews(const std::string& path) {
  const std::string slashed = "/" + path + "/";
  return slashed.find("/views/") != std::string::npos ||
         slashed.find("/views~") != std::string::npos;
}

/// Whether a write failed because the target is full.
bool IsFull(const Error& error) {
  return error.sys_errno == ENOSPC || error.sys_errno == EDQUOT;
}

class Extractor {
 public:
  /// `views`: whether views are extracted.
  Extractor(SourceTree& tree, TargetTree& target, const Arguments& arguments,
            bool views)
      : tree_(tree), target_(target), arguments_(arguments), views_(views) {}

  /// Creates the directories at and below `top`, and collects the files to
  /// write. Their new paths are relative to `above`, a directory.
  void Plan(const SourceTree::File& top, const SourceTree::File& above) {
    top_ = above;
    if (top.path == above.path) return Plan(top, TargetTree::kTop);
    if (const Result<size_t> into = DirectoryOf(top, above)) {
      PlanChild(top, *into);
    } else {
      Fail(jobs_.size(), top.path, into.error());
    }
  }

  /// Notes the incomplete containers above `file`, which is in a view of one of
  /// them.
  void NoteAbove(const SourceTree::File& file) {
    std::string above = file.path;
    while (!above.empty()) {
      above.resize(above.find('/') == above.npos ? 0 : above.rfind('/'));
      if (const auto found = tree_.Find(above)) NoteIncomplete(*found);
    }
  }

  /// Reports a file or directory that cannot be found, a directory that cannot
  /// be listed, or one that cannot be created in the target.
  void Lose(const std::string& path, const Error& error) {
    Fail(jobs_.size(), path, error);
  }

  /// Fails if the target lacks room for the planned files. Counts only sizes
  /// known without decoding.
  Status CheckRoom() {
    uint64_t bytes = 0;
    uint64_t files = links_.size();
    for (const Job& job : jobs_) {
      const std::optional<uint64_t> size = SizeToWrite(job);
      bytes = CheckedAdd(bytes, size.value_or(0)).value_or(UINT64_MAX);
      files += size == std::optional<uint64_t>(0) ? 0U : 1U;
      progress_.Expect(size.value_or(0));
    }
    return target_.CheckRoom(bytes, files);
  }

  /// Writes the files and prints the totals.
  ExitCode Run() {
    written_ = std::vector<std::atomic<bool>>(jobs_.size());
    InParallel(jobs_, 0, [this](const Job& job, uint64_t i) {
      const Status written = Write(job);
      written_[i] = static_cast<bool>(written);
      return written;
    });
    // Links are made last, so that no file is written through one.
    InParallel(names_, jobs_.size(), [this](const Job& job, uint64_t /*i*/) {
      return LinkName(job);
    });
    InParallel(links_, jobs_.size() + names_.size(),
               [this](const Job& job, uint64_t /*i*/) { return Link(job); });
    // Flushing a directory stores the names of its files on disk.
    ForEachInParallel(target_.count(), arguments_.jobs, [this](uint64_t i) {
      const Status flushed = Flush(i);
      if (flushed || (full_ && IsFull(flushed.error()))) return;
      Fail(UINT64_MAX, target_.Path(i), flushed.error());
    });
    ReportIncomplete();
    PrintCounts();
    return code_;
  }

 private:
  /// Creates the directories between `above` and `file`. Returns the innermost.
  Result<size_t> DirectoryOf(const SourceTree::File& file,
                             const SourceTree::File& above) {
    size_t into = TargetTree::kTop;
    size_t start = above.path.empty() ? 0 : above.path.size() + 1;
    for (size_t end = 0;
         (end = file.path.find('/', start)) != std::string::npos;
         start = end + 1) {
      const std::string path = file.path.substr(0, end);
      const auto known = made_.find(path);
      into = known != made_.end()
                 ? known->second
                 : CTXFS_TRY(
                       target_.Add(into, file.path.substr(start, end - start)));
      made_.emplace(path, into);
    }
    return into;
  }

  void Plan(const SourceTree::File& file, size_t into) {
    if (!file.directory) return AddJob(file, into);
    NoteIncomplete(file);
    const auto visit = [&](const SourceTree::File& child) {
      PlanChild(child, into);
      return Status();
    };
    const auto lost = [&](const std::string& path, const Error& error) {
      Lose(path, error);
    };
    const Status listed = tree_.ForEach(file, visit, lost);
    if (!listed) Lose(file.path, listed.error());
  }

  void PlanChild(const SourceTree::File& child, size_t into) {
    if (!child.directory) return AddJob(child, into);
    const Result<size_t> directory = target_.Add(into, child.name());
    if (directory) {
      Plan(child, *directory);
    } else {
      Lose(child.path, directory.error());
    }
  }

  void AddJob(const SourceTree::File& file, size_t into) {
    if (file.link) return AddLink(file, into);
    if (file.has_others) {
      const auto [first, fresh] =
          first_names_.try_emplace(file.inode, jobs_.size());
      if (!fresh) return names_.push_back({file, into, first->second});
    }
    jobs_.push_back({file, into});
  }

  /// Notes the container at `directory` if something of it is missing.
  void NoteIncomplete(const SourceTree::File& directory) {
    const auto container = tree_.ContainerAt(directory);
    if (!container) return;
    const Exports exports = (*container)->Export();
    if (exports.arrays == nullptr && exports.table == nullptr) return;
    const Status complete = CheckComplete(**container, tree_.context());
    if (!complete) gaps_.push_back({directory.path, complete.error()});
  }

  /// Reports containers of which something is missing, so that files or views
  /// are left out. If no views are extracted, omits two cases: a container
  /// after a failure, which already names an entry that cannot be read; and
  /// arrays without values, which are missing only in views.
  void ReportIncomplete() {
    const MutexLock lock(mutex_);
    for (const auto& [path, error] : gaps_) {
      const bool untold = failures_ == 0 && error.code != Code::kUnsupported;
      if (!views_ && !untold) continue;
      ++incomplete_;
      Tell(UINT64_MAX, path.empty() ? arguments_.operands.front() : path,
           Within("incomplete", error));
    }
  }

  void AddLink(const SourceTree::File& link, size_t into) {
    const Result<bool> stays = tree_.StaysBelow(top_, link);
    if (stays && *stays) return links_.push_back({link, into});
    Fail(jobs_.size(), link.path,
         stays ? Error{Code::kNotFound,
                       "not written: the link leads out of what is extracted"}
               : stays.error());
  }

  /// Calls `write` for each job until the target is full. `place` is the
  /// position of the first job (see Fail).
  void InParallel(const std::vector<Job>& jobs, uint64_t place,
                  const std::function<Status(const Job&, uint64_t)>& write) {
    ForEachInParallel(jobs.size(), arguments_.jobs, [&](uint64_t i) {
      if (full_) {
        ++left_;
        return;
      }
      const Status written = write(jobs[i], i);
      if (written) return;
      // Reports a full target once: all further writes fail for this reason.
      if (IsFull(written.error()) && full_.exchange(true)) {
        ++left_;
      } else {
        Fail(place + i, jobs[i].file.path, written.error());
      }
    });
  }

  /// Prints and counts a failure. `place` is its position in the order of the
  /// work: files in the order of the tree, then further names, links and
  /// directories. The exit code is that of the failure with the last position,
  /// whatever the order of the threads.
  void Fail(uint64_t place, const std::string& path, const Error& error) {
    const MutexLock lock(mutex_);
    ++failures_;
    Tell(place, path, error);
  }

  void Tell(uint64_t place, const std::string& path, const Error& error)
      CTXFS_REQUIRES(mutex_) {
    progress_.Clear();
    const ExitCode code = PrintError(path, error);
    if (arguments_.json && told_.size() < kMaxTold) {
      told_.push_back({{"path", path}, {"reason", error.Text()}});
    }
    if (place < last_failure_) return;
    last_failure_ = place;
    code_ = code;
  }

  /// Prints the totals and the recorded failures.
  void PrintJson() {
    const MutexLock lock(mutex_);
    const Json counts = {
        {"files", files_.load()},       {"size", bytes_.load()},
        {"complete", complete_.load()}, {"left", left_.load()},
        {"incomplete", incomplete_},    {"failed", failures_},
        {"failures", std::move(told_)}};
    std::fputs(PrintableJson(FormatJson(counts)).c_str(), stdout);
  }

  void PrintCounts() {
    progress_.Clear();
    if (arguments_.json) return PrintJson();
    const auto number = [](uint64_t count) { return std::to_string(count); };
    std::string text = CountOf(files_, "file") + " (" +
                       CountOf(bytes_, "byte") + ") written, " +
                       number(failures_) + " failed";
    if (complete_ > 0)
      text += ", " + number(complete_) +
              (complete_ == 1 ? " was complete" : " were complete");
    if (incomplete_ > 0) {
      text += ", " + number(incomplete_) + " incomplete";
    }
    if (left_ > 0) {
      text += ", " + number(left_) +
              " left out: the target is full, and the same command goes on";
    }
    std::puts(text.c_str());
  }

  /// Whether an earlier run has written the file. Comparing sizes suffices,
  /// because a file gets its name only when it is complete.
  bool IsComplete(const Fd& directory, const std::string& name,
                  uint64_t size) const {
    struct stat st {};
    return !arguments_.replace &&
           ::fstatat(directory.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) ==
               0 &&
           S_ISREG(st.st_mode) && static_cast<uint64_t>(st.st_size) == size;
  }

  /// Bytes to write for a file; 0 if it is complete, nullopt if only decoding
  /// reveals its size.
  std::optional<uint64_t> SizeToWrite(const Job& job) {
    const Result<std::optional<uint64_t>> size = tree_.CheapSize(job.file);
    if (!size || !*size) return std::nullopt;
    const Result<DirectoryFd> directory = target_.Open(job.directory);
    if (!directory) return std::nullopt;
    return IsComplete(**directory, job.file.name(), **size) ? 0 : *size;
  }

  Status Write(const Job& job) {
    const OpenFile open = CTXFS_TRY(tree_.Open(job.file));
    const Content& content = open.content;
    DirectoryFd directory = CTXFS_TRY(target_.Open(job.directory));
    const std::string name = job.file.name();
    if (IsComplete(*directory, name, content.size())) {
      ++complete_;
      return {};
    }
    // Fails before decoding if the name exists. Commit checks again.
    struct stat st {};
    if (!arguments_.replace && ::fstatat(directory->get(), name.c_str(), &st,
                                         AT_SYMLINK_NOFOLLOW) == 0) {
      return SystemError("cannot write", EEXIST);
    }
    CTXFS_TRY(WriteFile(content, tree_.cache(), std::move(directory), name,
                        arguments_.replace, [this](uint64_t bytes) -> Status {
                          // Another thread found the target full.
                          if (full_) return SystemError("cannot write", ENOSPC);
                          progress_.Add(bytes);
                          return {};
                        }));
    ++files_;
    bytes_ += content.size();
    return {};
  }

  /// Links another name to a written file; copies it if the target has no hard
  /// links.
  Status LinkName(const Job& job) {
    const Job& first = jobs_[*job.first];
    if (!written_[*job.first]) {
      return Error{Code::kNotFound, "not written: it is another name of " +
                                        Quote(first.file.path) +
                                        ", which is not"};
    }
    const DirectoryFd from = CTXFS_TRY(target_.Open(first.directory));
    const DirectoryFd to = CTXFS_TRY(target_.Open(job.directory));
    const Result<bool> linked = MakeHardLink(
        {*from, first.file.name()}, {*to, job.file.name()}, arguments_.replace);
    if (linked) return CountLink(*linked);
    const int reason = linked.error().sys_errno;
    const bool no_links = reason == EPERM || reason == EMLINK ||
                          reason == EOPNOTSUPP ||
                          reason == EXDEV;  // Landlock before Linux 5.19
    // An earlier run may have made a copy.
    return no_links || reason == EEXIST ? Write(job) : linked.error();
  }

  Status Link(const Job& job) {
    const std::string target = CTXFS_TRY(tree_.ReadLink(job.file));
    const DirectoryFd directory = CTXFS_TRY(target_.Open(job.directory));
    const Result<bool> made =
        MakeSymlink(*directory, target, job.file.name(), arguments_.replace);
    return made ? CountLink(*made) : made.error();
  }

  Status CountLink(bool made) {
    ++(made ? files_ : complete_);
    return {};
  }

  Status Flush(size_t directory) const {
    const DirectoryFd open = CTXFS_TRY(target_.Open(directory));
    // Some file systems cannot flush directories and need not.
    if (::fsync(open->get()) != 0 && errno != EINVAL) {
      return IoError("cannot write");
    }
    return {};
  }

  SourceTree& tree_;
  TargetTree& target_;
  const Arguments& arguments_;
  const bool views_;
  SourceTree::File top_;                           // links stay below it
  std::map<std::string, size_t> made_;             // created above matches
  std::vector<Job> jobs_;                          // files by first name
  std::vector<Job> names_;                         // further names
  std::vector<Job> links_;                         // symbolic links
  std::unordered_map<Inode, size_t> first_names_;  // numbers in jobs_
  std::vector<std::atomic<bool>> written_;         // of jobs_
  Progress progress_;
  std::atomic<uint64_t> files_ = 0;  // written
  std::atomic<uint64_t> bytes_ = 0;
  std::atomic<uint64_t> complete_ = 0;
  std::atomic<uint64_t> left_ = 0;
  std::vector<std::pair<std::string, Error>> gaps_;  // of containers, by path
  uint64_t incomplete_ = 0;  // containers of which something is missing
  std::atomic<bool> full_ = false;
  Mutex mutex_;
  uint64_t failures_ = 0;
  Json told_ = Json::array();  // the first failures
  uint64_t last_failure_ = 0;
  ExitCode code_ = ExitCode::kOk;
};

/// Copies the files that PATH names in `tree`: all at and below PATH; or, if
/// PATH has patterns, those that match, with paths relative to the part of PATH
/// before the patterns.
ExitCode ExtractFrom(SourceTree& tree, const std::string& path,
                     TargetTree& into, const Arguments& arguments, bool views) {
  const std::string& operand = arguments.operands.front();
  Extractor extractor(tree, into, arguments, views);
  const std::string literal = LiteralPart(tree, path);
  const Result<SourceTree::File> above = FindNamed(tree, literal);
  if (!above) return PrintError(operand, above.error());
  if (LeadsIntoViews(path)) extractor.NoteAbove(*above);
  const auto visit = [&](const SourceTree::File& file, bool matched) -> Status {
    if (matched) {
      extractor.Plan(file, *above);
      return {};
    }
    const SourceTree::File top = CTXFS_TRY(InsideOf(tree, file));
    extractor.Plan(top, top);
    return {};
  };
  const Status found =
      ForEachNamed(tree, path, /*follow=*/true, visit,
                   [&](const std::string& lost, const Error& error) {
                     extractor.Lose(lost, error);
                   });
  if (!found) return PrintError(operand, found.error());
  into.Keep();
  if (Status fits = extractor.CheckRoom(); !fits) {
    return PrintError(arguments.operands.back(), fits.error());
  }
  return extractor.Run();
}

/// Copies from the SOURCE into an existing directory, inside the sandbox.
ExitCode ExtractInto(TargetTree& into, const Arguments& arguments,
                     std::shared_ptr<SpillFile> spill_file) {
  const Target target = ParseTarget(arguments.operands.front());
  // Views duplicate the data, so they are written only on request.
  const bool all = arguments.all || LeadsIntoViews(target.path);
  const ViewSet views = arguments.views.value_or(all ? AllViews() : ViewSet());
  const Result<std::unique_ptr<SourceTree>> tree =
      SourceTree::Open(target.source, arguments.open, views,
                       arguments.list_mode(), LeavingLinks::kRefused);
  if (!tree) return PrintError(target.source, tree.error());
  (*tree)->cache().SpillTo(std::move(spill_file));
  return ExtractFrom(**tree, target.path, into, arguments, !views.empty());
}

int RunExtract(const Arguments& arguments) {
  const std::string& directory = arguments.operands.back();
  Result<TargetTree> into = TargetTree::Make(directory);
  if (!into) return static_cast<int>(PrintError(directory, into.error()));
  ExitCode code = ExitCode::kOk;
  // Confining is irreversible, so another thread does the work; this one can
  // still remove the directory.
  std::thread([&] {
    std::shared_ptr<SpillFile> spill_file = OpenSpillFile();
    ConfineToReading(SourcesOf({arguments.operands.front()}),
                     LeavingLinks::kRefused, into->descriptor());
    code = ExtractInto(*into, arguments, std::move(spill_file));
  }).join();
  into->RemoveIfUnused();
  return static_cast<int>(code);
}

}  // namespace

const Command kExtractCommand{
    .name = "extract",
    .operands = "SOURCE[//PATH] DIR",
    .summary = "Copies files into a directory, verified",
    .run = &RunExtract,
    .options = "ajJFSVKIN",
    .examples =
        "  ctxfs extract model.mosh out\n"
        "  ctxfs extract episode.wshard//views/frames frames\n",
    .kind = OperandKind::kPath,
    .min_operands = 2,
    .max_operands = 2,
    .writes_to_last = true};

}  // namespace ctxfs

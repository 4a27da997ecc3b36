// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/page/report_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "core/io/fd.h"
#include "core/io/io_error.h"
#include "core/report/page.h"

namespace ctxfs {
namespace {

constexpr const char* kStandardOutput = "-";

/// Whether the file begins like a page of ctxfs.
bool IsPage(int fd) {
  std::array<char, kPageMark.size()> begin{};
  return ::pread(fd, begin.data(), begin.size(), 0) ==
             static_cast<ssize_t>(begin.size()) &&
         std::string_view(begin.data(), begin.size()) == kPageMark;
}

/// Fails if the file `name` exists and must not be replaced. Only pages of
/// ctxfs may be replaced, so that a mistyped name destroys nothing else.
Status MayTake(int directory, const std::string& name, bool replace) {
  struct stat there {};
  if (::fstatat(directory, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? Status() : Status(IoError("cannot write"));
  }
  if (!replace) {
    return Error{Code::kIo, "exists already; --replace replaces it"};
  }
  if (!S_ISREG(there.st_mode)) {
    return Error{Code::kIo, "exists and is not a regular file"};
  }
  const Fd file(::openat(directory, name.c_str(),
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat opened {};
  if (!file.ok() || ::fstat(file.get(), &opened) != 0 ||
      !S_ISREG(opened.st_mode) || !IsPage(file.get())) {
    return Error{Code::kIo, "exists and is not a page that ctxfs made"};
  }
  return {};
}

}  // namespace

std::string NameOfPath(const std::string& path) {
  std::error_code failed;
  std::filesystem::path whole = std::filesystem::absolute(path, failed);
  whole = whole.lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  const std::string name = whole.filename().string();
  return name.empty() || name == "/" ? "report" : name;
}

std::string ReportPath(const Arguments& arguments) {
  return arguments.output.empty()
             ? NameOfPath(arguments.operands.front()) + ".html"
             : arguments.output;
}

Result<ReportOutput> ReportOutput::Open(const Arguments& arguments) {
  ReportOutput output(ReportPath(arguments), arguments.replace);
  if (output.path_ == kStandardOutput) return output;
  CTXFS_TRY(output.OpenFile());
  return output;
}

Status ReportOutput::OpenFile() {
  const std::filesystem::path path(path_);
  name_ = path.filename().string();
  if (name_.empty() || name_ == "." || name_ == "..") {
    return SystemError("cannot write", EISDIR);
  }
  const std::string directory =
      path.has_parent_path() ? path.parent_path().string() : ".";
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return IoError("cannot open the directory");
  directory_ = std::make_shared<const Fd>(fd);
  CTXFS_TRY(MayTake(fd, name_, replace_));
  NewFile file = CTXFS_TRY(NewFile::Create(directory_));
  file_.emplace(std::move(file));
  return {};
}

Status ReportOutput::Write(Bytes bytes) {
  return file_ ? file_->Write(bytes)
               : WriteAll(STDOUT_FILENO, bytes, "standard output");
}

Status ReportOutput::Commit() {
  if (!file_) return {};
  // Checked again, because making the page may have taken minutes.
  Status may = MayTake(directory_->get(), name_, replace_);
  return may ? file_->Commit(name_, replace_) : may;
}

}  // namespace ctxfs

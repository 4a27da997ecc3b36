// SPDX-License-Identifier: Apache-2.0
#include "core/cache/store_contents.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <span>

#include "core/base/text/text.h"
#include "core/cache/block_files.h"
#include "core/io/fd.h"
#include "core/io/io_error.h"
#include "core/io/transfer.h"

namespace ctxfs {
namespace {

using block_files::File;

/// Whether a file has the header of a store's file.
bool IsOfStore(int directory, const File& file) {
  const Fd open = block_files::OpenRegular(directory, file.name.c_str());
  std::string head(block_files::kMagic.size(), '\0');
  const MutableBytes bytes = std::as_writable_bytes(std::span(head));
  return open.ok() && PreadAll(open.get(), 0, bytes) &&
         head == block_files::kMagic;
}

/// Visits the files of a store. Stores no names, because there can be 200,000.
class StoreWalk {
 public:
  StoreWalk(int top, bool removes) : top_(top), removes_(removes) {}

  void Run() {
    block_files::ForEachObject(top_,
                               [this](const std::string& name, int directory) {
                                 VisitObject(name, directory);
                               });
  }

  const StoreContents& found() const { return found_; }
  /// The errno of a file that could not be removed; 0 if there is none.
  int failed() const { return failed_; }

 private:
  void VisitObject(const std::string& name, int directory) {
    const StoreContents before = found_;
    block_files::ForEachFile(directory, [&](const File& file) {
      if (file.whole() || IsOfStore(directory, file))
        VisitFile(directory, file);
    });
    if (found_.blocks > before.blocks) ++found_.objects;
    // Removes the directory if it is empty now. A directory in which nothing
    // was found may be foreign, so it stays.
    if (removes_ && found_.bytes > before.bytes) {
      (void)::unlinkat(top_, name.c_str(), AT_REMOVEDIR);
    }
  }

  void VisitFile(int directory, const File& file) {
    if (file.unfinished() && !(removes_ && file.abandoned())) return;
    if (removes_ && !Remove(directory, file)) return;
    found_.blocks += file.blocks;
    if (file.whole()) ++found_.files;
    found_.bytes += file.bytes;
  }

  bool Remove(int directory, const File& file) {
    if (::unlinkat(directory, file.name.c_str(), 0) == 0) return true;
    if (errno != ENOENT) failed_ = errno;  // ENOENT: another process removed it
    return false;
  }

  const int top_;
  const bool removes_;
  StoreContents found_;
  int failed_ = 0;
};

Result<std::optional<StoreContents>> Walk(const std::string& directory,
                                          bool removes) {
  const Result<Fd> top = block_files::OpenTop(directory);
  if (!top && top.error().sys_errno == ENOENT) return {std::nullopt};
  if (!top) return top.error();
  StoreWalk walk(top->get(), removes);
  walk.Run();
  if (walk.failed() == 0) return {walk.found()};
  return SystemError("cannot remove all blocks in " + Quote(directory),
                     walk.failed());
}

}  // namespace

Result<std::optional<StoreContents>> CountStore(const std::string& directory) {
  return Walk(directory, /*removes=*/false);
}

Result<std::optional<StoreContents>> ClearStore(const std::string& directory) {
  return Walk(directory, /*removes=*/true);
}

}  // namespace ctxfs

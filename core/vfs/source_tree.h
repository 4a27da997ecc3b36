// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/interrupt.h"
#include "core/base/limits.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/content/block_cache.h"
#include "core/content/read_context.h"
#include "core/content/verdict.h"
#include "core/vfs/namespace.h"
#include "core/views/view.h"

namespace ctxfs {

/// An operand SOURCE//PATH.
struct Target {
  std::string source;
  std::string path;  // below `source`, without slashes at its ends; empty: all
};
Target ParseTarget(const std::string& argument);
std::vector<std::string> SourcesOf(const std::vector<std::string>& arguments);

/// How a plain directory treats links that lead out of it. Links that a
/// container names always follow docs/tree.md, section 10.
enum class LeavingLinks : uint8_t { kFollowed, kRefused };

/// Limits of the requests of a SourceTree.
struct RequestLimits {
  uint64_t cache_bytes = 256 * limits::kMiB;
  /// Whether the damage of a container is logged when it is opened. A command
  /// that prints it needs no log.
  bool logs_damage = true;
  /// Interrupts requests. It must outlive the tree.
  const Interrupt* interrupt = &NeverInterrupted();
};

/// A source as a mount with `flat` shows it, without FUSE and without the
/// mount's own files. If the source is a container, the tree of its files is
/// made when a call first needs it; until then ContainerOf returns the
/// container without one.
class SourceTree {
 public:
  /// `list` selects the names that ForEach visits. If `links` is kRefused, Find
  /// fails for a link that leads out of a plain directory.
  static Result<std::unique_ptr<SourceTree>> Open(
      const std::string& source, const OpenOptions& options,
      const ViewSet& views, ListMode list,
      LeavingLinks links = LeavingLinks::kFollowed,
      const RequestLimits& limits = {}, ServerWait* waits = nullptr);

  /// A file or a directory of the tree.
  struct File {
    std::string path;  // below the source; empty for the source itself
    Inode inode;
    bool directory;
    bool link = false;        // a symbolic link
    bool has_others = false;  // names with the same inode: hard links

    std::string name() const { return path.substr(path.rfind('/') + 1); }
  };

  /// Follows symbolic links, the last component only if `follow` is set. Fails
  /// with kNotFound if `path` does not exist.
  Result<File> Find(std::string_view path, bool follow = true,
                    ServerWait* waits = nullptr);

  /// For a container that is shown as a file, or as a folder with its own
  /// files: the directory with its contents, which most listings leave out
  /// (ListMode). It is NAME~dir beside the file in a mirrored directory, or
  /// views/NAME~dir in the container that has the file (docs/tree.md, sections
  /// 1 and 4). kNotFound if there is none.
  Result<File> FindInside(const File& file, ServerWait* waits = nullptr);
  /// Returns the container that a file or directory is. Fails with
  /// kNotContainer if it is no container, and with another error if it cannot
  /// be opened. If it does not parse, returns an UnreadableContainer.
  Result<std::shared_ptr<const Container>> ContainerOf(
      const File& file, ServerWait* waits = nullptr);
  /// Whether a file or directory is outside of all containers. False for a
  /// directory that is a container itself.
  bool IsMirrored(const File& file);
  using VisitContainer = std::function<void(
      const std::string& path,
      const Result<std::shared_ptr<const Container>>& container)>;
  /// Calls `visit` with each container at or below `top`, or with the error of
  /// opening it, except containers nested in another one that is visited.
  /// `path` is the path of the file or directory that is the container. The
  /// names of a directory are sorted in memory. Follows links to files and
  /// containers. Fails if a directory cannot be listed, or if interrupted.
  Status ForEachContainer(const File& top, const VisitContainer& visit);

  Result<std::string> ReadLink(const File& link, ServerWait* waits = nullptr);
  /// Whether both a link and its target are below the directory `top`.
  Result<bool> StaysBelow(const File& top, const File& link);

  /// How `visit` of ForEach may use its File: with kNamed, only `path` and
  /// `directory`. In an object store, ForEach then reads no file except those
  /// whose name is a container's.
  enum class Children : uint8_t { kFound, kNamed };

  /// Calls `visit` with each child of `directory`, in the order of the
  /// container, until a call fails. Decodes nothing. Calls `lost` with each
  /// child that cannot be found; without `lost`, the first such error stops the
  /// listing.
  Status ForEach(const File& directory,
                 const std::function<Status(const File&)>& visit,
                 const std::function<void(const std::string& path,
                                          const Error& error)>& lost = nullptr,
                 Children children = Children::kFound,
                 ServerWait* waits = nullptr);

  /// Returns the size of a file in bytes. This may generate or decode it.
  Result<uint64_t> Size(const File& file);
  /// Like Size; nullopt if computing it may decode the file.
  Result<std::optional<uint64_t>> CheapSize(const File& file);
  Result<OpenFile> Open(const File& file, ServerWait* waits = nullptr);
  Result<std::optional<EntryInfo>> Describe(const File& file,
                                            ServerWait* waits = nullptr);
  /// The container at a directory; fails with kNotContainer if there is none.
  Result<std::shared_ptr<const Container>> ContainerAt(
      const File& directory, ServerWait* waits = nullptr);
  Result<Attributes> Examine(const File& file, ServerWait* waits = nullptr);
  /// EntryXattrs of a file; empty if there are none.
  Result<std::vector<std::pair<std::string, std::string>>> Xattrs(
      const File& file, ServerWait* waits = nullptr);

  BlockCache& cache() { return cache_; }
  /// A request for a call. `waits`, as in all functions here, is the time that
  /// all parts of a call together may wait for servers; null: each fetch has
  /// its own timeout.
  ReadContext context(ServerWait* waits = nullptr) {
    return {cache_, Request(*interrupt_, waits)};
  }

 private:
  /// Returns how the files of the source are shown; `container` is null if the
  /// source is a directory.
  using Show = std::function<Shown(std::shared_ptr<const Container> container)>;

  SourceTree(Show show, bool of_store, const RequestLimits& limits)
      : of_store_(of_store),
        interrupt_(limits.interrupt),
        cache_(limits.cache_bytes),
        show_(std::move(show)) {}

  /// The files; the first call makes them if the source is a container. Fails
  /// with Namespace::status.
  Result<const Namespace*> Files(const ReadContext& context);
  /// The container that is the source, if Files was not called and the
  /// container is unchanged; else null.
  std::shared_ptr<const Container> Alone();

  bool NeedsLookup(const Listing::Name& name, Children children) const;
  /// Looks up many names of a listing in parallel if their type is unknown and
  /// needed: each look-up is a request to a server.
  void LookAhead(const Namespace& files, const File& directory,
                 const Listing& listing, Children children,
                 const ReadContext& context) const;

  /// For a file in a container: the path in views/ of the directory that shows
  /// its contents if it is a container itself. Empty if its name does not have
  /// an extension of containers.
  Result<std::string> PathInViews(const File& file, ServerWait* waits);

  struct Walk {
    std::vector<File> way;  // from the start to the current one
    std::string rest;       // of the path
    unsigned links = 0;     // followed so far
    bool leaves = false;    // ".." has led above the start
  };
  /// Resolves `walk` to its end. Fails with kNotFound if a part of the way does
  /// not exist, if ".." leads above the start anywhere on it, or after 40
  /// links.
  Status Go(Walk& walk, bool follow, ServerWait* waits);
  Status GoTo(Walk& walk, std::string_view name, bool follow,
              ServerWait* waits);

  const bool of_store_;  // the source is a URL
  const Interrupt* interrupt_;
  BlockCache cache_;
  const Show show_;
  const uint64_t owner_ = NewOwner();  // of the key of making files_
  Mutex mutex_;
  /// The container that is the source, until files_ has it.
  std::shared_ptr<const Container> alone_ CTXFS_GUARDED_BY(mutex_);
  std::unique_ptr<Namespace> files_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs

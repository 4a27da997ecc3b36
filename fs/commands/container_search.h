// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/format.h"
#include "core/io/source.h"
#include "core/io/urls/url.h"
#include "core/vfs/source_tree.h"

namespace ctxfs {

/// A container of a SOURCE, or a file whose name claims a container.
struct FoundContainer {
  std::string path;
  size_t source = 0;     // number of the SOURCE
  bool named = false;    // it is the SOURCE itself
  bool matched = false;  // a pattern of SOURCE//PATH names it
  std::string mounted;   // where a mount of the SOURCE shows it
  bool other = false;    // it is no container (ContainerSearch::Others::kFound)
  /// Why it cannot be examined, for instance because the SOURCE does not exist
  /// or a directory cannot be listed.
  std::optional<Error> error = std::nullopt;
  /// Whether `error` only says that no container is at or below a SOURCE//PATH.
  /// PATH may then be a file of a container.
  bool no_container = false;
  /// The source of an object of a server, which the search has opened: opening
  /// it again would cost a request. The search leaves this null for local
  /// files, because a process may have few descriptors.
  SourcePtr opened = nullptr;
  /// The container, if it is at or below a SOURCE//PATH and `tree` has opened
  /// it. Null: the caller must open the container at `path`.
  std::shared_ptr<const Container> container = nullptr;
  std::shared_ptr<SourceTree> tree = nullptr;  // of `container`
  uint64_t turn = 0;                           // from NextInTurn

  /// Closes everything that it holds open.
  void Close() { opened = nullptr, container = nullptr, tree = nullptr; }

  /// `path` as shown to the user: without the query of a URL, which may hold a
  /// signature.
  std::string shown() const { return WithoutQuery(path); }

  /// The path of a file of the container in a manifest of the SOURCE
  /// (DigestManifest).
  std::string PathOf(const std::string& file) const { return above() + file; }
  std::string above() const { return named ? "" : mounted + "/"; }
};

/// Finds the containers that a command works on: each SOURCE that is a file or
/// a container, all containers below each SOURCE that is another directory, and
/// all containers at or below each SOURCE//PATH, where PATH is a path in a
/// mount of SOURCE. A file in a directory counts if it opens as a container, or
/// if its name claims a container (docs/commands.md, section 1). Links to files
/// are followed, links to directories are not. A blob of the hub's cache is
/// found by its first name, and the other directories of that cache are left
/// out, because they have no models. Takes memory for the names of one
/// directory of each level, for the identity of each file that a link leads to,
/// and for the names of blobs. Thread-safe.
class ContainerSearch {
 public:
  /// Whether files of a directory that are no containers are found, too.
  enum class Others : uint8_t { kPassedOver, kFound };

  ContainerSearch(const std::vector<std::string>& sources,
                  const OpenOptions& open, Others others = Others::kPassedOver);

  /// Returns the next container, in the order of the SOURCEs and of the names
  /// in a directory; nullopt after the last one.
  std::optional<FoundContainer> Next();

  /// Like Next, for threads that must conclude containers in the order in which
  /// they are found. Each container has a turn, which lasts until EndTurn.
  std::optional<FoundContainer> NextInTurn();
  /// Whether `turn` lasts and all turns before it have ended.
  bool IsFirstTurn(uint64_t turn) const;
  void EndTurn(uint64_t turn);

  /// Whether a SOURCE is searched, so that files may be passed over. The
  /// results of this and of the following functions are final once Next has
  /// returned nullopt.
  bool searched() const;
  /// Regular files that are no containers.
  uint64_t others() const;
  /// Directories whose files huggingface_hub may have listed (CommitTrees).
  std::vector<std::string> commits() const;
  /// A further name of a blob, which was found by its first name.
  struct OtherName {
    std::string path;
    std::string first;
  };
  std::vector<OtherName> other_names() const;
  /// The SOURCEs that were searched and have no container.
  std::vector<std::string> Empty() const;

 private:
  struct Source {
    std::string path;
    std::string real = {};  // without links, with a slash; empty: not searched
    uint64_t found = 0;
  };
  struct Name {
    std::string name;
    std::filesystem::file_type type;
  };
  struct Level {
    std::string path;
    std::vector<Name> names;  // in reverse order; the last is the next
    bool foreign;  // of another program's data set: names claim nothing
  };
  /// A container at or below a SOURCE//PATH.
  struct Inside {
    std::shared_ptr<SourceTree> tree;
    std::string path;  // in the tree
    bool matched;      // FoundContainer::matched
    /// The container or its error, if the search has opened it already.
    std::optional<Result<std::shared_ptr<const Container>>> opened;
    FoundContainer found = {};
  };
  /// Whether a file is a link, and whether its target is inside the SOURCE,
  /// where the search finds it by its own name, or outside. A blob of the hub's
  /// cache counts as outside.
  enum class Link { kNone, kInside, kOutside };
  /// A file whose bytes are to be examined.
  struct File {
    std::string path;
    Link link = Link::kNone;
    bool foreign = false;  // as Level::foreign
  };
  enum class Kind { kOther, kPassedOver, kInPlace, kBeside };
  using Step = std::variant<std::monostate, File, FoundContainer, Inside>;

  /// Finds out what a file is: by its name, by its first bytes and, if these do
  /// not decide, by opening it. Sets `kept` to the value of
  /// FoundContainer::opened.
  static Kind KindOf(const File& file, SourcePtr& kept);
  /// Takes the next name; nullopt after the last one.
  std::optional<Step> Take() CTXFS_REQUIRES(mutex_);
  /// Whether `name` in `level` is a directory of the hub's client, in its cache
  /// or in a directory that it has downloaded into, in which no file has the
  /// name of a model.
  static bool IsOfHub(const Level& level, std::string_view name);
  Step StartSource() CTXFS_REQUIRES(mutex_);
  Step TakeDirectory(const std::string& path, bool foreign)
      CTXFS_REQUIRES(mutex_);
  /// Like TakeDirectory, for a directory of a store.
  Step TakePrefix(const std::string& url, bool foreign) CTXFS_REQUIRES(mutex_);
  Step TakeLink(const std::string& path) CTXFS_REQUIRES(mutex_);
  /// Returns the container that a step leads to; nullopt if there is none.
  std::optional<FoundContainer> Conclude(Step step) CTXFS_REQUIRES(mutex_);
  /// Lists the containers at or below the current SOURCE//PATH.
  Step StartInside(const Target& target) CTXFS_REQUIRES(mutex_);
  static Result<std::deque<Inside>> ContainersIn(const Target& target,
                                                 const OpenOptions& open);
  /// Opens a container at or below a SOURCE//PATH.
  static FoundContainer OpenInside(const Inside& inside);
  /// Returns a container of the current SOURCE.
  FoundContainer Found(const std::string& path) const CTXFS_REQUIRES(mutex_);
  /// Like Found, for a directory that is a container.
  FoundContainer FoundDirectory(const std::string& path,
                                const Format& format) const
      CTXFS_REQUIRES(mutex_);

  const OpenOptions open_;
  const Others find_others_;
  mutable Mutex mutex_;
  std::vector<Source> sources_ CTXFS_GUARDED_BY(mutex_);
  size_t started_ CTXFS_GUARDED_BY(mutex_) = 0;        // number of SOURCEs
  std::set<uint64_t> turns_ CTXFS_GUARDED_BY(mutex_);  // that have not ended
  uint64_t next_turn_ CTXFS_GUARDED_BY(mutex_) = 0;
  std::vector<Level> levels_ CTXFS_GUARDED_BY(mutex_);
  std::deque<Inside> inside_ CTXFS_GUARDED_BY(mutex_);
  /// Device and inode of the files that links lead to.
  std::set<std::pair<uint64_t, uint64_t>> linked_ CTXFS_GUARDED_BY(mutex_);
  /// First names of blobs, by device, inode and name of the blob. The name is
  /// part of the key, because blobs of two repositories may be links to one
  /// file of the hub's cache and have different digests as names.
  std::map<std::tuple<uint64_t, uint64_t, std::string>, std::string> blobs_
      CTXFS_GUARDED_BY(mutex_);
  std::vector<OtherName> other_names_ CTXFS_GUARDED_BY(mutex_);
  std::vector<std::string> commits_ CTXFS_GUARDED_BY(mutex_);
  uint64_t others_ CTXFS_GUARDED_BY(mutex_) = 0;
};

/// Returns the container that was found, or the reason why it cannot be
/// examined.
Result<std::shared_ptr<const Container>> ContainerOf(
    const FoundContainer& found, const OpenOptions& open);

/// The Error of the SOURCE at `path`, which was searched and has no container.
Error NoContainerIn(const std::string& path);

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/content/block_cache.h"
#include "core/vfs/file_handle.h"
#include "core/vfs/namespace.h"
#include "tests/model/random.h"
#include "tests/model/world.h"

namespace ctxfs::model {

/// Plays the kernel of one mount: looks names up and forgets them, opens,
/// reads and lists at random, and compares each answer of the namespace with
/// what the world is and was. One thread.
///
/// What must hold, by what happened since the file was looked up or opened:
///   nothing, or its change time alone moved: every answer is right;
///   it was rewritten with its old size and time: an error, or the new bytes;
///   it was changed otherwise, or replaced: kStale;
///   it was removed or renamed: kStale for its name; what is open stays right.
class Kernel {
 public:
  /// `root` is the inode that shows the world's root.
  Kernel(Namespace& files, BlockCache& cache, World& world, Inode root,
         uint64_t seed);

  /// One random operation; its description. The first wrong answer is kept.
  std::string Step();

  /// Releases and forgets everything.
  void DropAll();

  /// The world has changed: notes what may not be trusted from now on.
  void ObserveChange();

  const std::optional<std::string>& complaint() const { return complaint_; }
  /// How often each kind of answer was seen, to show that all are reached.
  const std::map<std::string, uint64_t>& counts() const { return counts_; }

 private:
  enum class State { kSame, kTouched, kForged, kChanged, kGone };

  /// A name by which an inode was looked up.
  struct Place {
    Inode parent = 0;
    std::string name;
    std::string path;  // below the world's root; of the container for `inner`
  };
  /// An inode that was looked up and not forgotten.
  struct Held : Place {
    std::vector<Place> others;  // of a shared inode, in no order
    std::string inner;      // below the container's directory; "" for itself
    bool mirrored = false;  // a file or directory of the world
    bool shared = false;    // a plain file's, all of whose names have it
    std::shared_ptr<Node> node;
    Version as_of;           // when it was looked up last
    bool disturbed = false;  // it was another file for a while
    uint64_t lookups = 0;
    uint64_t number = 0;  // in the order they were looked up first
    unsigned users = 0;   // children, open files and listings
  };
  struct Handle {
    Inode inode = 0;
    std::unique_ptr<FileHandle> file;
    std::string path;
    std::string inner;
    bool mirrored = false;
    std::shared_ptr<Node> node;
    Version as_of;  // when it was opened
    bool disturbed = false;
    bool forged = false;
    bool nameless = false;  // opened when another file had its name already
  };
  struct OpenListing {
    Inode inode = 0;
    std::unique_ptr<Listing> listing;
    /// The world's count of changes when its types were found out, or before.
    std::optional<uint64_t> taken_at = std::nullopt;
  };

  using Found = std::optional<FoundNode>;

  Held& At(Inode inode) { return held_.at(inode); }
  bool IsContainer(const Held& held) const;
  bool IsDirectory(const Held& held) const;
  State StateOf(const Held& held) const;
  bool AncestorsAreSame(const Place& place) const;
  /// Whether the file at an inode is shown at a place.
  bool IsAt(const Held& held, const Place& place) const;
  /// Makes a name that the file still has that of a shared inode.
  void ChoosePlace(Held& held) const;
  /// Whether every answer about it must be right.
  bool IsSound(const Held& held) const;
  /// What a path in a container was in any of the versions that the daemon may
  /// have seen under the inode.
  std::vector<const Shown*> Possible(const Held& held,
                                     const std::string& inner) const;
  const Shown* ShownAt(size_t sample, const std::string& inner) const;

  std::string Walk();
  std::string LookupRandomName();
  std::string GetAttributes();
  std::string OpenFile();
  std::string OpenInode(Inode inode);
  std::string ReadFile();
  std::string ReleaseFile();
  std::string OpenDirectory();
  std::string ListDirectory();
  std::string ReleaseDirectory();
  std::string Forget();

  /// Looks `name` up and checks the answer; the inode, if there is one.
  std::optional<Inode> Lookup(Inode directory, const std::string& name);
  void CheckLookupInWorld(const Held& directory, const std::string& name,
                          const Result<Found>& found);
  void CheckLookupInContainer(const Held& directory, const std::string& name,
                              const Result<Found>& found);
  void Hold(Inode directory, const std::string& name, const FoundNode& found);
  /// Gives an inode the name of a look-up. Whether it may have it.
  bool NotePlace(Held& held, Place place, bool shared);
  /// No other inode of names that are held may be the same plain file's.
  void CheckNoOther(const Held& held);
  void CheckAttributes(Inode inode, const Result<Attributes>& got);
  /// Whether a file that was opened at `inode`, and is still open, has these
  /// attributes: stat finds it after its name is gone or another file's.
  bool IsOfOpenFile(Inode inode, const Attributes& got) const;
  void CheckOpen(const Held& held, const Result<ctxfs::OpenFile>& file);
  void CheckRead(const Handle& handle, uint64_t offset, size_t length,
                 const Result<std::string>& got);
  /// Of a plain file of the world, which reads as it is now.
  void CheckLiveRead(const Handle& handle, uint64_t offset, size_t length,
                     const Result<std::string>& got);
  void CheckListing(Inode directory, const std::vector<Listing::Name>& names,
                    bool fresh);
  /// The world's count of changes when the oldest listing of a directory was
  /// taken. Others that list it now may share its types and inodes, as long as
  /// no name of the directory changes.
  uint64_t OldestListing(Inode directory) const;
  bool Matches(const Attributes& got, const Node& node) const;

  void DropUser(Inode inode) { --At(inode).users; }
  void ForgetOne(Inode inode, uint64_t count);
  std::optional<Inode> RandomHeld(bool directory);
  void Count(const std::string& what) { ++counts_[what]; }
  void Complain(const std::string& what);
  std::string Name(const Held& held) const;
  ReadContext Context() const {
    return {cache_, Request(NeverInterrupted(), nullptr, caller_)};
  }

  Namespace& files_;
  BlockCache& cache_;
  World& world_;
  const Inode root_;
  Random random_;
  std::map<Inode, Held> held_;
  /// By number: inode numbers differ from run to run, the sequence must not.
  std::map<uint64_t, Inode> in_order_;
  uint64_t next_number_ = 0;
  std::map<std::pair<Inode, std::string>, Inode> children_;
  // A new one for each step: what a look-up found helps the opens of its own
  // caller for 250 ms, which would make answers depend on the clock.
  uint64_t caller_;
  std::vector<Handle> handles_;
  std::vector<OpenListing> listings_;
  std::optional<std::string> complaint_;
  std::map<std::string, uint64_t> counts_;
};

}  // namespace ctxfs::model

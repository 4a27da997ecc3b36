// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/model/random.h"
#include "tests/model/samples.h"

namespace ctxfs::model {

constexpr int64_t kNsPerSecond = 1'000'000'000;

/// The path of `name` in `directory`, which is empty for the root.
inline std::string Join(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

/// What stat says of a file, and which sample its bytes are.
struct Version {
  dev_t device = 0;
  ino_t inode = 0;
  int64_t size = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  size_t sample = 0;

  bool SameFile(const Version& other) const {
    return device == other.device && inode == other.inode;
  }
  /// Whether only the bytes and the change time may differ.
  bool LooksLike(const Version& other) const {
    return SameFile(other) && size == other.size && mtime_ns == other.mtime_ns;
  }
};

/// A file or directory of the source directory.
struct Node {
  bool directory = false;
  Version now;         // of a file; of a directory only device and inode
  uint32_t names = 1;  // of a file: its hard links
  /// All versions of a file so far, of its predecessor of the same inode
  /// number too where size and time are that one's.
  std::vector<Version> history = {};
  std::map<std::string, std::shared_ptr<Node>> children = {};
};

/// A source directory on disk, and what is in it. Every change is made to both.
/// Each change of a file moves its change time, so that the daemon can see it:
/// on kernels that count time in ticks the world waits for the next one.
class World {
 public:
  /// Fills the empty directory `root`. `tame`: no file gets other bytes with
  /// its old size and time.
  /// `links`: files get hard links. Worlds in one file system have none: a file
  /// that reuses the number of another world's removed file would be the same
  /// inode of the mirror.
  World(std::string root, const Samples& samples, uint64_t seed, bool tame,
        bool links);

  /// Makes one random change and returns its description.
  std::string Mutate();

  /// The node at a path relative to the root, "" for the root; null for none.
  std::shared_ptr<Node> Find(std::string_view path) const;

  /// All directories' paths, the root's "" first.
  std::vector<std::string> Directories() const;

  const Sample& SampleOf(const Node& file) const {
    return samples_.at(file.now.sample);
  }
  const Samples& samples() const { return samples_; }
  uint64_t changes() const { return changes_; }

  /// The names that files and directories are given.
  static const std::vector<std::string>& Names();

 private:
  std::string OnDisk(const std::string& path) const {
    return root_ + "/" + path;
  }
  std::string RandomDirectory();
  /// A path in a random directory; a name of a file there, where it has any.
  std::string RandomPath();
  std::string RandomFile();
  size_t RandomSample();
  /// One of the same size as `sample`, for a file that keeps its time.
  size_t Alike(size_t sample);

  void Write(const std::string& path, size_t sample, int flags);
  void SetMtime(const std::string& path, int64_t mtime_ns);
  /// Reads what stat says now; waits until the change time has moved.
  void Refresh(const std::string& path, Node& node);
  void Insert(const std::string& path, std::shared_ptr<Node> node);
  void Erase(const std::string& path);
  std::vector<std::string> Files() const;
  /// A file lost one of its names, or all: reads what stat says of it now.
  void NoteNameGone(Node& node);

  std::string Create(const std::string& path);
  std::string ReplaceByRename(const std::string& path);
  std::string RemoveAndCreateAlike(const std::string& path);
  std::string Rewrite(const std::string& path);
  std::string Forge(const std::string& path);
  std::string Truncate(const std::string& path);
  std::string Remove(const std::string& path);
  std::string Link(const std::string& path);
  std::string Rename(const std::string& path);
  std::string Chmod(const std::string& path);
  std::string Touch(const std::string& path);
  std::string MakeDirectory(const std::string& path);
  std::string RemoveDirectory(const std::string& path);
  std::string RenameDirectory(const std::string& path);

  const std::string root_;
  const Samples& samples_;
  const bool tame_;
  const bool links_;
  Random random_;
  std::shared_ptr<Node> top_;
  int64_t last_ctime_ns_ = 0;
  uint64_t changes_ = 0;
};

}  // namespace ctxfs::model

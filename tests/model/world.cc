// SPDX-License-Identifier: Apache-2.0
#include "tests/model/world.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

namespace ctxfs::model {
namespace {

constexpr size_t kMaxDirectories = 6;

/// The model's own system calls must work; a failure is no finding.
void Require(bool done, const std::string& what) {
  if (done) return;
  std::fprintf(stderr, "model: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(2);
}

int64_t Nanoseconds(const timespec& time) {
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

std::string ParentOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return std::string(slash == path.npos ? "" : path.substr(0, slash));
}

std::string NameOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return std::string(slash == path.npos ? path : path.substr(slash + 1));
}

}  // namespace

const std::vector<std::string>& World::Names() {
  static const std::vector<std::string> names = {"a", "b.shard", "c", "d",
                                                 "e", "f.mcf",   "g", "h"};
  return names;
}

World::World(std::string root, const Samples& samples, uint64_t seed, bool tame,
             bool links)
    : root_(std::move(root)),
      samples_(samples),
      tame_(tame),
      links_(links),
      random_(seed),
      top_(std::make_shared<Node>()) {
  top_->directory = true;
  for (int i = 0; i < 12; ++i) Create(RandomPath());
}

std::shared_ptr<Node> World::Find(std::string_view path) const {
  std::shared_ptr<Node> node = top_;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    const auto child = node->children.find(std::string(path.substr(0, end)));
    if (child == node->children.end()) return nullptr;
    node = child->second;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return node;
}

std::vector<std::string> World::Directories() const {
  std::vector<std::string> paths = {""};
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::string path = paths[i];
    for (const auto& [name, child] : Find(path)->children) {
      if (child->directory) paths.push_back(Join(path, name));
    }
  }
  return paths;
}

std::string World::RandomDirectory() {
  const std::vector<std::string> all = Directories();
  return all[random_.Below(all.size())];
}

std::string World::RandomPath() {
  return Join(RandomDirectory(), Names()[random_.Below(Names().size())]);
}

std::vector<std::string> World::Files() const {
  std::vector<std::string> files;
  for (const std::string& path : Directories()) {
    for (const auto& [name, child] : Find(path)->children) {
      if (!child->directory) files.push_back(Join(path, name));
    }
  }
  return files;
}

std::string World::RandomFile() {
  const std::vector<std::string> files = Files();
  return files.empty() ? "" : files[random_.Below(files.size())];
}

size_t World::RandomSample() { return random_.Below(samples_.count()); }

size_t World::Alike(size_t sample) {
  const std::vector<size_t>& alike = samples_.SameSize(sample);
  return tame_ ? sample : alike[random_.Below(alike.size())];
}

void World::Write(const std::string& path, size_t sample, int flags) {
  const std::string& bytes = samples_.at(sample).bytes;
  const int fd =
      ::open(OnDisk(path).c_str(), O_WRONLY | O_CLOEXEC | flags, 0644);
  Require(fd >= 0, "open " + path);
  Require(::write(fd, bytes.data(), bytes.size()) ==
              static_cast<ssize_t>(bytes.size()),
          "write " + path);
  Require(::close(fd) == 0, "close " + path);
}

void World::SetMtime(const std::string& path, int64_t mtime_ns) {
  const timespec times[2] = {
      {0, UTIME_OMIT}, {mtime_ns / kNsPerSecond, mtime_ns % kNsPerSecond}};
  Require(::utimensat(AT_FDCWD, OnDisk(path).c_str(), times, 0) == 0,
          "utimensat " + path);
}

void World::Refresh(const std::string& path, Node& node) {
  while (true) {
    struct stat st {};
    Require(::stat(OnDisk(path).c_str(), &st) == 0, "stat " + path);
    node.now.device = st.st_dev;
    node.now.inode = st.st_ino;
    node.now.size = st.st_size;
    node.now.mtime_ns = Nanoseconds(st.st_mtim);
    node.now.ctime_ns = Nanoseconds(st.st_ctim);
    node.names = static_cast<uint32_t>(st.st_nlink);
    if (node.directory || node.now.ctime_ns > last_ctime_ns_) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Require(::chmod(OnDisk(path).c_str(), st.st_mode & 0777) == 0,
            "chmod " + path);
  }
  last_ctime_ns_ = std::max(last_ctime_ns_, node.now.ctime_ns);
  if (!node.directory) node.history.push_back(node.now);
}

void World::Insert(const std::string& path, std::shared_ptr<Node> node) {
  Find(ParentOf(path))->children[NameOf(path)] = std::move(node);
}

void World::Erase(const std::string& path) {
  Find(ParentOf(path))->children.erase(NameOf(path));
}

void World::NoteNameGone(Node& node) {
  for (const std::string& path : Files()) {
    if (Find(path).get() == &node) return Refresh(path, node);
  }
}

std::string World::Mutate() {
  using Change = std::string (World::*)(const std::string&);
  // Each as often as it is listed.
  static const std::vector<Change> kOfFiles = {&World::ReplaceByRename,
                                               &World::ReplaceByRename,
                                               &World::RemoveAndCreateAlike,
                                               &World::RemoveAndCreateAlike,
                                               &World::Rewrite,
                                               &World::Rewrite,
                                               &World::Forge,
                                               &World::Forge,
                                               &World::Truncate,
                                               &World::Remove,
                                               &World::Link,
                                               &World::Link,
                                               &World::Rename,
                                               &World::Chmod,
                                               &World::Chmod,
                                               &World::Touch};
  ++changes_;
  const std::string file = RandomFile();
  if (file.empty() || random_.OneIn(6)) {
    const std::string path = RandomPath();
    const std::shared_ptr<Node> there = Find(path);
    if (there == nullptr) {
      const bool full = Directories().size() >= kMaxDirectories;
      return !full && random_.OneIn(3) ? MakeDirectory(path) : Create(path);
    }
    if (there->directory) {
      return random_.OneIn(2) ? RemoveDirectory(path) : RenameDirectory(path);
    }
    return ReplaceByRename(path);
  }
  return (this->*kOfFiles[random_.Below(kOfFiles.size())])(file);
}

std::string World::Create(const std::string& path) {
  if (Find(path) != nullptr) return "nothing";
  auto node = std::make_shared<Node>();
  node->now.sample = RandomSample();
  Write(path, node->now.sample, O_CREAT | O_EXCL);
  Refresh(path, *node);
  Insert(path, node);
  return "create " + path + " as " + SampleOf(*node).name;
}

std::string World::ReplaceByRename(const std::string& path) {
  auto node = std::make_shared<Node>();
  node->now.sample = RandomSample();
  Write("temporary", node->now.sample, O_CREAT | O_EXCL);
  Require(::rename(OnDisk("temporary").c_str(), OnDisk(path).c_str()) == 0,
          "rename to " + path);
  Refresh(path, *node);
  const std::shared_ptr<Node> old = Find(path);
  Insert(path, node);
  NoteNameGone(*old);
  return "replace " + path + " by " + SampleOf(*node).name;
}

// As cp -p and reproducible builds do: the size and the time are the old
// file's, and so, on most file systems, is the inode number.
std::string World::RemoveAndCreateAlike(const std::string& path) {
  const std::shared_ptr<Node> before = Find(path);
  const Version old = before->now;
  auto node = std::make_shared<Node>();
  node->history = before->history;
  node->now.sample = Alike(old.sample);
  Require(::unlink(OnDisk(path).c_str()) == 0, "unlink " + path);
  Write(path, node->now.sample, O_CREAT | O_EXCL);
  SetMtime(path, old.mtime_ns);
  Refresh(path, *node);
  Insert(path, node);
  NoteNameGone(*before);
  return "remove " + path + " and create it with the old size and time as " +
         SampleOf(*node).name;
}

std::string World::Rewrite(const std::string& path) {
  const std::shared_ptr<Node> node = Find(path);
  const auto& alike = samples_.SameSize(node->now.sample);
  node->now.sample =
      random_.OneIn(2) ? RandomSample() : alike[random_.Below(alike.size())];
  Write(path, node->now.sample, O_TRUNC);
  Refresh(path, *node);
  return "rewrite " + path + " in place as " + SampleOf(*node).name;
}

std::string World::Forge(const std::string& path) {
  const std::shared_ptr<Node> node = Find(path);
  const int64_t mtime_ns = node->now.mtime_ns;
  node->now.sample = Alike(node->now.sample);
  Write(path, node->now.sample, 0);
  SetMtime(path, mtime_ns);
  Refresh(path, *node);
  return "rewrite " + path + " in place with the old size and time as " +
         SampleOf(*node).name;
}

std::string World::Truncate(const std::string& path) {
  const std::shared_ptr<Node> node = Find(path);
  const std::optional<size_t> cut = samples_.Cut(node->now.sample);
  if (!cut) return "nothing";
  node->now.sample = *cut;
  const auto size = static_cast<off_t>(SampleOf(*node).bytes.size());
  Require(::truncate(OnDisk(path).c_str(), size) == 0, "truncate " + path);
  Refresh(path, *node);
  return "truncate " + path + " to " + std::to_string(size);
}

std::string World::Remove(const std::string& path) {
  const std::shared_ptr<Node> node = Find(path);
  Require(::unlink(OnDisk(path).c_str()) == 0, "unlink " + path);
  Erase(path);
  NoteNameGone(*node);
  return "remove " + path;
}

std::string World::Link(const std::string& path) {
  const std::string to = RandomPath();
  if (!links_ || Find(to) != nullptr) return "nothing";
  const std::shared_ptr<Node> node = Find(path);
  Require(::link(OnDisk(path).c_str(), OnDisk(to).c_str()) == 0,
          "link " + path);
  Refresh(to, *node);
  Insert(to, node);
  return "link " + to + " to " + path;
}

std::string World::Rename(const std::string& path) {
  const std::string to = RandomPath();
  const std::shared_ptr<Node> node = Find(path);
  const std::shared_ptr<Node> there = Find(to);
  // To rename one hard link of a file to another does nothing.
  if (there != nullptr && (there->directory || there == node)) return "nothing";
  Require(::rename(OnDisk(path).c_str(), OnDisk(to).c_str()) == 0,
          "rename " + path);
  Refresh(to, *node);
  Erase(path);
  Insert(to, node);
  if (there != nullptr) NoteNameGone(*there);
  return "rename " + path + " to " + to;
}

std::string World::Chmod(const std::string& path) {
  static const std::vector<mode_t> kModes = {0644, 0600, 0444, 0640};
  const std::shared_ptr<Node> node = Find(path);
  const mode_t mode = kModes[random_.Below(kModes.size())] | 0200;
  Require(::chmod(OnDisk(path).c_str(), mode) == 0, "chmod " + path);
  Refresh(path, *node);
  return "chmod " + path;
}

std::string World::Touch(const std::string& path) {
  const std::shared_ptr<Node> node = Find(path);
  SetMtime(path, node->now.mtime_ns + 1);
  Refresh(path, *node);
  return "touch " + path;
}

std::string World::MakeDirectory(const std::string& path) {
  auto node = std::make_shared<Node>();
  node->directory = true;
  Require(::mkdir(OnDisk(path).c_str(), 0755) == 0, "mkdir " + path);
  Refresh(path, *node);
  Insert(path, node);
  return "mkdir " + path;
}

std::string World::RemoveDirectory(const std::string& path) {
  std::error_code failed;
  std::filesystem::remove_all(OnDisk(path), failed);
  Require(!failed, "remove " + path);
  std::vector<std::shared_ptr<Node>> gone;
  for (const std::string& file : Files()) {
    if (file.starts_with(path + "/")) gone.push_back(Find(file));
  }
  Erase(path);
  for (const std::shared_ptr<Node>& node : gone) NoteNameGone(*node);
  return "remove directory " + path;
}

std::string World::RenameDirectory(const std::string& path) {
  const std::string to = RandomPath();
  if (Find(to) != nullptr || to.starts_with(path + "/")) return "nothing";
  const std::shared_ptr<Node> node = Find(path);
  Require(::rename(OnDisk(path).c_str(), OnDisk(to).c_str()) == 0,
          "rename " + path);
  Erase(path);
  Insert(to, node);
  return "rename directory " + path + " to " + to;
}

}  // namespace ctxfs::model

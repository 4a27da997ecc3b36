// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/api/ctxfs.h"
#include "python/src/buffers.h"

// The handles of ctxfs.h as objects that may be closed while others use them.
// Functions are called with the GIL, and release it while they call the
// library.
namespace ctxfs_python {

/// What the package tells this module when it is imported.
struct Hooks {
  /// Returns the exception for (code, errno, message, path, offset or None).
  nanobind::object make_error;
  /// threading.get_ident() of the thread that handles signals.
  unsigned long main_thread = 0;
  /// The path of ctxfs-fetch in the package; empty: that of libctxfs.
  std::string fetch_program;
};
Hooks& TheHooks();

/// A call of the library by this thread. The library asks it whether to give
/// up.
class Call {
 public:
  /// Fails if this thread is in a call already: a signal handler, which runs in
  /// the middle of one, cannot wait for it to end.
  Call();
  ~Call() { current_ = nullptr; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  static Call* current() { return current_; }

  /// Whether a signal handler has raised an exception, such as
  /// KeyboardInterrupt. Runs the handlers of pending signals now and then.
  bool Interrupted();

 private:
  static thread_local Call* current_;
  const bool handles_signals_;
  bool interrupted_ = false;
  std::chrono::steady_clock::time_point next_look_;
};

class Tree;

/// An object of a tree, which is closed with it at the latest.
class Part {
 public:
  explicit Part(std::shared_ptr<Tree> tree) : tree_(std::move(tree)) {}
  virtual ~Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  /// Frees what the library has of it. Called once, while no call uses it.
  virtual void Release() = 0;
  /// Called before Release if the tree is closed first.
  virtual void Outlive() {}

 protected:
  const std::shared_ptr<Tree> tree_;
};

struct TreeOptions {
  uint64_t cache_bytes = 0;
  bool salvage = false;
  bool verify = true;
  std::string key_file;
};

/// A ctxfs_tree. It ends when it is closed: calls that still run give up, and
/// later ones fail. In a child of the process that opened it, it must not be
/// used, since threads that are not there may have held its locks.
class Tree : public std::enable_shared_from_this<Tree> {
 public:
  static std::shared_ptr<Tree> Open(const std::string& source,
                                    const TreeOptions& options);
  ~Tree();

  /// Whether the process has forked since.
  bool forked() const { return forks_ != forks_of_process; }
  bool closed() const { return closing_; }
  /// Waits for the calls that run, which are few milliseconds from giving up.
  void Close();

  using Body = std::function<int(ctxfs_tree* tree, ctxfs_error** error)>;
  /// Calls `body` without the GIL; raises the error if it returns -1.
  void Run(const Body& body);

  /// Whether a call of this thread is to end, between two calls of the library.
  bool GivesUp() { return GivenUp(this) != 0; }

  /// Notes a part, to be closed with the tree. Fails if that is closed.
  void Add(Part& part);
  /// Releases a part, unless the tree has done so.
  void Remove(Part& part);
  /// Calls `read` without the GIL, while no part is released.
  void ReadParts(const std::function<void()>& read);

  /// Called in the child of a fork.
  static void NoteFork() { ++forks_of_process; }

 private:
  class Running;
  Tree() = default;
  static int GivenUp(void* tree);
  void ReleaseAll();

  static inline std::atomic<unsigned> forks_of_process = 0;
  const unsigned forks_ = forks_of_process;
  std::atomic<bool> closing_ = false;
  std::mutex mutex_;  // of the rest; nobody waits for the GIL with it
  std::condition_variable idle_;
  unsigned calls_ = 0;
  ctxfs_tree* tree_ = nullptr;  // null: closed
  std::unordered_set<Part*> parts_;
};

/// A ctxfs_file.
class File final : public Part {
 public:
  using Opener = std::function<int(ctxfs_tree* tree, ctxfs_file** file,
                                   ctxfs_error** error)>;
  static std::unique_ptr<File> Open(std::shared_ptr<Tree> tree,
                                    const Opener& open);
  ~File() override { tree_->Remove(*this); }
  void Release() override { ctxfs_close_file(file_); }

  uint64_t size() const { return size_; }
  /// The ends of its pieces, in order.
  std::vector<uint64_t> PieceEnds();
  /// At most `length` bytes; fewer at the end of the file.
  nanobind::bytes Read(uint64_t offset, uint64_t length);
  /// How many bytes were put into `buffer`.
  size_t ReadInto(uint64_t offset, nanobind::handle buffer);
  /// Fills `buffer` with a window that is within the file.
  void ReadWindow(const Window& window, nanobind::handle buffer);
  void Verify();
  void Scan();

 private:
  using Part::Part;
  size_t Fill(uint64_t offset, std::byte* into, size_t length);
  /// Within a call. Stored bytes are read without asking whether to give up, so
  /// this asks after some of them.
  int Fill(uint64_t offset, std::byte* into, size_t length, size_t* got,
           ctxfs_error** error);

  ctxfs_file* file_ = nullptr;
  uint64_t size_ = 0;
};

/// A ctxfs_arrays. What it says of the arrays outlives the tree.
class Arrays final : public Part {
 public:
  /// Of the container at `path`.
  static std::unique_ptr<Arrays> Open(std::shared_ptr<Tree> tree,
                                      const std::string& path);
  ~Arrays() override { tree_->Remove(*this); }
  void Release() override {
    ctxfs_close_arrays(std::exchange(arrays_, nullptr));
  }
  void Outlive() override { rows_ = Rows(); }

  size_t count() const { return count_; }
  /// (name, dtype, bits, shape, size, flags) of each.
  nanobind::list All();
  std::unique_ptr<File> OpenOne(size_t index);

 private:
  using Part::Part;
  struct Row {
    std::string name;
    std::vector<uint64_t> shape;
    ctxfs_array rest;  // of its pointers, `dtype` alone stays valid
  };
  std::vector<Row> Rows() const;

  ctxfs_arrays* arrays_ = nullptr;  // null: the tree is closed
  size_t count_ = 0;
  std::vector<Row> rows_;  // copied when the tree is closed
};

}  // namespace ctxfs_python

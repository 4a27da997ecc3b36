// SPDX-License-Identifier: Apache-2.0
#include "python/src/handles.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <utility>

namespace ctxfs_python {
namespace {

namespace nb = nanobind;

constexpr std::chrono::milliseconds kBetweenLooks{20};
constexpr size_t kBytesBetweenLooks = size_t{32} << 20;

/// Raises the package's exception for `error`, and frees it.
[[noreturn]] void Raise(ctxfs_error* error) {
  const uint64_t offset = ctxfs_error_offset(error);
  nb::object made;
  try {
    made = TheHooks().make_error(
        static_cast<int>(ctxfs_error_code(error)), ctxfs_error_errno(error),
        nb::str(ctxfs_error_message(error)), nb::bytes(ctxfs_error_path(error)),
        offset == CTXFS_NO_OFFSET ? nb::object(nb::none())
                                  : nb::object(nb::int_(offset)));
  } catch (...) {
    ctxfs_error_free(error);
    throw;
  }
  ctxfs_error_free(error);
  PyErr_SetObject(made.type().ptr(), made.ptr());
  throw nb::python_error();
}

[[noreturn]] void RaiseClosed() {
  throw nb::value_error("the container is closed");
}

}  // namespace

Hooks& TheHooks() {
  // Never destroyed: the interpreter ends first.
  static Hooks* const hooks = new Hooks();
  return *hooks;
}

thread_local Call* Call::current_ = nullptr;

Call::Call()
    : handles_signals_(PyThread_get_thread_ident() == TheHooks().main_thread),
      next_look_(std::chrono::steady_clock::now() + kBetweenLooks) {
  if (current_ != nullptr) {
    PyErr_SetString(PyExc_RuntimeError,
                    "a signal handler uses ctxfs, which its thread was using");
    throw nb::python_error();
  }
  current_ = this;
}

bool Call::Interrupted() {
  if (interrupted_ || !handles_signals_) return interrupted_;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return false;
  next_look_ = now + kBetweenLooks;
  const nb::gil_scoped_acquire held;
  interrupted_ = PyErr_CheckSignals() != 0;
  return interrupted_;
}

int Tree::GivenUp(void* argument) {
  const auto* const tree = static_cast<Tree*>(argument);
  if (tree->closing_) return 1;
  Call* const call = Call::current();
  return call != nullptr && call->Interrupted() ? 1 : 0;
}

std::shared_ptr<Tree> Tree::Open(const std::string& source,
                                 const TreeOptions& options) {
  const std::shared_ptr<Tree> made(new Tree());
  ctxfs_options all{};
  all.size = sizeof all;
  all.cache_bytes = options.cache_bytes;
  all.salvage = options.salvage ? 1 : 0;
  all.no_verify = options.verify ? 0 : 1;
  if (!options.key_file.empty()) all.key_file = options.key_file.c_str();
  const std::string& program = TheHooks().fetch_program;
  if (!program.empty()) all.fetch_program = program.c_str();
  all.given_up = &GivenUp;
  all.argument = made.get();
  made->Run([&](ctxfs_tree* /*none*/, ctxfs_error** error) {
    return ctxfs_open(source.c_str(), &all, &made->tree_, error);
  });
  return made;
}

Tree::~Tree() {
  if (!forked()) ReleaseAll();
}

void Tree::Close() {
  if (forked()) return;
  const Call call;
  const nb::gil_scoped_release released;
  closing_ = true;
  {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return calls_ == 0; });
  }
  ReleaseAll();
}

void Tree::ReleaseAll() {
  const std::lock_guard lock(mutex_);
  for (Part* const part : parts_) {
    part->Outlive();
    part->Release();
  }
  parts_.clear();
  ctxfs_close(std::exchange(tree_, nullptr));
}

/// Counts a call while it runs.
class Tree::Running {
 public:
  explicit Running(Tree& tree) : tree_(tree) {
    const std::lock_guard lock(tree_.mutex_);
    ++tree_.calls_;
  }
  ~Running() {
    const std::lock_guard lock(tree_.mutex_);
    if (--tree_.calls_ == 0) tree_.idle_.notify_all();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Tree& tree_;
};

void Tree::Run(const Body& body) {
  if (forked()) {
    throw nb::value_error("the container was opened before the process forked");
  }
  ctxfs_error* error = nullptr;
  int result = -1;
  {
    Call call;
    const nb::gil_scoped_release released;
    const Running running(*this);
    // Close waits for this call from here on, unless it has been called.
    if (!closing_) result = body(tree_, &error);
  }
  if (PyErr_Occurred() != nullptr) {  // by a signal handler
    ctxfs_error_free(error);
    throw nb::python_error();
  }
  if (result == 0) return;
  if (closing_ &&
      (error == nullptr || ctxfs_error_code(error) == CTXFS_INTERRUPTED)) {
    ctxfs_error_free(error);
    RaiseClosed();
  }
  Raise(error);
}

void Tree::Add(Part& part) {
  const std::lock_guard lock(mutex_);
  parts_.insert(&part);
}

void Tree::Remove(Part& part) {
  if (forked()) return;
  const nb::gil_scoped_release released;
  const std::lock_guard lock(mutex_);
  if (parts_.erase(&part) != 0) part.Release();
}

void Tree::ReadParts(const std::function<void()>& read) {
  if (forked()) return read();  // nothing releases them any more
  const nb::gil_scoped_release released;
  const std::lock_guard lock(mutex_);
  read();
}

std::unique_ptr<File> File::Open(std::shared_ptr<Tree> tree,
                                 const Opener& open) {
  std::unique_ptr<File> made(new File(std::move(tree)));
  File& file = *made;
  file.tree_->Run([&](ctxfs_tree* of, ctxfs_error** error) {
    const int result = open(of, &file.file_, error);
    if (result != 0) return result;
    file.size_ = ctxfs_file_size(file.file_);
    file.tree_->Add(file);
    return 0;
  });
  return made;
}

int File::Fill(uint64_t offset, std::byte* into, size_t length, size_t* got,
               ctxfs_error** error) {
  *got = 0;
  while (true) {
    const size_t piece = std::min(length - *got, kBytesBetweenLooks);
    size_t now = 0;
    if (ctxfs_read(file_, offset + *got, into + *got, piece, &now, error) != 0)
      return -1;
    *got += now;
    if (now < piece || *got == length) return 0;
    if (tree_->GivesUp()) return -1;
  }
}

size_t File::Fill(uint64_t offset, std::byte* into, size_t length) {
  size_t got = 0;
  tree_->Run([&](ctxfs_tree* /*of*/, ctxfs_error** error) {
    return Fill(offset, into, length, &got, error);
  });
  return got;
}

std::vector<uint64_t> File::PieceEnds() {
  std::vector<uint64_t> ends;
  tree_->Run([&](ctxfs_tree* /*of*/, ctxfs_error** /*error*/) {
    for (uint64_t at = 0; at < size_; at = ends.back()) {
      ends.push_back(ctxfs_piece_end(file_, at));
    }
    return 0;
  });
  return ends;
}

nb::bytes File::Read(uint64_t offset, uint64_t length) {
  const uint64_t left = offset < size_ ? size_ - offset : 0;
  const auto most = static_cast<Py_ssize_t>(std::min(length, left));
  PyObject* const made = PyBytes_FromStringAndSize(nullptr, most);
  if (made == nullptr) throw nb::python_error();
  nb::bytes bytes = nb::steal<nb::bytes>(made);
  auto* const into = reinterpret_cast<std::byte*>(PyBytes_AsString(made));
  // Nobody else has the object yet. An empty file may be a damaged one.
  Fill(offset, into, static_cast<size_t>(most));
  return bytes;
}

size_t File::ReadInto(uint64_t offset, nb::handle buffer) {
  const WritableBuffer into(buffer);
  return Fill(offset, into.data(), into.size());
}

void File::ReadWindow(const Window& window, nb::handle buffer) {
  const WritableBuffer into(buffer);
  uint64_t bytes = 0;
  if (!window.Measure(bytes) || bytes != into.size()) {
    throw nb::value_error("the buffer has not the size of the window");
  }
  bool short_read = false;
  tree_->Run([&](ctxfs_tree* /*of*/, ctxfs_error** error) {
    const bool done =
        Gather(window, into.data(),
               [&](uint64_t offset, std::byte* at, size_t length) {
                 size_t got = 0;
                 if (Fill(offset, at, length, &got, error) != 0) return false;
                 short_read = got != length;
                 return !short_read;
               });
    return done || short_read ? 0 : -1;
  });
  if (short_read) throw nb::value_error("the window is not in the file");
}

void File::Verify() {
  tree_->Run([&](ctxfs_tree* /*of*/, ctxfs_error** error) {
    return ctxfs_verify(file_, error);
  });
}

void File::Scan() {
  tree_->Run([&](ctxfs_tree* /*of*/, ctxfs_error** error) {
    return ctxfs_scan(file_, error);
  });
}

std::unique_ptr<Arrays> Arrays::Open(std::shared_ptr<Tree> tree,
                                     const std::string& path) {
  std::unique_ptr<Arrays> made(new Arrays(std::move(tree)));
  Arrays& arrays = *made;
  arrays.tree_->Run([&](ctxfs_tree* of, ctxfs_error** error) {
    const int result =
        ctxfs_open_arrays(of, path.c_str(), &arrays.arrays_, error);
    if (result != 0) return result;
    arrays.count_ = ctxfs_array_count(arrays.arrays_);
    arrays.tree_->Add(arrays);
    return 0;
  });
  return made;
}

std::vector<Arrays::Row> Arrays::Rows() const {
  std::vector<Row> rows;
  rows.reserve(count_);
  for (size_t i = 0; i < count_; ++i) {
    const ctxfs_array* const one = ctxfs_array_at(arrays_, i);
    rows.push_back(
        {one->name, {one->shape, one->shape + one->dimensions}, *one});
  }
  return rows;
}

nb::list Arrays::All() {
  // Copies: once this has the GIL again, another thread may close the tree.
  std::vector<Row> rows;
  tree_->ReadParts([&] { rows = arrays_ == nullptr ? rows_ : Rows(); });
  nb::list shown;
  for (const Row& one : rows) {
    nb::list shape;
    for (const uint64_t extent : one.shape) shape.append(extent);
    shown.append(nb::make_tuple(one.name, one.rest.dtype, one.rest.bits,
                                nb::tuple(shape), one.rest.size,
                                one.rest.flags));
  }
  return shown;
}

std::unique_ptr<File> Arrays::OpenOne(size_t index) {
  return File::Open(
      tree_, [&](ctxfs_tree* /*of*/, ctxfs_file** file, ctxfs_error** error) {
        return ctxfs_open_array(arrays_, index, file, error);
      });
}

}  // namespace ctxfs_python

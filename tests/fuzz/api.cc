// SPDX-License-Identifier: Apache-2.0
//
// The interface for C over a file of any bytes: what its callers may rely on.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "core/api/ctxfs.h"
#include "tests/fuzz/target.h"
#include "tests/support/judge.h"

namespace ctxfs::fuzz {
namespace {

namespace stdfs = std::filesystem;

constexpr size_t kMaxNames = 300;     // that are looked at
constexpr unsigned kMaxAsked = 5000;  // times, before calls are given up

/// A file for the inputs, in a directory that ends with the process.
class InputFile {
 public:
  InputFile() {
    std::string made = (stdfs::temp_directory_path() / "ctxfs-XXXXXX").string();
    Require(::mkdtemp(made.data()) != nullptr, "there is a directory");
    directory_ = made;
  }
  ~InputFile() {
    std::error_code ignored;
    stdfs::remove_all(directory_, ignored);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// The path of a file with these bytes.
  std::string Write(Bytes input) const {
    const stdfs::path path = directory_ / "input";
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(input.data()),
              static_cast<std::streamsize>(input.size()));
    return path.string();
  }

 private:
  stdfs::path directory_;
};

/// A call's error. Each failure has one, and it is whole.
class Failure {
 public:
  ~Failure() { ctxfs_error_free(error_); }
  Failure() = default;
  Failure(const Failure&) = delete;
  Failure& operator=(const Failure&) = delete;

  ctxfs_error** out() { return &error_; }
  /// Whether the call that returned `result` succeeded.
  bool Succeeded(int result) const {
    Require((result == 0) == (error_ == nullptr), "a failure has an error");
    if (result == 0) return true;
    Require(result == -1, "a failure is -1");
    const int code = ctxfs_error_code(error_);
    Require(code >= CTXFS_NOT_FOUND && code <= CTXFS_USAGE, "a known code");
    Require(ctxfs_error_errno(error_) > 0, "a failure has an errno");
    Require(*ctxfs_error_message(error_) != '\0', "a failure says why");
    return false;
  }

 private:
  ctxfs_error* error_ = nullptr;
};

/// What is at each path of a tree: the first ones that a listing finds.
class Walk {
 public:
  explicit Walk(ctxfs_tree* tree) : tree_(tree) {
    for (const char* top : {"", "views", ".ctxfs"}) List(top);
  }

  void TryAll() const {
    for (const auto& [path, kind] : found_) {
      if (kind == CTXFS_FILE) TryFile(path);
      if (kind == CTXFS_DIRECTORY) {
        TryArrays(path);
        TryTable(path);
        TryReport(path);
      }
      if (kind == CTXFS_LINK) TryLink(path);
    }
    TryArrays("");
    TryTable("");
    TryReport("");
  }

 private:
  struct Listing {
    std::string above;
    std::vector<std::pair<std::string, ctxfs_kind>>& found;
  };

  static int Add(void* argument, const char* name, ctxfs_kind kind) {
    Listing& listing = *static_cast<Listing*>(argument);
    listing.found.emplace_back(listing.above + name, kind);
    return listing.found.size() >= kMaxNames ? 1 : 0;
  }

  void List(const std::string& directory) {
    if (found_.size() >= kMaxNames) return;
    const size_t first = found_.size();
    Listing listing{directory.empty() ? "" : directory + "/", found_};
    Failure failure;
    (void)failure.Succeeded(
        ctxfs_list(tree_, directory.c_str(), &Add, &listing, failure.out()));
    const size_t end = found_.size();
    for (size_t i = first; i < end; ++i) {
      if (found_[i].second == CTXFS_DIRECTORY) List(found_[i].first);
    }
  }

  void TryFile(const std::string& path) const {
    ctxfs_stat stat{};
    Failure of_stat;
    const bool known = of_stat.Succeeded(
        ctxfs_lstat(tree_, path.c_str(), &stat, of_stat.out()));
    Failure of_attributes;
    (void)of_attributes.Succeeded(ctxfs_attributes(
        tree_, path.c_str(), &Ignore, nullptr, of_attributes.out()));
    ctxfs_file* file = nullptr;
    Failure failure;
    if (!failure.Succeeded(
            ctxfs_open_file(tree_, path.c_str(), &file, failure.out()))) {
      return;
    }
    // .ctxfs/faults.json and the like grow while others are read.
    if (known && !path.starts_with(".ctxfs/")) {
      Require(stat.size == ctxfs_file_size(file), "a size is exact");
    }
    TryReads(file);
    ctxfs_close_file(file);
  }

  static int Ignore(void* /*argument*/, const char* /*name*/,
                    const void* /*value*/, size_t /*size*/) {
    return 0;
  }

  static void TryReads(ctxfs_file* file) {
    const uint64_t size = ctxfs_file_size(file);
    Require(
        ctxfs_piece_end(file, 0) <= size && ctxfs_piece_end(file, size) == size,
        "pieces are within the file");
    std::array<char, 4096> buffer{};
    for (const uint64_t offset : {uint64_t{0}, size / 2, size, UINT64_MAX}) {
      for (const size_t length : {size_t{0}, size_t{1}, buffer.size()}) {
        Failure failure;
        size_t got = 1;
        const bool read = failure.Succeeded(ctxfs_read(
            file, offset, buffer.data(), length, &got, failure.out()));
        const uint64_t left = offset < size ? size - offset : 0;
        Require(got == (read ? std::min<uint64_t>(length, left) : 0),
                "a read is whole, or nothing");
      }
    }
    Failure failure;
    (void)failure.Succeeded(ctxfs_verify(file, failure.out()));
  }

  void TryLink(const std::string& path) const {
    char* target = nullptr;
    Failure failure;
    (void)failure.Succeeded(
        ctxfs_readlink(tree_, path.c_str(), &target, failure.out()));
    std::free(target);
  }

  void TryArrays(const std::string& path) const {
    ctxfs_arrays* arrays = nullptr;
    Failure failure;
    if (!failure.Succeeded(
            ctxfs_open_arrays(tree_, path.c_str(), &arrays, failure.out()))) {
      return;
    }
    const size_t count = std::min<size_t>(ctxfs_array_count(arrays), kMaxNames);
    for (size_t i = 0; i < count; ++i) TryArray(arrays, i);
    ctxfs_close_arrays(arrays);
  }

  void TryTable(const std::string& path) const {
    ArrowArrayStream stream{};
    Failure failure;
    if (!failure.Succeeded(
            ctxfs_table(tree_, path.c_str(), &stream, failure.out()))) {
      return;
    }
    ArrowSchema schema;
    ArrowArray batch;
    Require(stream.get_schema(&stream, &schema) == 0 &&
                stream.get_next(&stream, &batch) == 0,
            "a table has a schema and a batch");
    stream.release(&stream);
    Require(schema.n_children == batch.n_children, "a column has a type");
    for (int64_t i = 0; i < batch.n_children; ++i) {
      Require(batch.children[i]->length == batch.length, "columns are as long");
    }
    schema.release(&schema);
    batch.release(&batch);
  }

  void TryReport(const std::string& path) const {
    for (const ctxfs_report_depth depth :
         {CTXFS_REPORT_INDEX, CTXFS_REPORT_SAMPLED}) {
      char* page = nullptr;
      Failure failure;
      if (failure.Succeeded(ctxfs_report(tree_, path.c_str(), "", depth,
                                         /*read_bytes=*/4096, &page,
                                         failure.out()))) {
        Require(std::strstr(page, "</html>") != nullptr, "a page is whole");
      }
      std::free(page);
    }
  }

  static void TryArray(const ctxfs_arrays* arrays, size_t index) {
    const ctxfs_array* const array = ctxfs_array_at(arrays, index);
    size_t same = index + 1;
    Require(ctxfs_find_array(arrays, array->name, &same, nullptr) == 0 &&
                same == index,
            "names of arrays differ");
    uint64_t elements = 1;
    for (uint32_t i = 0; i < array->dimensions; ++i) {
      elements *= array->shape[i];
    }
    Require(array->size ==
                elements / 8 * array->bits + elements % 8 * array->bits / 8,
            "a size is that of the elements");
    ctxfs_file* file = nullptr;
    Failure failure;
    if (!failure.Succeeded(
            ctxfs_open_array(arrays, index, &file, failure.out()))) {
      return;
    }
    Require(ctxfs_file_size(file) == array->size, "all elements are there");
    TryReads(file);
    ctxfs_close_file(file);
  }

  ctxfs_tree* const tree_;
  std::vector<std::pair<std::string, ctxfs_kind>> found_;
};

int GivenUp(void* asked) {
  return ++*static_cast<unsigned*>(asked) > kMaxAsked ? 1 : 0;
}

void TryApi(Bytes input) {
  static const InputFile file;
  const std::string path = file.Write(input);
  for (const int salvage : {0, 1}) {
    unsigned asked = 0;
    ctxfs_options options{};
    options.size = sizeof options;
    options.salvage = salvage;
    options.no_verify = salvage;
    options.cache_bytes = uint64_t{16} << 20;
    options.given_up = &GivenUp;
    options.argument = &asked;
    ctxfs_tree* tree = nullptr;
    Failure failure;
    if (!failure.Succeeded(
            ctxfs_open(path.c_str(), &options, &tree, failure.out()))) {
      continue;
    }
    Walk(tree).TryAll();
    Failure of_faults;
    (void)of_faults.Succeeded(ctxfs_faults(
        tree, "", [](void*, const ctxfs_error*) { return 0; }, nullptr,
        of_faults.out()));
    ctxfs_close(tree);
  }
}

}  // namespace

void AddApiTarget(std::vector<Target>& targets) {
  targets.push_back({"api", &TryApi});
}

}  // namespace ctxfs::fuzz

// SPDX-License-Identifier: Apache-2.0
//
// The module ctxfs._ctxfs: the interface for C in Python's types, for the
// package alone (python/ctxfs). Paths are bytes.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "python/src/handles.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace ctxfs_python {
namespace {

std::string PathOf(const nb::bytes& path) {
  std::string text(path.c_str(), path.size());
  if (text.find('\0') != std::string::npos) {
    throw nb::value_error("a path has a NUL character");
  }
  return text;
}

nb::bytes BytesOf(const std::string& text) {
  return nb::bytes(text.data(), text.size());
}

bool ClaimsContainer(const nb::bytes& name, const nb::bytes& head) {
  int claims = 0;
  ctxfs_error* error = nullptr;
  if (ctxfs_claims_container(PathOf(name).c_str(), head.c_str(), head.size(),
                             &claims, &error) != 0) {
    ctxfs_error_free(error);
    throw std::bad_alloc();  // nothing else fails
  }
  return claims != 0;
}

using Names = std::vector<std::pair<std::string, int>>;

/// The names in a directory, and the kind of each. For ctxfs_list, which is
/// called without the GIL, like the others of this sort. An allocation that
/// fails is an error of the call: it is C++ on both sides.
int AddName(void* names, const char* name, enum ctxfs_kind kind) {
  static_cast<Names*>(names)->emplace_back(name, kind);
  return 0;
}

nb::list NamesIn(Tree& tree, const nb::bytes& path) {
  const std::string directory = PathOf(path);
  Names names;
  tree.Run([&](ctxfs_tree* of, ctxfs_error** error) {
    return ctxfs_list(of, directory.c_str(), &AddName, &names, error);
  });
  nb::list shown;
  for (const auto& [name, kind] : names) {
    shown.append(nb::make_tuple(BytesOf(name), kind));
  }
  return shown;
}

nb::tuple Lstat(Tree& tree, const nb::bytes& path) {
  const std::string name = PathOf(path);
  ctxfs_stat stat{};
  tree.Run([&](ctxfs_tree* of, ctxfs_error** error) {
    return ctxfs_lstat(of, name.c_str(), &stat, error);
  });
  return nb::make_tuple(static_cast<int>(stat.kind), stat.size, stat.mtime,
                        stat.mtime_ns);
}

nb::bytes ReadLink(Tree& tree, const nb::bytes& path) {
  const std::string name = PathOf(path);
  std::string target;
  tree.Run([&](ctxfs_tree* of, ctxfs_error** error) {
    char* text = nullptr;
    if (ctxfs_readlink(of, name.c_str(), &text, error) != 0) return -1;
    target = text;
    std::free(text);
    return 0;
  });
  return BytesOf(target);
}

using Attributes = std::vector<std::pair<std::string, std::string>>;

int AddAttribute(void* attributes, const char* name, const void* value,
                 size_t size) {
  static_cast<Attributes*>(attributes)
      ->emplace_back(name, std::string(static_cast<const char*>(value), size));
  return 0;
}

nb::dict AttributesOf(Tree& tree, const nb::bytes& path) {
  const std::string name = PathOf(path);
  Attributes attributes;
  tree.Run([&](ctxfs_tree* of, ctxfs_error** error) {
    return ctxfs_attributes(of, name.c_str(), &AddAttribute, &attributes,
                            error);
  });
  nb::dict shown;
  for (const auto& [key, value] : attributes) {
    shown[nb::str(key.c_str())] = BytesOf(value);
  }
  return shown;
}

struct Fault {
  int code;
  int number;
  std::string message;
  uint64_t offset;
};

int AddFault(void* faults, const ctxfs_error* fault) {
  static_cast<std::vector<Fault>*>(faults)->push_back(
      {ctxfs_error_code(fault), ctxfs_error_errno(fault),
       ctxfs_error_message(fault), ctxfs_error_offset(fault)});
  return 0;
}

/// Exceptions, which are not raised.
nb::list Faults(Tree& tree, const nb::bytes& path) {
  const std::string name = PathOf(path);
  std::vector<Fault> faults;
  tree.Run([&](ctxfs_tree* of, ctxfs_error** error) {
    return ctxfs_faults(of, name.c_str(), &AddFault, &faults, error);
  });
  nb::list shown;
  for (const Fault& one : faults) {
    shown.append(TheHooks().make_error(
        one.code, one.number, nb::str(one.message.c_str()), path,
        one.offset == CTXFS_NO_OFFSET ? nb::object(nb::none())
                                      : nb::object(nb::int_(one.offset))));
  }
  return shown;
}

/// Raises what the arrays and the table of a container lack.
void CheckComplete(Tree& tree, const nb::bytes& path) {
  const std::string name = PathOf(path);
  tree.Run([&](ctxfs_tree* of, ctxfs_error** error) {
    return ctxfs_check_complete(of, name.c_str(), error);
  });
}

void ReleaseStream(PyObject* capsule) {
  auto* const stream = static_cast<ArrowArrayStream*>(
      PyCapsule_GetPointer(capsule, "arrow_array_stream"));
  if (stream->release != nullptr) stream->release(stream);  // nobody took it
  delete stream;
}

/// The table of a container as Arrow's PyCapsule interface has it.
nb::object Table(Tree& tree, const nb::bytes& path) {
  const std::string name = PathOf(path);
  auto stream = std::make_unique<ArrowArrayStream>();
  tree.Run([&](ctxfs_tree* of, ctxfs_error** error) {
    return ctxfs_table(of, name.c_str(), stream.get(), error);
  });
  PyObject* const capsule =
      PyCapsule_New(stream.get(), "arrow_array_stream", &ReleaseStream);
  if (capsule == nullptr) {
    stream->release(stream.get());
    throw nb::python_error();
  }
  (void)stream.release();  // the capsule's
  return nb::steal(capsule);
}

/// An HTML page; `depth` is a ctxfs_report_depth.
nb::str Report(Tree& tree, const nb::bytes& path, const nb::bytes& name,
               int depth, uint64_t read_bytes) {
  const std::string directory = PathOf(path);
  const std::string shown = PathOf(name);
  std::unique_ptr<char, decltype(&std::free)> page(nullptr, &std::free);
  tree.Run([&](ctxfs_tree* of, ctxfs_error** error) {
    char* text = nullptr;
    const int result = ctxfs_report(of, directory.c_str(), shown.c_str(),
                                    static_cast<ctxfs_report_depth>(depth),
                                    read_bytes, &text, error);
    if (result == 0) page.reset(text);
    return result;
  });
  return nb::str(page.get());
}

std::unique_ptr<File> OpenFile(Tree& tree, const nb::bytes& path) {
  const std::string name = PathOf(path);
  return File::Open(
      tree.shared_from_this(),
      [&](ctxfs_tree* of, ctxfs_file** file, ctxfs_error** error) {
        return ctxfs_open_file(of, name.c_str(), file, error);
      });
}

/// All bytes of a file. One call of the library, and one without the GIL: for
/// many small files each costs as much as the bytes.
nb::bytes ReadFile(Tree& tree, const nb::bytes& path) {
  constexpr uint64_t kTogether = 1 << 20;
  const std::string name = PathOf(path);
  std::vector<char> bytes;
  bool large = false;
  tree.Run([&](ctxfs_tree* of, ctxfs_error** error) {
    ctxfs_file* file = nullptr;
    if (ctxfs_open_file(of, name.c_str(), &file, error) != 0) return -1;
    const uint64_t size = ctxfs_file_size(file);
    large = size > kTogether;
    size_t got = 0;
    int result = 0;
    if (!large) {
      bytes.resize(static_cast<size_t>(size));
      result = ctxfs_read(file, 0, bytes.data(), bytes.size(), &got, error);
    }
    ctxfs_close_file(file);
    return result;
  });
  if (!large) return nb::bytes(bytes.data(), bytes.size());
  const std::unique_ptr<File> file = OpenFile(tree, path);
  return file->Read(0, file->size());
}

/// `steps`: (count, stride in bytes) of each dimension, outermost first.
void ReadWindow(File& file, uint64_t offset, uint64_t run,
                const nb::list& steps, nb::handle buffer) {
  Window window{.offset = offset, .run = run, .steps = {}};
  for (nb::handle step : steps) {
    const auto [count, stride] =
        std::pair(nb::cast<uint64_t>(step[0]), nb::cast<uint64_t>(step[1]));
    window.steps.push_back({count, stride});
  }
  file.ReadWindow(window, buffer);
}

}  // namespace

NB_MODULE(_ctxfs, m) {
  // Objects that live until the interpreter ends, such as global variables of a
  // program, are none of its faults.
  nb::set_leak_warnings(false);
  m.def("version", &ctxfs_version);
  m.def("claims_container", &ClaimsContainer, "name"_a, "head"_a);
  m.def(
      "set_hooks",
      [](nb::object make_error, unsigned long main_thread,
         const nb::bytes& fetch_program) {
        TheHooks() = {std::move(make_error), main_thread,
                      PathOf(fetch_program)};
      },
      "make_error"_a, "main_thread"_a, "fetch_program"_a);
  m.def(
      "note_fork",
      [](unsigned long main_thread) {
        TheHooks().main_thread = main_thread;
        Tree::NoteFork();
      },
      "main_thread"_a);

  nb::class_<Tree>(m, "Tree")
      .def_static(
          "open",
          [](const nb::bytes& source, uint64_t cache_bytes, bool salvage,
             bool verify, const nb::bytes& key_file) {
            return Tree::Open(PathOf(source),
                              {cache_bytes, salvage, verify, PathOf(key_file)});
          },
          "source"_a, "cache_bytes"_a, "salvage"_a, "verify"_a, "key_file"_a)
      .def_prop_ro("closed", &Tree::closed)
      .def_prop_ro("forked", &Tree::forked)
      .def("close", &Tree::Close)
      .def("names", &NamesIn, "path"_a)
      .def("lstat", &Lstat, "path"_a)
      .def("readlink", &ReadLink, "path"_a)
      .def("attributes", &AttributesOf, "path"_a)
      .def("faults", &Faults, "path"_a)
      .def("check_complete", &CheckComplete, "path"_a)
      .def("table", &Table, "path"_a)
      .def("report", &Report, "path"_a, "name"_a, "depth"_a, "read_bytes"_a)
      .def("open_file", &OpenFile, "path"_a)
      .def("read_file", &ReadFile, "path"_a)
      .def(
          "open_arrays",
          [](Tree& tree, const nb::bytes& path) {
            return Arrays::Open(tree.shared_from_this(), PathOf(path));
          },
          "path"_a);

  nb::class_<File>(m, "File")
      .def_prop_ro("size", &File::size)
      .def("piece_ends", &File::PieceEnds)
      .def("read", &File::Read, "offset"_a, "length"_a)
      .def("readinto", &File::ReadInto, "offset"_a, "buffer"_a)
      .def("readwindow", &ReadWindow, "offset"_a, "run"_a, "steps"_a,
           "buffer"_a)
      .def("verify", &File::Verify)
      .def("scan", &File::Scan);

  nb::class_<Arrays>(m, "Arrays")
      .def_prop_ro("count", &Arrays::count)
      .def("all", &Arrays::All)
      .def("open", &Arrays::OpenOne, "index"_a);
}

}  // namespace ctxfs_python

// SPDX-License-Identifier: Apache-2.0
//
// bin/ctxfs of a wheel and of the portable archive, under each of its names.
// pip writes it to PREFIX/bin, and the rest to a directory of Python that only
// pip knows. This finds libctxfs-all.so there, and calls its main function.
// Nothing is allocated and no C++ library is linked: it starts in less than 1
// ms.
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace {

constexpr char kLibrary[] = "lib/libctxfs-all.so";
constexpr int kCannotRun = 126;  // as shells say it

using Path = char[PATH_MAX];

/// Writes a path, unless it is too long; then the path is empty.
template <typename... Parts>
bool Write(Path& path, const char* format, Parts... parts) {
  const int length = std::snprintf(path, sizeof(Path), format, parts...);
  if (length >= 0 && length < static_cast<int>(sizeof(Path))) return true;
  path[0] = '\0';
  return false;
}

/// Removes the last component.
void ToParent(Path& path) {
  if (char* const slash = std::strrchr(path, '/')) *slash = '\0';
}

/// The directory of this program, of which every link is resolved.
bool FindOwnDirectory(Path& directory) {
  const char* const called =
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel passes it so
      reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  if (::realpath("/proc/self/exe", directory) == nullptr &&
      (called == nullptr || ::realpath(called, directory) == nullptr)) {
    return false;
  }
  ToParent(directory);
  return true;
}

/// Whether `packages` has the package of this version; `library` is then the
/// path of its library. Another version may be there for another Python.
bool FindIn(const char* packages, Path& library) {
  return Write(library, "%s/ctxfs-" CTXFS_VERSION ".dist-info", packages) &&
         ::access(library, F_OK) == 0 &&
         Write(library, "%s/ctxfs/%s", packages, kLibrary) &&
         ::access(library, F_OK) == 0;
}

/// Whether a Python in `lib` has the package.
bool FindInPythons(const char* lib, Path& library) {
  DIR* const pythons = ::opendir(lib);
  if (pythons == nullptr) return false;
  bool found = false;
  while (const dirent* const python = found ? nullptr : ::readdir(pythons)) {
    if (std::strncmp(python->d_name, "python3", 7) != 0) continue;
    for (const char* const name : {"site-packages", "dist-packages"}) {
      Path packages;
      found =
          found || (Write(packages, "%s/%s/%s", lib, python->d_name, name) &&
                    FindIn(packages, library));
    }
  }
  ::closedir(pythons);
  return found;
}

/// Looks beside `directory` (in the package, and in the archive), and where pip
/// puts the packages of a prefix or of `--target`.
bool FindLibrary(const Path& directory, Path& library) {
  Path prefix;
  std::strcpy(prefix, directory);
  ToParent(prefix);
  if (Write(library, "%s/%s", prefix, kLibrary) &&
      ::access(library, F_OK) == 0) {
    return true;
  }
  for (const char* const name : {"lib", "lib64"}) {
    Path lib;
    if (Write(lib, "%s/%s", prefix, name) && FindInPythons(lib, library)) {
      return true;
    }
  }
  return FindIn(prefix, library);
}

}  // namespace

int main(int argc, char** argv) {
  static Path directory;
  static Path library;
  if (argc < 1 || !FindOwnDirectory(directory)) {
    std::fputs("ctxfs: cannot find its own directory: is /proc mounted?\n",
               stderr);
    return kCannotRun;
  }
  if (!FindLibrary(directory, library)) {
    std::fprintf(
        stderr,
        "ctxfs: no Python below %s has the package ctxfs " CTXFS_VERSION
        ", which this program is a part of: install the wheel again, "
        "or use 'python -m ctxfs'\n",
        directory);
    return kCannotRun;
  }
  void* const all = ::dlopen(library, RTLD_NOW);
  auto* const run = reinterpret_cast<int (*)(int, char**)>(
      all == nullptr ? nullptr : ::dlsym(all, "ctxfs_main"));
  if (run == nullptr) {
    std::fprintf(stderr, "ctxfs: cannot be loaded: %s\n", ::dlerror());
    return kCannotRun;
  }
  return run(argc, argv);
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/format.h"
#include "core/content/block_cache.h"
#include "core/tree/container_tree.h"
#include "fs/commands/progress.h"

namespace ctxfs {

/// A fault of a file of a container, or of the container itself.
struct Fault {
  std::string path;  // in the container; empty for the container itself
  std::optional<std::string> entry;  // the stored name, if it is an entry
  Error error;

  /// Whether this is damage. If not, something kept the file from being
  /// checked: a failed read, a limit, a missing key.
  bool IsDamage() const {
    return error.code == Code::kCorrupt || error.code == Code::kChecksum ||
           error.code == Code::kNotFound;
  }
};

/// SHA-256 of a file, as hex digits.
struct FileDigest {
  std::string path;  // in the container
  std::string sha256;
};

/// The result of checking one container and all containers in it.
struct CheckReport {
  std::string format;  // empty: it could not be opened at all
  uint64_t files = 0;  // read
  uint64_t bytes = 0;
  std::vector<Fault> faults;  // in the order of the tree
  std::vector<std::string> warnings;
  /// Of each file that could be read, if Options::digests is set.
  std::vector<FileDigest> digests;

  /// 0: clean, 1: damaged, 2: could not be checked, in whole or in part.
  int Outcome() const;
};

/// Checks a container: reads its primary and raw files, each once, and runs the
/// checks that no read depends on (Container::Inspect).
class Checker {
 public:
  struct Options {
    OpenOptions open;
    unsigned jobs = 1;     // threads
    bool digests = false;  // sha256 of every file
  };

  Checker(Options options, BlockCache& cache, Progress& progress)
      : options_(std::move(options)), cache_(cache), progress_(progress) {}

  /// Checks the container at `path`. With `alone` it skips other files that the
  /// container names, such as chunks: the caller finds and checks them itself.
  CheckReport Check(const std::string& path, bool alone) const;

 private:
  struct Outcome;  // of one file

  /// The position of the container that is being checked.
  struct Place {
    std::string path;  // in the outermost container; empty for that one
    unsigned depth = 0;
    bool alone = false;

    std::string Below(const std::string& name) const {
      return path.empty() ? name : path + "/" + name;
    }
  };

  void CheckSource(const std::shared_ptr<const Source>& source,
                   const Place& place, CheckReport& report) const;
  void CheckContainer(std::shared_ptr<const Container> container,
                      const Place& place, CheckReport& report) const;
  /// Adds what loading the container elsewhere would import to the warnings.
  static void WarnOfGlobals(const Json& info, const Place& place,
                            CheckReport& report);
  void CheckFiles(const ContainerTree& branch, const Place& place,
                  CheckReport& report) const;
  /// Checks the containers that are attached to directories of `branch`.
  void CheckChildren(const ContainerTree& branch, const Place& place,
                     CheckReport& report) const;
  Outcome CheckFile(const ContainerTree& branch, NodeId node) const;

  const Options options_;
  BlockCache& cache_;
  Progress& progress_;
};

}  // namespace ctxfs

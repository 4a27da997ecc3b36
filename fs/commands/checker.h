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

/// Something that a check found, in a file of a container or in the container.
struct Fault {
  std::string path;                  // below it; empty for the container itself
  std::optional<std::string> entry;  // the name as stored, where it is an entry
  Error error;

  /// Whether this is damage, and not something that kept it from being looked
  /// for: a failed read, a limit, a missing key.
  bool IsDamage() const {
    return error.code == Code::kCorrupt || error.code == Code::kChecksum ||
           error.code == Code::kNotFound;
  }
};

/// SHA-256 of a file, as hex digits.
struct FileDigest {
  std::string path;  // below the container
  std::string sha256;
};

/// What a check of one container found, containers in it among that.
struct CheckReport {
  std::string format;  // empty: it could not be opened at all
  uint64_t files = 0;  // read
  uint64_t bytes = 0;
  std::vector<Fault> faults;  // in the order of the tree
  std::vector<std::string> warnings;
  /// Of each file that could be read, where that was asked for.
  std::vector<FileDigest> digests;

  /// 0: clean, 1: damaged, 2: could not be checked, in whole or in part.
  int Outcome() const;
};

/// Reads the primary and the raw files of a container, each once, and looks
/// into what else must hold (Inspect).
class Checker {
 public:
  struct Options {
    OpenOptions open;
    unsigned jobs = 1;     // threads
    bool digests = false;  // sha256 of every file
  };

  Checker(Options options, BlockCache& cache, Progress& progress)
      : options_(std::move(options)), cache_(cache), progress_(progress) {}

  /// `alone`: what it names, and is a file of its own, is checked in its own
  /// right.
  CheckReport Check(const std::string& path, bool alone) const;

 private:
  struct Outcome;  // of one file

  /// Where a container is that is being checked.
  struct Place {
    std::string path;  // below the outermost; empty for that
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
  void CheckHanging(const ContainerTree& branch, const Place& place,
                    CheckReport& report) const;
  Outcome CheckFile(const ContainerTree& branch, NodeId node) const;

  const Options options_;
  BlockCache& cache_;
  Progress& progress_;
};

}  // namespace ctxfs

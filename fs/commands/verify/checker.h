// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/format.h"
#include "core/content/block_cache.h"
#include "core/tree/container_tree.h"
#include "fs/commands/container_search.h"
#include "fs/commands/progress.h"
#include "fs/commands/verify/check_report.h"

namespace ctxfs {

/// Checks containers: reads their primary and raw files, each once, and runs
/// the checks that no read depends on (Container::Inspect).
class Checker {
 public:
  struct Options {
    OpenOptions open;
    unsigned jobs = 1;          // threads
    bool digests = false;       // CheckReport::digests
    bool other_files = false;   // CheckReport::other_files
    std::string identity = {};  // which it must have; empty: any
  };

  Checker(Options options, BlockCache& cache, Progress& progress)
      : options_(std::move(options)), cache_(cache), progress_(progress) {}

  /// Checks one container. If it was found in a directory, other containers
  /// that it names are checked on their own, and their bytes are not read for
  /// this one, except for digests.
  CheckReport Check(const FoundContainer& found) const;

 private:
  struct Outcome;    // of one file
  class OtherFiles;  // that a container names

  /// The position of the container that is being checked.
  struct Place {
    std::string path;  // in the outermost container; empty for that one
    unsigned depth = 0;
    bool alone = false;  // other containers that it names are left out
    // Its entries are the outermost container's, as those of members are that
    // an archive shows as directories.
    bool counts = true;

    std::string Below(const std::string& name) const {
      return path.empty() ? name : path + "/" + name;
    }
  };

  void CheckSource(const std::shared_ptr<const Source>& source,
                   const Place& place, CheckReport& report) const;
  void CheckContainer(std::shared_ptr<const Container> container,
                      const Place& place, CheckReport& report) const;
  /// Adds what opening the container and Container::Inspect have found.
  void AddFindings(const Container& container, const Json& info,
                   const Place& place, CheckReport& report) const;
  /// Adds a fault unless the container has the identity that it must have.
  void CompareIdentity(const Container& container, CheckReport& report) const;
  /// Adds what loading the container elsewhere would import to the warnings.
  static void WarnOfGlobals(const Json& info, const Place& place,
                            CheckReport& report);
  void CheckFiles(const ContainerTree& container_tree, const Place& place,
                  CheckReport& report) const;
  /// Adds the outcomes of files, which are sorted.
  void AddOutcomes(const ContainerTree& container_tree, const Place& place,
                   std::vector<Outcome> outcomes, CheckReport& report) const;
  /// Checks the containers that are attached to directories of
  /// `container_tree`.
  void CheckChildren(const ContainerTree& container_tree, const Place& place,
                     CheckReport& report) const;
  /// Adds the digests of a file's further names, which are those of its first.
  static void AddOtherNames(const ContainerTree& container_tree,
                            const std::vector<NodeId>& names,
                            std::vector<Outcome>& outcomes);
  Outcome CheckFile(const ContainerTree& container_tree, NodeId node,
                    const Place& place, OtherFiles& others) const;
  Status Scan(const Content& content, Outcome& outcome) const;

  const Options options_;
  BlockCache& cache_;
  Progress& progress_;
};

}  // namespace ctxfs

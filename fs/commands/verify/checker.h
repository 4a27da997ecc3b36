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
#include "fs/commands/verify/data_files.h"

namespace ctxfs {

/// Checks containers: reads their primary and raw files, each once, and runs
/// the checks that reads do not need (Container::Inspect).
class Checker {
 public:
  struct Options {
    OpenOptions open;
    unsigned jobs = 1;          // threads
    bool digests = false;       // CheckReport::digests
    bool other_files = false;   // CheckReport::other_files
    std::string identity = {};  // required identity; empty: any
  };

  Checker(Options options, BlockCache& cache, Progress& progress)
      : options_(std::move(options)), cache_(cache), progress_(progress) {}

  /// Checks one container. If a search of a directory found it, other
  /// containers that it names in that directory are checked by calls of their
  /// own: this call reads their bytes only for digests.
  CheckReport Check(const FoundContainer& found) const;

 private:
  struct Outcome;    // of one file
  class OtherFiles;  // other files of a container

  /// The position of a container during a check.
  struct Place {
    std::string path;  // in the outermost container; else empty
    unsigned depth = 0;
    bool alone = false;  // skip containers that it names
    // Whether its entries count as entries of the outermost container. The
    // entries of a member that an archive shows as a directory do.
    bool counts = true;

    std::string Below(const std::string& name) const {
      return path.empty() ? name : path + "/" + name;
    }
  };

  void CheckSource(const std::shared_ptr<const Source>& source,
                   const Place& place, CheckReport& report) const;
  void CheckContainer(std::shared_ptr<const Container> container,
                      const Place& place, CheckReport& report) const;
  /// Adds the faults found by opening the container and by Container::Inspect.
  void AddFindings(const Container& container, const Json& info,
                   const Place& place, CheckReport& report) const;
  /// Adds a fault if the container lacks the required identity.
  void CompareIdentity(const Container& container, CheckReport& report) const;
  /// Warns of functions and classes that other software would import to load
  /// the container.
  static void WarnOfGlobals(const Json& info, const Place& place,
                            CheckReport& report);
  void CheckFiles(const ContainerTree& container_tree, const Place& place,
                  CheckReport& report) const;
  /// Adds the outcomes of files. `outcomes` must be sorted by node.
  void AddOutcomes(const ContainerTree& container_tree, const Place& place,
                   std::vector<Outcome> outcomes, CheckReport& report) const;
  /// Checks the containers that are attached to directories of
  /// `container_tree`.
  void CheckChildren(const ContainerTree& container_tree, const Place& place,
                     CheckReport& report) const;
  /// Adds an outcome for each further name of a file, with the digests of its
  /// first name.
  static void AddOtherNames(const ContainerTree& container_tree,
                            const std::vector<NodeId>& names,
                            std::vector<Outcome>& outcomes);
  Outcome CheckFile(const DataFile& file, const Place& place,
                    OtherFiles& others) const;
  Status Scan(const Content& content, Outcome& outcome) const;

  const Options options_;
  BlockCache& cache_;
  Progress& progress_;
};

}  // namespace ctxfs

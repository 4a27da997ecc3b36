// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/tree/container_tree.h"

namespace ctxfs {

/// A file with stored bytes: a node of a container's tree, or of a numbered
/// directory in it.
struct DataFile {
  const FileTree* files = nullptr;
  NodeId directory = NameTree::kRoot;  // kRoot: a node of the tree itself
  NodeId node = 0;

  auto Order() const { return std::tuple(directory, node); }
  FileTree::File At() const { return files->At(node); }
  bool IsEntry() const { return HoldsEntries(At().table->placement().role); }
  std::string PathIn(const ContainerTree& tree) const;
};

/// The files with stored bytes of a container, in DataFile::Order. `tree` must
/// outlive this object.
class DataFiles {
 public:
  explicit DataFiles(const ContainerTree& tree);

  /// Adds the numbered files. Returns the directories whose names cannot be
  /// found, with the reasons.
  std::vector<std::pair<std::string, Error>> AddNumbered(
      const ReadContext& context);

  uint64_t count() const;
  DataFile At(uint64_t file) const;

  /// The sum of the sizes that cost little to find.
  uint64_t ExpectedBytes(const ReadContext& context) const;

  /// Hard links to other files.
  const std::vector<NodeId>& other_names() const { return other_names_; }

 private:
  struct Numbered {
    const NumberedDirectory* files;
    NodeId directory;
    uint64_t start;  // number of files before them
  };

  const ContainerTree& tree_;
  std::vector<NodeId> nodes_;
  std::vector<NodeId> other_names_;
  std::vector<Numbered> numbered_;
};

}  // namespace ctxfs

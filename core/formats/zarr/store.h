// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/read_context.h"
#include "core/formats/zarr/array_plan.h"
#include "core/formats/zarr/metadata_text.h"
#include "core/io/source.h"

namespace ctxfs::zarr {

constexpr const char* kV3Name = "zarr.json";
constexpr const char* kV2Array = ".zarray";
constexpr const char* kV2Group = ".zgroup";
constexpr const char* kV2Attributes = ".zattrs";
constexpr const char* kV2Consolidated = ".zmetadata";

/// A group or array of a store (docs/formats/zarr.md, section 1).
struct Node {
  std::string path;  // empty for the root
  bool is_array = false;
  int version = 3;
  uint64_t metadata_bytes = 0;
  /// Whether there are attributes: in zarr.json, or a file .zattrs.
  bool has_attributes = false;
  std::optional<Error> fault = std::nullopt;

  std::string Beside(std::string_view name) const;
  /// The path of the metadata file.
  std::string MetadataPath() const;
};

/// A node and what its metadata file says.
struct ReadNode {
  Node node;
  MetadataText metadata;
  std::string text;
  std::string attributes;  // v2: the text of .zattrs
  bool also_v2 = false;    // metadata of v2 is there, too, and not used
};

/// The file at `path`; nullopt if there is none. Fails with kLimit for one that
/// is longer than metadata may be.
Result<std::optional<std::string>> ReadText(const Source& store,
                                            const std::string& path,
                                            const Request& request);

/// Reads the node at `path`; nullopt if the directory has no metadata. A fault
/// of its metadata is the node's fault. Fails if a read fails.
Result<std::optional<ReadNode>> ReadNodeAt(const Source& store,
                                           const std::string& path,
                                           const Request& request);

/// Returns the plan of an array from its metadata.
Result<ArrayPlan> PlanOf(const Node& node, const Json& root);

/// The names in the directory at `path` of a store; the root if it is empty.
Result<std::vector<DirectoryEntry>> ListStore(const Source& store,
                                              const std::string& path,
                                              const Request& request);

/// Metadata of all nodes in one file, which writers leave behind.
class Consolidated {
 public:
  /// Returns the copy at the root of a store; nullopt if there is none that can
  /// be read.
  static Result<std::optional<Consolidated>> Of(const Source& store,
                                                const ReadNode& root,
                                                const Request& request);

  /// Whether the copy has this node, with equal metadata.
  bool Matches(const ReadNode& node);
  /// Whether it has nodes that Matches was not called for.
  bool has_more() const { return matched_ < nodes_; }

  /// The nodes in the copy, sorted by path, without the root.
  std::vector<ReadNode> Nodes() const;

 private:
  Json metadata_;  // an object: v2 by path of the file, v3 by path of the node
  int version_ = 3;
  uint64_t nodes_ = 0;
  uint64_t matched_ = 0;
};

/// Calls use(node) for the root and all nodes below it, each group before its
/// members, in the order of their names.
Status WalkStore(const Source& store, ReadNode root,
                 const std::function<Status(ReadNode)>& use,
                 const ReadContext& context);

}  // namespace ctxfs::zarr

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/formats/zarr/array_plan.h"
#include "core/io/source.h"

namespace ctxfs::zarr {

constexpr const char* kV3Name = "zarr.json";
constexpr const char* kV2Array = ".zarray";
constexpr const char* kV2Group = ".zgroup";
constexpr const char* kV2Attributes = ".zattrs";
constexpr const char* kV2Consolidated = ".zmetadata";

/// A part of a text.
struct TextRange {
  size_t begin = 0;
  size_t end = 0;

  std::string_view In(std::string_view text) const {
    return text.substr(begin, end - begin);
  }
};

/// A metadata file. Its attributes and its copy of the metadata of other nodes
/// may be long, so only their places are kept; they are empty if there are
/// none.
struct MetadataText {
  Json root;  // an object, without these two
  TextRange attributes;
  TextRange consolidated;
};

/// Parses a metadata file, as Python's json module does. Fails with kCorrupt
/// (offset: byte within `text`) and with kLimit.
Result<MetadataText> ReadMetadata(std::string_view text,
                                  const Request& request);

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
  /// The paths of the files with the metadata and with the attributes.
  std::string MetadataPath() const;
  std::string AttributesPath() const;
};

/// A node and what its files say.
struct ReadNode {
  Node node;
  MetadataText metadata;
  std::string text;        // of the metadata file
  std::string attributes;  // of v2
  bool also_v2 = false;    // metadata of v2 is there, too, and not used
};

/// Returns a transient error; success for a permanent one, and if there is
/// none.
template <typename T>
Status IfTransient(const Result<T>& result) {
  return result || result.error().Permanent() ? Status()
                                              : Status(result.error());
}

/// The file at `path`; nullopt if there is none. Fails with kLimit for one that
/// is longer than metadata may be.
Maybe<std::string> ReadText(const Source& store, const std::string& path,
                            const Request& request);

/// Reads the node at `path`; nullopt if the directory has no metadata. A fault
/// of its metadata is the node's fault. Fails if a read fails.
Maybe<ReadNode> ReadNodeAt(const Source& store, const std::string& path,
                           const Request& request);

/// Returns the plan of an array from its metadata.
Result<ArrayPlan> PlanOf(const Node& node, const Json& root);

/// The names in the directory at `path` of a store; the root if it is empty.
Result<std::vector<DirectoryEntry>> ListStore(const Source& store,
                                              const std::string& path,
                                              const Request& request);

/// Metadata of all nodes in one file, which writers leave behind: of v2 by the
/// path of the metadata file, of v3 by that of the node, without the root.
struct Consolidated {
  int version = 3;
  Json metadata;  // an object
};

/// Returns the copy at the root of a store; nullopt if there is none that can
/// be read.
Maybe<Consolidated> ReadConsolidated(const Source& store, const ReadNode& root,
                                     const Request& request);
/// The nodes in the copy but the root, sorted by path.
std::vector<ReadNode> NodesOf(const Consolidated& copy);
/// Removes a node from the copy, and returns whether it was there with equal
/// metadata.
bool TakeEqual(const ReadNode& node, Consolidated& copy);

/// Calls use(path, entry, depth) for all files and directories below the one at
/// `path`, but not for links: for all names in a directory, and then for those
/// in its directories for which `use` returned true. `depth`: the number of
/// directories between `path` and the entry.
using UseEntry = std::function<Result<bool>(
    const std::string& path, const DirectoryEntry& entry, size_t depth)>;
Status WalkStore(const Source& store, const std::string& path,
                 const UseEntry& use, const Request& request);

/// Counts the bytes of files below a directory, until they are `enough`: for
/// arrays that are larger than anything declares without them
/// (docs/formats/zarr.md, section 10).
Result<uint64_t> BytesBelow(const Source& store, const std::string& path,
                            uint64_t enough, const Request& request);

}  // namespace ctxfs::zarr

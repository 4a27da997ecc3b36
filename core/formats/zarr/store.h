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

/// A parsed metadata file. Its attributes and its copy of the metadata of other
/// nodes may be long, so only their places in the text are stored. The place of
/// a missing one is empty.
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
  /// Whether zarr.json or .zattrs has attributes other than {}.
  bool has_attributes = false;
  std::optional<Error> fault = std::nullopt;

  std::string Beside(std::string_view name) const;
  /// The paths of the files with the metadata and with the attributes.
  std::string MetadataPath() const;
  std::string AttributesPath() const;
};

/// A node and the contents of its metadata files.
struct ReadNode {
  Node node;
  MetadataText metadata;
  std::string text;        // of the metadata file
  std::string attributes;  // text of .zattrs
  bool also_v2 = false;    // the directory has metadata of v2, too
};

/// Returns the error of `result` if it is transient, else success.
template <typename T>
Status IfTransient(const Result<T>& result) {
  return result || result.error().Permanent() ? Status()
                                              : Status(result.error());
}

/// Reads the file at `path`; nullopt if there is none. Fails with kLimit if the
/// file is longer than kMaxMetadataBytes.
Maybe<std::string> ReadText(const Source& store, const std::string& path,
                            const Request& request);

/// Reads the node at `path`; nullopt if the directory has no metadata. A
/// permanent error of its metadata becomes Node::fault. Fails only with
/// transient errors.
Maybe<ReadNode> ReadNodeAt(const Source& store, const std::string& path,
                           const Request& request);

/// Returns the plan of an array from its metadata.
Result<ArrayPlan> PlanOf(const Node& node, const Json& root);

/// Lists the directory at `path` of a store. An empty path is the root.
Result<std::vector<DirectoryEntry>> ListStore(const Source& store,
                                              const std::string& path,
                                              const Request& request);

/// A copy of the metadata of all nodes, which writers store in one file and may
/// fail to update. In v2 the keys are the paths of metadata files; in v3 they
/// are the paths of nodes, without the root.
struct Consolidated {
  int version = 3;
  Json metadata;  // an object
};

/// Returns the copy at the root of a store; nullopt if there is none. The
/// metadata of a copy that does not parse is empty.
Maybe<Consolidated> ReadConsolidated(const Source& store, const ReadNode& root,
                                     const Request& request);
/// The nodes in the copy, except for the root, sorted by key.
std::vector<ReadNode> NodesOf(const Consolidated& copy);
/// Removes a node from the copy, and returns whether the copy had equal
/// metadata for it. Returns true for the root of v3, which the copy does not
/// contain.
bool TakeEqual(const ReadNode& node, Consolidated& copy);

/// Calls use(path, entry, depth) for files and directories below the directory
/// at `path`, but not for links. Enters a directory only if `use` returned true
/// for it, and only after calling `use` for everything beside it. `depth` is
/// the number of directories between `path` and the entry.
using UseEntry = std::function<Result<bool>(
    const std::string& path, const DirectoryEntry& entry, size_t depth)>;
Status WalkStore(const Source& store, const std::string& path,
                 const UseEntry& use, const Request& request);

/// Counts the bytes of files below a directory, and stops at `enough` bytes.
/// Their number justifies the sizes of large arrays (docs/formats/zarr.md,
/// section 10).
Result<uint64_t> BytesBelow(const Source& store, const std::string& path,
                            uint64_t enough, const Request& request);

}  // namespace ctxfs::zarr

// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zarr/store.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/json/json_events.h"
#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/formats/zarr/limits.h"

namespace ctxfs::zarr {
namespace {

struct MetadataFile {
  std::string_view name;
  int version;
  bool is_array;  // of v2
};

// If a directory has several of these files, the first in this order counts.
constexpr MetadataFile kMetadataFiles[] = {
    {kV3Name, 3, false}, {kV2Array, 2, true}, {kV2Group, 2, false}};

/// Builds a Json of a metadata file, except for the attributes and the copy of
/// other metadata, of which it only records the places.
class MetadataBuilder final : public JsonEvents {
 public:
  explicit MetadataBuilder(MetadataText& text) : text_(text) {}

  void OnScalar(const JsonScalar& scalar) override {
    if (part_ == nullptr) {
      Place(AsJson(scalar));
    } else if (depth() == 1) {
      part_ = nullptr;  // not an object, so ignored
    }
  }

  void OnKey(std::string& key) override {
    if (part_ != nullptr) return;
    if (depth() == 1 && key == "attributes") part_ = &text_.attributes;
    if (depth() == 1 && key == "consolidated_metadata") {
      part_ = &text_.consolidated;
    }
    key_ = std::move(key);
    if (part_ != nullptr) *part_ = {};  // the last of equal keys counts
  }

  void OnOpen(bool is_array) override {
    if (depth() >= kMaxNesting) {
      return Fail(OverLimit("levels of JSON are", kMaxNesting));
    }
    if (part_ == nullptr) {
      open_.push_back(Place(is_array ? Json::array() : Json::object()));
    } else if (depth() == 1) {
      *part_ = {at() - 1, at()};
    }
  }

  void OnClose() override {
    if (part_ == nullptr) return open_.pop_back();
    if (depth() == 1) std::exchange(part_, nullptr)->end = at();
  }

 private:
  Json* Place(Json value) {
    if (++count_ > kMaxValues) {
      Fail(OverLimit("values of metadata are", kMaxValues));
    }
    Json* place = &text_.root;
    if (!open_.empty() && open_.back()->is_array()) {
      open_.back()->emplace_back();
      place = &open_.back()->back();
    } else if (!open_.empty()) {
      place = &(*open_.back())[key_];
    }
    *place = std::move(value);
    return place;
  }

  MetadataText& text_;
  std::vector<Json*> open_;  // the enclosing values, outermost first
  std::string key_;
  TextRange* part_ = nullptr;  // the part being skipped, or null
  uint64_t count_ = 0;
};

std::string Join(std::string_view path, std::string_view name) {
  if (path.empty()) return std::string(name);
  return std::string(path).append("/").append(name);
}

/// Whether attributes are anything but an empty object.
bool IsSaid(std::string_view attributes) {
  return attributes.find_first_not_of("{} \t\r\n") != std::string_view::npos;
}

/// Fills in a node from the text of its metadata file.
Status Interpret(ReadNode& read, const Request& request) {
  Node& node = read.node;
  node.metadata_bytes = read.text.size();
  read.metadata = CTXFS_TRY(ReadMetadata(read.text, request));
  const Json& root = read.metadata.root;
  const Json* const format = MemberAt(root, "zarr_format");
  if (format == nullptr || *format != node.version) {
    return Error{Code::kVersion,
                 fmt::format("version: zarr_format is {}, not {}",
                             format == nullptr ? "missing" : JsonLine(*format),
                             node.version)};
  }
  if (node.version == 3) {
    const std::string kind = TextAt(root, "node_type");
    if (kind != "array" && kind != "group") {
      return Error{Code::kCorrupt, "node_type: it is neither array nor group"};
    }
    node.is_array = kind == "array";
  }
  node.has_attributes =
      IsSaid(node.version == 2 ? std::string_view(read.attributes)
                               : read.metadata.attributes.In(read.text));
  return {};
}

/// Like Interpret, but a permanent error becomes the fault of the node.
Status InterpretOrBlame(ReadNode& read, const Request& request) {
  Status done = Interpret(read, request);
  CTXFS_TRY(IfTransient(done));
  if (!done) {
    read.node.fault = Within(read.node.MetadataPath(), std::move(done).error());
  }
  return {};
}

Result<bool> HasV2(const Source& store, const std::string& path,
                   const Request& request) {
  for (const char* const name : {kV2Array, kV2Group}) {
    const Result<SourcePtr> opened =
        store.OpenBeside(Join(path, name), request);
    CTXFS_TRY(IfTransient(opened));
    if (opened) return true;
  }
  return false;
}

/// Reads .zattrs of a v2 node. For a v3 node, only finds out whether there is
/// metadata of v2.
Status ReadBeside(const Source& store, ReadNode& read, const Request& request) {
  if (read.node.version == 3) {
    read.also_v2 = CTXFS_TRY(HasV2(store, read.node.path, request));
    return {};
  }
  Maybe<std::string> attributes =
      ReadText(store, read.node.AttributesPath(), request);
  CTXFS_TRY(IfTransient(attributes));
  if (attributes && *attributes) read.attributes = **std::move(attributes);
  return {};
}

/// Sets the path and the kind of the node whose metadata the copy has at `key`.
/// Returns false for the root, and for keys that are not metadata of a node.
bool SetPlace(const std::string& key, Node& node) {
  node.path = key;
  if (node.version == 3) return !key.empty();
  const size_t slash = key.rfind('/');
  if (slash == std::string::npos || slash == 0) return false;
  node.path.resize(slash);
  const std::string_view name = std::string_view(key).substr(slash + 1);
  node.is_array = name == kV2Array;
  return node.is_array || name == kV2Group;
}

Json WithoutCopy(Json metadata) {
  if (metadata.is_object()) metadata.erase("consolidated_metadata");
  return metadata;
}

}  // namespace

std::string Node::Beside(std::string_view name) const {
  return Join(path, name);
}

std::string Node::MetadataPath() const {
  if (version == 3) return Beside(kV3Name);
  return Beside(is_array ? kV2Array : kV2Group);
}

std::string Node::AttributesPath() const {
  return Beside(version == 3 ? kV3Name : kV2Attributes);
}

Result<MetadataText> ReadMetadata(std::string_view text,
                                  const Request& request) {
  MetadataText metadata;
  MetadataBuilder builder(metadata);
  Result<size_t> read = ReadJson(text, JsonDialect::kPython,
                                 JsonExtent::kWholeText, builder, request);
  if (!read) return Within("json", std::move(read).error());
  if (metadata.root.is_object()) return metadata;
  return Error{Code::kCorrupt, "json: it is no object", 0};
}

Maybe<std::string> ReadText(const Source& store, const std::string& path,
                            const Request& request) {
  const Result<SourcePtr> file = store.OpenBeside(path, request);
  if (!file && file.error().code == Code::kNotFound) {
    return std::optional<std::string>();
  }
  if (!file) return Within(path, file.error());
  const uint64_t size = (*file)->size();
  if (size > kMaxMetadataBytes) {
    return Within(
        path, OverLimit(fmt::format("{} bytes are", size), kMaxMetadataBytes));
  }
  CTXFS_TRY(HeapAllowance::Admit(2 * size));
  const Buffer bytes =
      CTXFS_TRY(ReadBuffer(**file, 0, size, "metadata", request));
  return std::optional(std::string(AsText(bytes.span())));
}

Maybe<ReadNode> ReadNodeAt(const Source& store, const std::string& path,
                           const Request& request) {
  for (const MetadataFile& file : kMetadataFiles) {
    ReadNode read;
    read.node = {
        .path = path, .is_array = file.is_array, .version = file.version};
    Maybe<std::string> text = ReadText(store, Join(path, file.name), request);
    CTXFS_TRY(IfTransient(text));
    if (!text) {
      read.node.fault = text.error();
      return std::optional(std::move(read));
    }
    if (!*text) continue;
    read.text = **std::move(text);
    CTXFS_TRY(ReadBeside(store, read, request));
    CTXFS_TRY(InterpretOrBlame(read, request));
    return std::optional(std::move(read));
  }
  return std::optional<ReadNode>();
}

Result<ArrayPlan> PlanOf(const Node& node, const Json& root) {
  if (node.fault) return *node.fault;
  return node.version == 2 ? PlanOfV2(root) : PlanOfV3(root);
}

Result<std::vector<DirectoryEntry>> ListStore(const Source& store,
                                              const std::string& path,
                                              const Request& request) {
  if (path.empty() && store.is_directory()) return store.List(request);
  const SourcePtr directory =
      CTXFS_TRY(store.OpenDirectoryBeside(path.empty() ? "." : path, request));
  return directory->List(request);
}

Maybe<Consolidated> ReadConsolidated(const Source& store, const ReadNode& root,
                                     const Request& request) {
  std::string text(root.metadata.consolidated.In(root.text));
  if (root.node.version == 2) {
    Maybe<std::string> file = ReadText(store, kV2Consolidated, request);
    CTXFS_TRY(IfTransient(file));
    if (file && *file) text = **std::move(file);
  }
  if (text.empty()) return std::optional<Consolidated>();
  Result<ParsedJson> parsed = ParseJson(text, request, JsonDialect::kPython);
  CTXFS_TRY(IfTransient(parsed));
  const Json* const metadata =
      parsed ? MemberAt(parsed->value, "metadata") : nullptr;
  const bool usable = metadata != nullptr && metadata->is_object();
  return std::optional(
      Consolidated{root.node.version, usable ? *metadata : Json::object()});
}

bool TakeEqual(const ReadNode& read, Consolidated& copy) {
  const bool v3 = copy.version == 3;
  if (v3 && read.node.path.empty()) return true;
  const auto found =
      copy.metadata.find(v3 ? read.node.path : read.node.MetadataPath());
  if (found == copy.metadata.end()) return false;
  const Json copied = WithoutCopy(*found);
  copy.metadata.erase(found);
  Result<ParsedJson> own = ParseJson(read.text, JsonDialect::kPython);
  return own && copied == WithoutCopy(std::move(own->value));
}

std::vector<ReadNode> NodesOf(const Consolidated& copy) {
  std::vector<ReadNode> nodes;
  for (const auto& [key, value] : copy.metadata.items()) {
    ReadNode read;
    read.node.version = copy.version;
    if (!SetPlace(key, read.node) || !AdmitGrowth(nodes)) continue;
    const auto attributes = copy.metadata.find(read.node.Beside(kV2Attributes));
    if (copy.version == 2 && attributes != copy.metadata.end()) {
      read.attributes = JsonLine(*attributes);
    }
    read.text = JsonLine(value);
    if (!InterpretOrBlame(read, Request())) continue;
    read.node.metadata_bytes = 0;  // the file's size is unknown
    nodes.push_back(std::move(read));
  }
  return nodes;
}

Status WalkStore(const Source& store, const std::string& path,
                 const UseEntry& use, const Request& request) {
  struct Open {
    std::string path;
    size_t depth;
  };
  std::vector<Open> open = {{path, 0}};
  while (!open.empty()) {
    const Open at = std::move(open.back());
    open.pop_back();
    const std::vector<DirectoryEntry> entries =
        CTXFS_TRY(ListStore(store, at.path, request));
    const size_t before = open.size();
    for (const DirectoryEntry& entry : entries) {
      CTXFS_TRY(request.CheckMemory());
      if (entry.link) continue;
      std::string name = Join(at.path, entry.name);
      const bool enter = CTXFS_TRY(use(name, entry, at.depth));
      if (enter) open.push_back({std::move(name), at.depth + 1});
    }
    // The walk takes directories from the end of `open`, so the first one must
    // come last.
    std::reverse(open.begin() + static_cast<ptrdiff_t>(before), open.end());
  }
  return {};
}

Result<uint64_t> BytesBelow(const Source& store, const std::string& path,
                            uint64_t enough, const Request& request) {
  uint64_t found = 0;
  const Status walked = WalkStore(
      store, path,
      [&](const std::string& name, const DirectoryEntry& entry,
          size_t depth) -> Result<bool> {
        // The error ends the walk; it is not returned.
        if (found >= enough) return Error{Code::kLimit, "enough"};
        // The path of a chunk has at most a directory for each dimension, and
        // "c".
        if (entry.directory) return depth <= limits::kRank;
        const Result<SourcePtr> file = store.OpenBeside(name, request);
        if (file) found += (*file)->size();
        return false;
      },
      request);
  CTXFS_TRY(IfTransient(walked));
  return found;
}

}  // namespace ctxfs::zarr

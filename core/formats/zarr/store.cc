// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zarr/store.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/text/text.h"
#include "core/formats/zarr/limits.h"

namespace ctxfs::zarr {
namespace {

std::string Join(std::string_view path, std::string_view name) {
  if (path.empty()) return std::string(name);
  return std::string(path).append("/").append(name);
}

Result<MetadataText> ParseNode(const std::string& text, int version,
                               const Request& request) {
  MetadataText metadata = CTXFS_TRY(ReadMetadata(text, request));
  const Json* const format = MemberAt(metadata.root, "zarr_format");
  if (format == nullptr || *format != version) {
    return Error{Code::kVersion,
                 "version: zarr_format is " +
                     (format == nullptr ? "missing" : JsonLine(*format)) +
                     ", not " + std::to_string(version)};
  }
  return metadata;
}

Status SetKind(ReadNode& read) {
  const std::string kind = TextAt(read.metadata.root, "node_type");
  if (kind != "array" && kind != "group") {
    return Error{Code::kCorrupt, "node_type: it is neither array nor group"};
  }
  read.node.is_array = kind == "array";
  return {};
}

/// Whether attributes are anything but an empty object.
bool IsSaid(std::string_view attributes) {
  return std::ranges::any_of(attributes, [](char c) {
    return std::string_view("{} \t\r\n").find(c) == std::string_view::npos;
  });
}

void SetAttributes(ReadNode& read) {
  if (read.node.version == 2) {
    read.node.has_attributes = IsSaid(read.attributes);
    return;
  }
  const std::optional<Part>& part = read.metadata.attributes;
  read.node.has_attributes = part && IsSaid(std::string_view(read.text).substr(
                                         part->begin, part->end - part->begin));
}

/// Fills in a node from its texts. A fault becomes that of the node.
Status Interpret(ReadNode& read, const Request& request) {
  Node& node = read.node;
  node.metadata_bytes = read.text.size();
  Result<MetadataText> parsed = ParseNode(read.text, node.version, request);
  if (!parsed && !parsed.error().Permanent()) return parsed.error();
  if (!parsed) {
    node.fault = Within(node.MetadataPath(), std::move(parsed).error());
    return {};
  }
  read.metadata = *std::move(parsed);
  if (node.version == 3) {
    if (Status kind = SetKind(read); !kind) {
      node.fault = Within(node.MetadataPath(), std::move(kind).error());
      return {};
    }
  }
  SetAttributes(read);
  return {};
}

Result<bool> HasFile(const Source& store, const std::string& path,
                     const Request& request) {
  const Result<SourcePtr> opened = store.OpenBeside(path, request);
  if (opened) return true;
  if (opened.error().Permanent()) return false;
  return opened.error();
}

Result<bool> HasV2(const Source& store, const std::string& path,
                   const Request& request) {
  for (const char* const name : {kV2Array, kV2Group}) {
    if (CTXFS_TRY(HasFile(store, Join(path, name), request))) return true;
  }
  return false;
}

}  // namespace

std::string Node::Beside(std::string_view name) const {
  return Join(path, name);
}

std::string Node::MetadataPath() const {
  if (version == 3) return Beside(kV3Name);
  return Beside(is_array ? kV2Array : kV2Group);
}

Result<std::optional<std::string>> ReadText(const Source& store,
                                            const std::string& path,
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

Result<std::optional<ReadNode>> ReadNodeAt(const Source& store,
                                           const std::string& path,
                                           const Request& request) {
  struct Candidate {
    const char* name;
    int version;
    bool is_array;
  };
  constexpr Candidate kCandidates[] = {
      {kV3Name, 3, false}, {kV2Array, 2, true}, {kV2Group, 2, false}};
  for (const Candidate& candidate : kCandidates) {
    ReadNode read;
    read.node.path = path;
    read.node.version = candidate.version;
    read.node.is_array = candidate.is_array;
    Result<std::optional<std::string>> text =
        ReadText(store, Join(path, candidate.name), request);
    if (!text && !text.error().Permanent()) return text.error();
    if (!text) {
      read.node.fault = text.error();
      return std::optional(std::move(read));
    }
    if (!*text) continue;
    read.text = **std::move(text);
    if (candidate.version == 2) {
      Result<std::optional<std::string>> attributes =
          ReadText(store, Join(path, kV2Attributes), request);
      if (!attributes && !attributes.error().Permanent()) {
        return attributes.error();
      }
      if (attributes && *attributes) read.attributes = **std::move(attributes);
    } else {
      read.also_v2 = CTXFS_TRY(HasV2(store, path, request));
    }
    CTXFS_TRY(Interpret(read, request));
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

Result<std::optional<Consolidated>> Consolidated::Of(const Source& store,
                                                     const ReadNode& root,
                                                     const Request& request) {
  Consolidated copy;
  copy.version_ = root.node.version;
  std::string text;
  if (copy.version_ == 3) {
    const std::optional<Part>& part = root.metadata.consolidated;
    if (!part) return std::optional<Consolidated>();
    text = root.text.substr(part->begin, part->end - part->begin);
  } else {
    auto file = CTXFS_TRY(ReadText(store, kV2Consolidated, request));
    if (!file) return std::optional<Consolidated>();
    text = *std::move(file);
  }
  Result<ParsedJson> parsed = ParseJson(text, request, JsonDialect::kPython);
  if (!parsed && !parsed.error().Permanent()) return parsed.error();
  const Json* const metadata =
      parsed ? MemberAt(parsed->value, "metadata") : nullptr;
  if (metadata != nullptr && metadata->is_object()) copy.metadata_ = *metadata;
  for (const auto& [key, value] : copy.metadata_.items()) {
    const bool of_node = copy.version_ == 3 || key.ends_with(kV2Array) ||
                         key.ends_with(kV2Group);
    copy.nodes_ += of_node ? 1 : 0;
  }
  return std::optional(std::move(copy));
}

bool Consolidated::Matches(const ReadNode& read) {
  const bool v3 = version_ == 3;
  // The copy of v3 does not have the root.
  if (v3 && read.node.path.empty()) return true;
  const auto found =
      metadata_.find(v3 ? read.node.path : read.node.MetadataPath());
  if (found == metadata_.end()) return false;
  ++matched_;
  Result<ParsedJson> own = ParseJson(read.text, JsonDialect::kPython);
  if (!own) return false;
  Json copy = *found;
  if (copy.is_object()) copy.erase("consolidated_metadata");
  if (own->value.is_object()) own->value.erase("consolidated_metadata");
  return copy == own->value;
}

std::vector<ReadNode> Consolidated::Nodes() const {
  std::vector<ReadNode> nodes;
  for (const auto& [key, value] : metadata_.items()) {
    ReadNode read;
    read.node.version = version_;
    read.node.path = key;
    if (version_ == 2) {
      const size_t slash = key.rfind('/');
      const std::string name = key.substr(slash + 1);
      if (name != kV2Array && name != kV2Group) continue;
      if (slash == std::string::npos) continue;  // the root
      read.node.path = key.substr(0, slash);
      read.node.is_array = name == kV2Array;
      const auto attributes = metadata_.find(read.node.Beside(kV2Attributes));
      if (attributes != metadata_.end()) {
        read.attributes = JsonLine(*attributes);
      }
    }
    if (read.node.path.empty() || !AdmitGrowth(nodes)) continue;
    read.text = JsonLine(value);
    if (!Interpret(read, Request())) continue;
    read.node.metadata_bytes = 0;  // of the file: not known
    nodes.push_back(std::move(read));
  }
  return nodes;
}

Status WalkStore(const Source& store, ReadNode root,
                 const std::function<Status(ReadNode)>& use,
                 const ReadContext& context) {
  struct Open {
    std::string path;
    size_t depth;
  };
  std::vector<Open> groups;
  const auto take = [&](ReadNode read, size_t depth) -> Status {
    if (!read.node.is_array && !read.node.fault) {
      groups.push_back({read.node.path, depth});
    }
    return use(std::move(read));
  };
  CTXFS_TRY(take(std::move(root), 0));
  while (!groups.empty()) {
    const Open group = std::move(groups.back());
    groups.pop_back();
    if (group.depth >= kMaxDepth) {
      return OverLimit("levels of groups are", kMaxDepth);
    }
    const std::vector<DirectoryEntry> entries =
        CTXFS_TRY(ListStore(store, group.path, context));
    const size_t before = groups.size();
    for (const DirectoryEntry& entry : entries) {
      CTXFS_TRY(context.CheckMemory());
      if (!entry.directory || entry.link) continue;
      std::optional<ReadNode> read =
          CTXFS_TRY(ReadNodeAt(store, Join(group.path, entry.name), context));
      if (read) CTXFS_TRY(take(*std::move(read), group.depth + 1));
    }
    // The last one is walked first.
    std::reverse(groups.begin() + static_cast<ptrdiff_t>(before), groups.end());
  }
  return {};
}

}  // namespace ctxfs::zarr

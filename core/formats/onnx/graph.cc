// SPDX-License-Identifier: Apache-2.0
//
// Reads each graph in two passes (docs/formats/onnx.md, section 5): first the
// initializers, then the nodes. A file stores nodes before initializers, but a
// mount lists the tensors in nodes after the initializers.
#include "core/formats/onnx/graph.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/formats/onnx/limits.h"

namespace ctxfs::onnx {
namespace {

Status Remember(WireRange range, WireRanges& ranges) {
  if (ranges.size() >= kMaxRemembered) {
    return TooMany(kMaxRemembered, "parts of one message", range.begin);
  }
  CTXFS_TRY(AdmitGrowth(ranges));
  ranges.push_back(range);
  return {};
}

/// Fails if there is no memory to concatenate `bytes` of text: the buffer grows
/// to twice the size, and is copied.
Status AdmitText(uint64_t bytes) { return HeapAllowance::Admit(4 * bytes); }

bool IsDefaultDomain(std::string_view domain) {
  return domain.empty() || domain == "ai.onnx";
}

void Widen(WireRange range, std::optional<WireRange>& span) {
  if (!span) {
    span = range;
  } else {
    span->begin = std::min(span->begin, range.begin);
    span->end = std::max(span->end, range.end);
  }
}

}  // namespace

Error TooMany(uint64_t most, const char* what, uint64_t at) {
  return {Code::kLimit,
          fmt::format("the model has more than {} {}", most, what), at};
}

/// The fields of a NodeProto that ctxfs uses.
struct GraphReader::Node {
  std::string name;  // "#3" if unnamed
  std::string op_type;
  std::string domain;
  std::optional<WireRange> output;  // the first
  WireRanges attributes;
};

Result<std::string> GraphReader::NameOf(const std::optional<WireRange>& name) {
  if (!name) return std::string();
  if (name->size() > kMaxNameBytes) {
    return TooMany(kMaxNameBytes, "bytes of names", name->begin);
  }
  return reader_.Text(*name, kMaxNameBytes);
}

Status GraphReader::ReadGraph(const WireRanges& graph, GraphCounts& counts) {
  return ReadGraphAt(graph, {}, counts);
}

Status GraphReader::ReadGraphAt(const WireRanges& graph, const Place& place,
                                GraphCounts& counts) {
  // A subgraph is three levels deeper than its graph, which contains a node,
  // which contains an attribute, which contains the subgraph.
  if (place.level > kMaxLevels) {
    return Error{Code::kLimit,
                 fmt::format("nesting: messages are nested more than {} deep",
                             kMaxLevels),
                 graph.front().begin};
  }
  WireRanges sparse;
  std::optional<WireRange> nodes;
  Status read = reader_.ForEach(graph, [&](const WireField& field) -> Status {
    if (field.IsBytes(1)) {
      Widen({field.at, field.bytes.end}, nodes);
    } else if (field.IsBytes(5) && visitor_ != nullptr) {
      if (place.top()) ++counts.initializers;
      return ReadInitializer(field.bytes, place);
    } else if (field.IsBytes(15) && visitor_ != nullptr) {
      return Remember(field.bytes, sparse);
    }
    return {};
  });
  const bool damaged = !read;
  if (damaged && !(salvage_ && read.error().code == Code::kCorrupt)) {
    return read;
  }
  for (const WireRange& message : sparse) {
    CTXFS_TRY(ReadSparse(message, place));
  }
  if (!nodes) return read;
  Status walked = ReadNodes(graph, *nodes, 1, place, counts);
  return damaged && walked ? read : walked;
}

Status GraphReader::ReadFunction(WireRange function, GraphCounts& counts) {
  return ReadNodes({function}, function, 7, {}, counts);
}

Status GraphReader::EmitTensor(TensorUse use, std::string path,
                               const WireRanges& message) {
  Tensor tensor = CTXFS_TRY(ReadTensor(reader_, message));
  return visitor_->OnTensor(use, path, message, std::move(tensor));
}

Status GraphReader::ReadInitializer(WireRange message, const Place& place) {
  Tensor tensor = CTXFS_TRY(ReadTensor(reader_, {message}));
  const std::string name = CTXFS_TRY(NameOf(tensor.name));
  CTXFS_TRY(AdmitText(place.prefix.size() + name.size()));
  return visitor_->OnTensor(TensorUse::kInitializer, place.prefix + name,
                            {message}, std::move(tensor));
}

Status GraphReader::ReadSparse(WireRange message, const Place& place) {
  WireRanges values;
  WireRanges indices;
  std::vector<int64_t> shape;
  Status read = reader_.ForEach(message, [&](const WireField& field) -> Status {
    if (field.IsBytes(1)) return Remember(field.bytes, values);
    if (field.IsBytes(2)) return Remember(field.bytes, indices);
    if (field.number != 3) return {};
    return ReadDims(reader_, field, shape);
  });
  if (!read) return read;
  Tensor tensor = CTXFS_TRY(ReadTensor(reader_, values));
  const std::string name = CTXFS_TRY(NameOf(tensor.name));
  CTXFS_TRY(AdmitText(place.prefix.size() + name.size()));
  if (place.top()) {
    CTXFS_TRY(
        visitor_->OnSparse(name, shape, tensor.data_type, tensor.elements));
  }
  const std::string path = place.prefix + name;
  CTXFS_TRY(visitor_->OnTensor(TensorUse::kInitializer, path + ".values",
                               values, std::move(tensor)));
  return EmitTensor(TensorUse::kInitializer, path + ".indices", indices);
}

Status GraphReader::ReadNodes(const WireRanges& graph, WireRange span,
                              uint64_t field, const Place& place,
                              GraphCounts& counts) {
  uint64_t number = 0;
  for (const WireRange& part : graph) {
    const WireRange own{std::max(part.begin, span.begin),
                        std::min(part.end, span.end)};
    for (uint64_t at = own.begin; at < own.end;) {
      const WireField node = CTXFS_TRY(reader_.Next(at, part.end));
      if (!node.IsBytes(field)) continue;
      if (++all_nodes_ > kMaxNodes) {
        return TooMany(kMaxNodes, "nodes", node.at);
      }
      CTXFS_TRY(ReadNode(node.bytes, number++, place, counts));
      if (place.top()) counts.nodes = number;
    }
  }
  return {};
}

Status GraphReader::ReadNode(WireRange message, uint64_t number,
                             const Place& place, GraphCounts& counts) {
  std::optional<WireRange> name;
  std::optional<WireRange> op_type;
  std::optional<WireRange> domain;
  Node node;
  Status read = reader_.ForEach(message, [&](const WireField& field) -> Status {
    if (field.IsBytes(2) && !node.output) node.output = field.bytes;
    if (field.IsBytes(3)) name = field.bytes;
    if (field.IsBytes(4)) op_type = field.bytes;
    if (field.IsBytes(5)) return Remember(field.bytes, node.attributes);
    if (field.IsBytes(7)) domain = field.bytes;
    return {};
  });
  if (!read) return read;
  for (const auto& [range, text] :
       {std::pair{name, &node.name}, std::pair{op_type, &node.op_type},
        std::pair{domain, &node.domain}}) {
    *text = CTXFS_TRY(NameOf(range));
  }
  if (node.name.empty()) node.name = fmt::format("#{}", number);
  CTXFS_TRY(CountOperator(node, counts));
  for (const WireRange& attribute : node.attributes) {
    CTXFS_TRY(ReadAttribute(attribute, node, place, counts));
  }
  return {};
}

Status GraphReader::CountOperator(const Node& node, GraphCounts& counts) {
  CTXFS_TRY(AdmitText(node.domain.size() + node.op_type.size()));
  std::string key = IsDefaultDomain(node.domain)
                        ? node.op_type
                        : node.domain + "::" + node.op_type;
  const size_t size = key.size();
  const auto [found, fresh] = counts.operators.try_emplace(std::move(key), 0);
  ++found->second;
  if (!fresh) return {};
  // A model uses a few hundred operators with short names, so only a crafted
  // model exceeds the limit.
  counts.operator_bytes += size + sizeof(*found);
  if (counts.operator_bytes <= kMaxNameBytes) return {};
  return Error{Code::kLimit,
               fmt::format("the names of operators take more than {} bytes",
                           kMaxNameBytes)};
}

Status GraphReader::ReadAttribute(WireRange message, const Node& node,
                                  const Place& place, GraphCounts& counts) {
  std::optional<WireRange> name_range;
  WireRanges tensor;
  WireRanges graph;
  WireRanges graphs;
  Status read = reader_.ForEach(message, [&](const WireField& field) -> Status {
    if (field.IsBytes(1)) name_range = field.bytes;
    if (field.IsBytes(5)) return Remember(field.bytes, tensor);
    if (field.IsBytes(6)) return Remember(field.bytes, graph);
    if (field.IsBytes(11)) return Remember(field.bytes, graphs);
    return {};
  });
  if (!read) return read;
  const bool constant = visitor_ != nullptr && !tensor.empty() &&
                        node.op_type == "Constant" &&
                        IsDefaultDomain(node.domain);
  if (!constant && graph.empty() && graphs.empty()) return {};
  const std::string name = CTXFS_TRY(NameOf(name_range));
  if (constant && name == "value") {
    const std::string output = CTXFS_TRY(NameOf(node.output));
    CTXFS_TRY(AdmitText(place.prefix.size() + output.size()));
    CTXFS_TRY(EmitTensor(TensorUse::kConstant, place.prefix + output, tensor));
  }
  CTXFS_TRY(AdmitText(place.prefix.size() + node.name.size() + name.size()));
  Place inner{place.prefix + node.name + "/" + name + "/", place.level + 3};
  // Each subgraph copies the prefix, which costs time and memory.
  prefix_bytes_ += inner.prefix.size() * (1 + graphs.size());
  if (prefix_bytes_ > kMaxNameBytes) {
    return TooMany(kMaxNameBytes, "bytes of names of subgraphs", message.begin);
  }
  if (!graph.empty()) {
    CTXFS_TRY(ReadGraphAt(graph, inner, counts));
  }
  const std::string prefix = inner.prefix;
  for (size_t i = 0; i < graphs.size(); ++i) {
    inner.prefix = fmt::format("{}{}/", prefix, i);
    CTXFS_TRY(ReadGraphAt({graphs[i]}, inner, counts));
  }
  return {};
}

}  // namespace ctxfs::onnx

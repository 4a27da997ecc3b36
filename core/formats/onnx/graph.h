// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/formats/onnx/tensor.h"
#include "core/formats/onnx/wire.h"

namespace ctxfs::onnx {

/// Returns a kLimit error: the model has more than `most` of `what`.
Error TooMany(uint64_t most, const char* what, uint64_t at);

/// How a graph uses a tensor.
enum class TensorUse : uint8_t { kInitializer, kConstant };

/// Receives the parts of a graph during a walk. An error stops the walk.
class GraphVisitor {
 public:
  virtual ~GraphVisitor() = default;

  /// Receives a tensor. `path`: its name, or for a constant that of the node's
  /// output, prefixed by the nodes and attributes that contain it
  /// (docs/formats/onnx.md, section 5).
  virtual Status OnTensor(TensorUse use, const std::string& path,
                          const WireRanges& message, Tensor tensor) = 0;

  /// Receives a sparse tensor of the top graph; not called for subgraphs.
  /// `name`: the name of its values; `count`: their number.
  virtual Status OnSparse(const std::string& name,
                          const std::vector<int64_t>& dims, int64_t data_type,
                          uint64_t count) = 0;
};

/// Number of uses of each operator: "Op", or "domain::Op".
using OperatorCounts = std::map<std::string, uint64_t, std::less<>>;

/// Counts of a graph: its own nodes and initializers, and the operators of the
/// graph and of its subgraphs.
struct GraphCounts {
  uint64_t nodes = 0;
  uint64_t initializers = 0;
  OperatorCounts operators;
  uint64_t operator_bytes = 0;  // memory of `operators`
};

/// Walks graphs (docs/formats/onnx.md, sections 3 and 5).
class GraphReader {
 public:
  /// `visitor`: null to count nodes and operators only. `salvage`: after damage
  /// behind the nodes of a graph, still visit the tensors in these nodes.
  GraphReader(WireReader& reader, GraphVisitor* visitor, bool salvage = false)
      : reader_(reader), visitor_(visitor), salvage_(salvage) {}

  /// Walks the graph of a model. Fails with kCorrupt, with kLimit ("nesting",
  /// or a limit of section 7), and with the errors of the visitor. The visitor
  /// has then received all parts of the graph that precede the fault.
  Status ReadGraph(const WireRanges& graph, GraphCounts& counts);

  /// Walks the nodes of a function, field 7 of `function`.
  Status ReadFunction(WireRange function, GraphCounts& counts);

 private:
  struct Node;

  /// Position of a graph.
  struct Place {
    std::string prefix;  // of paths: empty, or ends in a slash
    unsigned level = 1;  // number of enclosing messages

    bool top() const { return level == 1; }
  };

  Status ReadGraphAt(const WireRanges& graph, const Place& place,
                     GraphCounts& counts);
  Status ReadInitializer(WireRange message, const Place& place);
  Status ReadSparse(WireRange message, const Place& place);
  Status ReadNodes(const WireRanges& graph, WireRange span, uint64_t field,
                   const Place& place, GraphCounts& counts);
  Status ReadNode(WireRange message, uint64_t number, const Place& place,
                  GraphCounts& counts);
  Status CountOperator(const Node& node, GraphCounts& counts);
  Status ReadAttribute(WireRange message, const Node& node, const Place& place,
                       GraphCounts& counts);
  Status EmitTensor(TensorUse use, std::string path, const WireRanges& message);
  Result<std::string> NameOf(const std::optional<WireRange>& name);

  WireReader& reader_;
  GraphVisitor* const visitor_;
  const bool salvage_;
  uint64_t all_nodes_ = 0;
  uint64_t prefix_bytes_ = 0;  // names of subgraphs
};

}  // namespace ctxfs::onnx

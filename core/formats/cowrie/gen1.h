// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/json/json.h"
#include "core/formats/cowrie/arrays.h"
#include "core/formats/cowrie/cowrie.h"
#include "core/formats/cowrie/reader.h"

namespace ctxfs::cowrie {

/// Decodes a value of cowrie's generation 1 into JSON (docs/formats/cowrie.md,
/// section 5), and finds its arrays. A text that is not UTF-8 is a fault: it
/// shows that the bytes are of another dialect.
class CowrieGen1 : private CowrieReader {
 public:
  /// `numbers`: whether the JSON includes the elements of arrays. Elements are
  /// checked even if the JSON does not include them.
  CowrieGen1(Bytes bytes, const Gen1Dialect& dialect, bool numbers,
             CowrieArrays& arrays, const Interrupt& interrupt)
      : CowrieReader(bytes, 0, interrupt, TextRule::kUtf8),
        dialect_(dialect),
        numbers_(numbers),
        arrays_(arrays) {}

  /// Decodes all bytes. Must be called only once.
  Result<Json> Decode() { return Finish(Value()); }

  using CowrieReader::odd_values;
  /// Whether the decoder has met a tag whose meaning depends on the table of
  /// tags (met_tags), or on the form of graphs (met_graphs).
  bool met_tags() const { return met_tags_; }
  bool met_graphs() const { return met_graphs_; }

 private:
  Json Value() {
    return CowrieReader::Value([this](uint8_t tag) { return Tagged(tag); });
  }
  Json Tagged(uint8_t tag);
  Json UnifiedTag(uint8_t tag);
  Json EarlierTag(uint8_t tag);
  Json Object();
  Json TaggedObject();
  Json Array(uint64_t count);
  Json TextList();
  /// Reads an array: a count and as many numbers.
  Json Plain(DType dtype);
  /// Reads `count` elements. Returns an empty list if the JSON omits elements.
  Json Elements(DType dtype, uint64_t count);
  Json Element(DType dtype);

  /// Read graphs in the form of the Go writer (graph1.cc).
  Json GoGraph(uint8_t tag);
  Json Graph();
  Json Node();
  Json Edge();
  Json Nodes();
  Json Edges();
  Json AdjacencyList();
  Json EdgeBatch();
  /// Reads the sources and then the targets of `edges` edges; adds an array if
  /// there are edges.
  Json EdgeIndex(uint64_t edges);
  Json Adjacency();
  Json Features(const char* name);
  Json Labels(const char* name);
  /// Reads `count` signed numbers. Returns an empty list if the JSON omits
  /// elements.
  Json Signed(uint64_t count);
  /// Adds the array of the signed numbers from offset `at` to the current
  /// offset.
  void AddSigned(const char* name, std::vector<uint64_t> shape, uint64_t at);

  /// Read graphs in the form of Python, C, Rust and TypeScript
  /// (spec_graph1.cc).
  Json SpecGraph(uint8_t tag);
  Json SpecNode();
  Json SpecEdge(EdgeIds* ids);
  Json SpecNodes(uint64_t count);
  Json SpecEdges(uint64_t count);
  Json SpecAdjacency();
  /// Reads the tag before a node or edge in a list; any other than `expected`
  /// is a fault.
  void ExpectTag(uint8_t expected);

  const Gen1Dialect dialect_;
  const bool numbers_;
  CowrieArrays& arrays_;
  bool met_tags_ = false;
  bool met_graphs_ = false;
};

}  // namespace ctxfs::cowrie

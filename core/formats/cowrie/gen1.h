// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/json.h"
#include "core/formats/cowrie/arrays.h"
#include "core/formats/cowrie/reader.h"

namespace ctxfs::cowrie {

/// Decodes a graph of cowrie's generation 1 into JSON (docs/cowrie.md, section
/// 5), and finds the arrays in it.
class CowrieGen1 : private CowrieReader {
 public:
  /// `numbers`: whether the JSON has the elements of arrays too. They are
  /// checked in either case.
  CowrieGen1(Bytes bytes, bool numbers, CowrieArrays& arrays,
             const Interrupt& interrupt)
      : CowrieReader(bytes, 0, interrupt), numbers_(numbers), arrays_(arrays) {}

  /// Decodes all of the bytes. To be called once.
  Result<Json> Decode();

 private:
  /// Values of any kind, as in metadata and properties.
  Json Value() {
    return CowrieReader::Value([this](uint8_t tag) { return Tagged(tag); });
  }
  Json Tagged(uint8_t tag);
  Json Object();
  Json TaggedObject();
  Json Array(uint64_t count);
  /// A count of numbers and these, which are an array.
  Json Plain(DType dtype);
  /// An empty list without `numbers`.
  Json Elements(DType dtype, uint64_t count);
  Json Element(DType dtype);

  /// The parts of a graph (graph1.cc).
  Json Graph();
  Json Node();
  Json Edge();
  Json Nodes();
  Json Edges();
  Json AdjacencyList();
  Json EdgeBatch();
  Json EdgeIndex();
  Json Adjacency();
  Json Features(const char* name);
  Json Labels(const char* name);
  /// `count` signed numbers.
  Json Signed(uint64_t count);

  bool numbers_;
  CowrieArrays& arrays_;
};

}  // namespace ctxfs::cowrie

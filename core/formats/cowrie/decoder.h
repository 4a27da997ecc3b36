// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "core/base/json/json.h"
#include "core/formats/cowrie/arrays.h"
#include "core/formats/cowrie/reader.h"

namespace ctxfs::cowrie {

/// Decodes the value after a cowrie frame's header into JSON
/// (docs/formats/cowrie.md, sections 1 to 3), and finds its arrays.
class CowrieDecoder : private CowrieReader {
 public:
  /// `offset`: position of `bytes` in the file, or in the decompressed value.
  CowrieDecoder(Bytes bytes, uint64_t offset, CowrieArrays& arrays,
                const Interrupt& interrupt)
      : CowrieReader(bytes, offset, interrupt), arrays_(arrays) {}

  /// `hints`: whether the value starts with column hints. Must be called only
  /// once.
  Result<Json> Decode(bool hints);

  /// Bytes of text decoded so far.
  using CowrieReader::text;

 private:
  void SkipHints();
  void ReadDictionary();
  /// Reads an index of the dictionary and returns its name.
  std::string_view Name();

  /// Reads a value of any kind. Basic, Array and Object read the kinds that
  /// every encoder writes.
  Json Value() {
    return CowrieReader::Value([this](uint8_t tag) { return Tagged(tag); });
  }
  Json Tagged(uint8_t tag);
  Json Basic(uint8_t tag);
  Json Array(uint64_t count);
  Json Object(uint64_t count);

  /// Reads a value that becomes an object with a "_type" (typed.cc).
  Json Typed(uint8_t tag);
  Json Tensor();
  Json Image();
  Json Audio();
  Json Bitmask();
  Json AdjacencyList();
  Json RichText();
  Json Delta();
  /// `typed`: whether to add a "_type". Nodes and edges in lists have none.
  Json Node(bool typed);
  Json Edge(bool typed);
  Json Nodes(uint64_t count);
  Json Edges(uint64_t count);

  CowrieArrays& arrays_;
  std::vector<std::string_view> names_;
};

}  // namespace ctxfs::cowrie

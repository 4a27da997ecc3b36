// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/formats/cowrie/arrays.h"
#include "core/formats/cowrie/reader.h"

namespace ctxfs {

/// Decodes what follows a cowrie frame's header into JSON (docs/cowrie.md,
/// sections 1 to 3), and finds the arrays in it.
class CowrieDecoder : private CowrieReader {
 public:
  /// `bytes` lie at `offset`.
  CowrieDecoder(Bytes bytes, uint64_t offset, CowrieArrays& arrays)
      : CowrieReader(bytes, offset), arrays_(arrays) {}

  /// `hints`: whether column hints come first. To be called once.
  Result<Json> Decode(bool hints);

  /// Bytes of text that it has made.
  using CowrieReader::text;

 private:
  void SkipHints();
  void ReadDictionary();
  /// A name by its place in the dictionary.
  std::string_view Name();

  /// Values that may be anything, and those that every encoder writes.
  Json Value();
  Json Tagged(uint8_t tag);
  Json Basic(uint8_t tag);
  Json Array(uint64_t count);
  Json Object(uint64_t count);
  Json Invalid(uint8_t tag);

  /// Values of a type of their own: objects with a "_type"
  /// (cowrie_typed.cc).
  Json Typed(uint8_t tag);
  Json Tensor();
  Json Image();
  Json Audio();
  Json Bitmask();
  Json Numbers(uint64_t count);
  Json Adjacency();
  Json RichText();
  Json Delta();
  /// `typed`: says what it is, since it is the value itself.
  Json Node(bool typed);
  Json Edge(bool typed);
  Json Nodes(uint64_t count);
  Json Edges(uint64_t count);

  CowrieArrays& arrays_;
  std::vector<std::string_view> names_;
  unsigned depth_ = 0;
};

}  // namespace ctxfs

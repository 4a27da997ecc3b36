// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/formats/cowrie_reader.h"

namespace ctxfs {

/// Decodes what follows a cowrie frame's header into JSON (docs/
/// sampleshard.md, section 3).
class CowrieDecoder : private CowrieReader {
 public:
  explicit CowrieDecoder(Bytes bytes) : CowrieReader(bytes) {}

  /// `hints`: whether column hints come first. To be called once.
  Result<Json> Decode(bool hints);

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
  Json Numbers(uint64_t count);
  Json Strings();
  Json Adjacency();
  Json RichText();
  Json Delta();
  /// `typed`: as the reference projects it, alone and in batches.
  Json Node(bool typed);
  Json Edge(bool typed);
  Json Nodes(uint64_t count, bool typed);
  Json Edges(uint64_t count, bool typed);

  std::vector<std::string_view> names_;
  unsigned depth_ = 0;
};

}  // namespace ctxfs

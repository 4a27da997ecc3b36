// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/formats/gguf/header.h"
#include "core/formats/gguf/limits.h"
#include "core/io/source.h"

namespace ctxfs::gguf {

/// Writes the metadata as JSON (docs/formats/gguf.md, section 9), some KiB at a
/// time. Reads each value when it writes it, so that at most one piece of text
/// is in memory. JsonWriter cannot be used: it holds the whole text in memory,
/// and cannot resume within a string.
class GgufMetadataWriter {
 public:
  /// A position in the text. Writing can resume from any copy.
  struct State {
    struct Level {
      uint64_t left = 0;  // items not written yet
      uint32_t type = 0;  // of an item
      bool first = true;  // whether the next item is the first
    };
    uint64_t pair = 0;         // the current or next pair
    uint64_t at = 0;           // byte of the file within the pair
    uint64_t key_done = 0;     // bytes of its key already written
    uint64_t string_left = 0;  // bytes of a string not written yet
    std::array<Level, kMaxArrayDepth> levels;
    uint32_t depth = 0;  // open arrays
    bool in_pair = false;
    bool in_string = false;
    bool hex = false;  // the key or string is not UTF-8
    bool done = false;
  };

  /// All parameters must outlive the writer.
  GgufMetadataWriter(const Source& source, const GgufHeader& header,
                     const Request& request)
      : header_(header), in_(source, header.layout, 0, request) {}

  /// Appends the next piece of text, at most 1 MiB, and advances `state`. Fails
  /// if the file cannot be read.
  Status Write(State& state, std::string& text);

 private:
  /// Writes a part of a pair's key; starts the value after the last part.
  void WriteKey(State& state, std::string& text) const;
  Status BeginValue(State& state, uint32_t type, std::string& text);
  void EndValue(State& state, std::string& text) const;
  Status WriteItems(State& state, std::string& text);
  Status BeginString(State& state, std::string& text);
  Status WriteString(State& state, std::string& text);

  const GgufHeader& header_;
  GgufReader in_;
};

/// Reads a scalar from `in` and appends it as JSON: a float with the fewest
/// digits that identify it, or as the string "NaN", "inf" or "-inf".
void AppendGgufScalar(uint32_t type, GgufReader& in, std::string& text);

/// Returns metadata.json; fails with kLimit beyond kMaxMetadataText. Renders it
/// once to find its size, and saves states on the way: reading a window resumes
/// from the last state before it.
Result<Content> GgufMetadataText(std::shared_ptr<const Source> source,
                                 std::shared_ptr<const GgufHeader> header,
                                 const ReadContext& context);

}  // namespace ctxfs::gguf

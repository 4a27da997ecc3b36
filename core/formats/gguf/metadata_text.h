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
/// time. Reads values from the file only as they are written, so that at most
/// one piece of text is in memory. JsonWriter has all of a text in memory, and
/// cannot continue in the middle of a string, as a State can.
class GgufMetadataWriter {
 public:
  /// A position in the text. Writing can continue from any copy.
  struct State {
    struct Level {
      uint64_t left = 0;  // items to be written
      uint32_t type = 0;  // of an item
      bool first = true;  // whether the next item is the first
    };
    uint64_t pair = 0;      // the next pair, or the one that is being written
    uint64_t at = 0;        // byte of the file, within a pair
    uint64_t key_done = 0;  // bytes of a key that is being written
    uint64_t string_left = 0;  // bytes of the string that is being written
    std::array<Level, kMaxArrayDepth> levels;
    uint32_t depth = 0;  // arrays that are open
    bool in_pair = false;
    bool in_string = false;
    bool hex = false;  // the key or string is not UTF-8
    bool done = false;
  };

  /// All must outlive the writer.
  GgufMetadataWriter(const Source& source, const GgufHeader& header,
                     const Request& request)
      : header_(header), in_(source, header.layout, 0, request) {}

  /// Appends the next piece of text, at most a MiB, and moves on. Fails if the
  /// file cannot be read.
  Status Write(State& state, std::string& text);

 private:
  /// Writes a part of a pair's key; behind the last part, begins the value.
  void WriteKey(State& state, std::string& text) const;
  Status BeginValue(State& state, uint32_t type, std::string& text);
  void EndValue(State& state, std::string& text) const;
  Status WriteItems(State& state, std::string& text);
  Status BeginString(State& state, std::string& text);
  Status WriteString(State& state, std::string& text);

  const GgufHeader& header_;
  GgufReader in_;
};

/// One scalar as JSON: shortest decimals, "NaN", "inf" and "-inf" as strings.
void AppendGgufScalar(uint32_t type, GgufReader& in, std::string& text);

/// metadata.json; kLimit if it is longer than kMaxMetadataText. Writes it once
/// to find its size and notes places in it: a window is written from the last
/// place before it.
Result<Content> GgufMetadataText(std::shared_ptr<const Source> source,
                                 std::shared_ptr<const GgufHeader> header,
                                 const ReadContext& context);

}  // namespace ctxfs::gguf

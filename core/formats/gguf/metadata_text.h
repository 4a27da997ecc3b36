// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/formats/gguf/header.h"
#include "core/formats/gguf/limits.h"
#include "core/io/source.h"

namespace ctxfs::gguf {

/// Writes the metadata as JSON (docs/gguf.md, section 9), some KiB at a time.
/// Reads values from the file only as they are written, so that at most one
/// piece of text is in memory.
class GgufMetadataWriter {
 public:
  /// A position in the text. Writing can continue from any copy.
  struct State {
    struct Level {
      uint64_t left = 0;  // items to be written
      uint32_t type = 0;  // of an item
      bool first = true;  // whether the next item is the first
    };
    uint64_t pair = 0;  // the next pair, or the one that is being written
    uint64_t at = 0;    // byte of the file, within a pair
    uint64_t string_left = 0;  // bytes of the string that is being written
    std::array<Level, kMostArrayDepth> levels;
    uint32_t depth = 0;  // arrays that are open
    bool in_pair = false;
    bool in_string = false;
    bool hex = false;  // the string is not UTF-8
    bool done = false;
  };

  /// Both must outlive the writer.
  GgufMetadataWriter(const GgufHeader& header, const Source& source)
      : header_(header), in_(source, header.layout, 0) {}

  /// Appends the next piece of text, at most a MiB, and moves on. Fails if the
  /// file cannot be read.
  Status Write(State& state, std::string& text);

 private:
  void BeginPair(State& state, std::string& text) const;
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

/// metadata.json. To serve a window, it is written from the last noted place
/// before the window. Immutable except for the places, which the first call
/// that needs the size finds.
class GgufMetadataText {
 public:
  GgufMetadataText(std::shared_ptr<const Source> source,
                   std::shared_ptr<const GgufHeader> header)
      : source_(std::move(source)), header_(std::move(header)) {}

  /// The text; kLimit if it is longer than kMostMetadataText.
  static Result<Content> Open(std::shared_ptr<const GgufMetadataText> text,
                              const ReadContext& context);

 private:
  class Window;
  struct Place {
    uint64_t offset = 0;
    GgufMetadataWriter::State state;
  };
  struct Places {
    std::vector<Place> places;
    uint64_t size = 0;
  };

  Result<std::shared_ptr<const Places>> Find(const ReadContext& context) const;
  Result<Places> Measure(const ReadContext& context) const;

  const std::shared_ptr<const Source> source_;
  const std::shared_ptr<const GgufHeader> header_;
  const uint64_t owner_ = NewOwner();
  mutable Mutex mutex_;
  mutable std::shared_ptr<const Places> places_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs::gguf

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/container/entry.h"

namespace ctxfs {

/// The rows of a report's table of entries, stored as JSON text, which takes a
/// fifth of the memory of JSON values.
class EntryRows {
 public:
  /// Stores at most `most_rows` rows in about `most_bytes` bytes.
  EntryRows(uint64_t most_rows, uint64_t most_bytes)
      : most_rows_(most_rows), most_bytes_(most_bytes) {}

  /// Appends the row of an entry if it fits.
  void Add(const EntryInfo& info);

  /// Number of stored rows, and bytes of their text.
  uint64_t rows() const { return rows_; }
  uint64_t bytes() const { return text_.size(); }

  /// {"words": [text], "rows": [[name or null, kind, codec, dtype, shape,
  /// checksum, elements or null, size, stored size, offset or null, note]]} as
  /// ScriptJson. Kind, codec and dtype are indexes of `words`; the shape is
  /// text such as "[2,3]", empty unless the entry is an array.
  std::string Text() const;

 private:
  /// Returns the index of `word` in "words"; adds it if it is new. A sound
  /// container has few words; beyond 1,000, new ones become "(other)".
  size_t Word(const std::string& word);

  const uint64_t most_rows_;
  const uint64_t most_bytes_;
  uint64_t rows_ = 0;
  std::string text_;
  std::map<std::string, size_t> words_;
};

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/formats/zip/directory.h"

namespace ctxfs::zip {

/// Attributes of the original file, from the directory.
struct Attributes {
  bool of_dos = false;  // DOS or Windows: a backslash is a separator
  bool directory = false;
  uint32_t mode = 0;  // of Unix; 0 if unknown
};

/// Collects members into a Directory.
class Collector {
 public:
  explicit Collector(Directory& directory) : directory_(directory) {}

  /// Adds a member and its names. Fails with kLimit if a limit is exceeded;
  /// `at` is the offset of that error.
  Status Add(Member member, std::string_view name, Bytes extra,
             const Attributes& attributes, uint64_t at);

  /// Finds members that overlap or have equal names, and writes the warnings. A
  /// member that extends past byte `limit`, where the directory starts, also
  /// overlaps.
  Status Finish(uint64_t limit, const ReadContext& context);

 private:
  Status MarkOverlaps(uint64_t limit, const ReadContext& context);
  Status FindRepeated(const ReadContext& context);
  Status Warn(const ReadContext& context);

  Directory& directory_;
};

}  // namespace ctxfs::zip

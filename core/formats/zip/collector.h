// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/formats/zip/directory.h"

namespace ctxfs::zip {

/// Collects members into a Directory.
class Collector {
 public:
  explicit Collector(Directory& directory) : directory_(directory) {}

  /// Adds a member with its names. `mode` is its Unix mode, 0 if unknown. Fails
  /// with kLimit, at byte `at`.
  Status Add(Member member, std::string_view name, Bytes extra, uint32_t mode,
             uint64_t at);

  /// Finds members that overlap or have equal names, and writes the warnings.
  /// `limit` is where the last member must end.
  Status Finish(uint64_t limit, const ReadContext& context);

 private:
  Status MarkOverlaps(uint64_t limit, const ReadContext& context);
  Status FindRepeated(const ReadContext& context);
  Status Warn(const ReadContext& context);

  Directory& directory_;
};

}  // namespace ctxfs::zip

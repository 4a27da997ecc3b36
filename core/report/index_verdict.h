// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/json/json.h"
#include "core/container/container.h"

namespace ctxfs {

/// The state of a container according to its index. No data is read, so wrong
/// checksums are not found.
struct IndexVerdict {
  enum class Outcome : uint8_t {
    kComplete,    // everything that the index names is there
    kPartial,     // a part of the file is not shown
    kIncomplete,  // a loader would not get the whole model
    kDamaged,     // the container or entries have faults
    kCut,         // the file is shorter than its index requires
  };
  Outcome outcome = Outcome::kComplete;
  std::string text;  // for people

  /// "complete", "partial", "incomplete", "damaged" or "cut".
  std::string_view Name() const;

  /// `info` is the container's info.json. If generating that costs too much,
  /// `info` may be an empty object, but then the outcome is never kIncomplete.
  static IndexVerdict Of(const Container& container, const Json& info);
};

}  // namespace ctxfs

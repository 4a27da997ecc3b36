// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/json/json.h"
#include "core/container/container.h"

namespace ctxfs {

/// What the index of a container says of its state. No data is read, so wrong
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

  /// `info`: the container's info.json; an empty object if it was not made,
  /// because of its costs: the outcome is then not kIncomplete.
  static IndexVerdict Of(const Container& container, const Json& info);
};

}  // namespace ctxfs

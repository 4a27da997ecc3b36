// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/base/json/json_events.h"
#include "core/base/result.h"
#include "core/content/read_context.h"

namespace ctxfs::safetensors {

/// A receiver of events that limits the depth to kMaxDepth levels.
class JsonTextEvents : public JsonEvents {
 protected:
  /// OnOpen must call this first. If the new level is too deep, calls Fail and
  /// returns false.
  bool MayOpen();
};

/// Parses `text`, a single strict JSON value (docs/formats/safetensors.md,
/// section 5). Fails with kCorrupt (offset: byte within `text`), with the error
/// of `events`, or with kInterrupted.
Status ParseJsonText(std::string_view text, JsonTextEvents& events,
                     const ReadContext& context);

}  // namespace ctxfs::safetensors

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/base/json/json_events.h"
#include "core/base/result.h"
#include "core/content/read_context.h"

namespace ctxfs::safetensors {

/// Events of a text that may have at most kMaxDepth levels.
class JsonTextEvents : public JsonEvents {
 protected:
  /// To be called first by OnOpen; fails if it is one level too many.
  bool MayOpen();
};

/// Parses `text`, one strict JSON value (docs/formats/safetensors.md, section
/// 5). Fails with kCorrupt (offset: byte within `text`), with the error of
/// `events` if it stops, or with kInterrupted.
Status ParseJsonText(std::string_view text, JsonTextEvents& events,
                     const ReadContext& context);

}  // namespace ctxfs::safetensors

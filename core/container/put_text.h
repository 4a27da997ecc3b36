// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/base/json/json.h"
#include "core/base/text/text.h"

namespace ctxfs {

/// Sets `key` of `object` to `bytes`; also KEY_hex if they are not UTF-8.
inline void PutText(Json& object, const char* key, std::string_view bytes) {
  object[key] = bytes;
  if (!IsUtf8(bytes)) object[std::string(key) + "_hex"] = Hex(bytes);
}

}  // namespace ctxfs

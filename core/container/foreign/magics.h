// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/base/bytes.h"

namespace ctxfs {

/// Returns the extension of a value whose type no one states, by its bytes:
/// "png", "jpg", "json", "txt" and the like; "bin" if nothing matches. The one
/// table of ctxfs: a file of such bytes has the same extension in every format
/// (docs/tree.md, section 7).
std::string_view ExtensionOf(Bytes value);

/// Whether `value` is a text that a reader can show: not empty, UTF-8, and
/// without control characters other than tab, line feed and carriage return.
bool IsReadableText(Bytes value);

}  // namespace ctxfs

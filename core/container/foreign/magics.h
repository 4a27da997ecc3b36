// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/base/bytes.h"

namespace ctxfs {

/// Chooses the extension for a value of undeclared type by its bytes: "png",
/// "jpg", "json", "txt" and the like; "bin" if nothing matches. All formats use
/// this function, so that equal bytes have the same extension in each
/// (docs/tree.md, section 7).
std::string_view ExtensionOf(Bytes value);

/// Whether `value` is a text that a reader can show: not empty, UTF-8, and
/// without control characters other than tab, line feed and carriage return.
bool IsReadableText(Bytes value);

}  // namespace ctxfs

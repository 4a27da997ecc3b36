// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/base/text/printable.h"

namespace ctxfs {

/// The character set of the environment's locale: kUtf8 if the first set
/// variable of LC_ALL, LC_CTYPE and LANG ends in ".UTF-8", else kAscii.
Charset LocaleCharset();

/// Returns a message as printed for people: Printable in the locale's character
/// set. The caller must have escaped names in it, with Quote for example.
std::string ShownText(std::string_view text);

/// Like ShownText, for a name: also escapes backslashes as \x5c, so that
/// distinct names are printed differently.
std::string ShownName(std::string_view name);

/// Like ShownName, for lists that programs read, too: in a pipe or file, UTF-8
/// names stay UTF-8 in every locale.
std::string ListedName(std::string_view name);

}  // namespace ctxfs

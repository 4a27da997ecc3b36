// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/base/text/printable.h"

namespace ctxfs {

/// What the locale of the environment can show: kUtf8 if the first of LC_ALL,
/// LC_CTYPE and LANG that is set ends in ".UTF-8", kAscii otherwise.
Charset LocaleCharset();

/// Returns a message as it is printed for people: Printable in the locale's
/// character set. Names in it must have been escaped, with Quote for example.
std::string ShownText(std::string_view text);

/// Returns a name as it is printed for people: the same, and backslashes as
/// \x5c, so that no two names are printed alike.
std::string ShownName(std::string_view name);

/// Like ShownName, for lists that other programs read, too: in a pipe or file,
/// names in UTF-8 are UTF-8 whatever the locale is.
std::string ListedName(std::string_view name);

}  // namespace ctxfs

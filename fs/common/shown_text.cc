// SPDX-License-Identifier: Apache-2.0
#include "fs/common/shown_text.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace ctxfs {
namespace {

std::string EscapedName(std::string_view name, Charset charset) {
  std::string shown;
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('\\', at), name.size());
    shown += Printable(name.substr(at, end - at), charset);
    if (end < name.size()) shown += "\\x5c";
    at = end + 1;
  }
  return shown;
}

}  // namespace

Charset LocaleCharset() {
  for (const char* const variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    std::string locale = value;
    locale.resize(std::min(locale.find('@'), locale.size()));
    std::transform(locale.begin(), locale.end(), locale.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return locale.ends_with(".utf-8") || locale.ends_with(".utf8")
               ? Charset::kUtf8
               : Charset::kAscii;
  }
  return Charset::kAscii;
}

std::string ShownText(std::string_view text) {
  return Printable(text, LocaleCharset());
}

std::string ShownName(std::string_view name) {
  return EscapedName(name, LocaleCharset());
}

std::string ListedName(std::string_view name) {
  // Static, because a listing may have millions of names.
  static const Charset charset =
      ::isatty(STDOUT_FILENO) == 1 ? LocaleCharset() : Charset::kUtf8;
  return EscapedName(name, charset);
}

}  // namespace ctxfs

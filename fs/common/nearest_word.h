// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ctxfs {

/// Returns the word of `words` that `typed` was probably meant to be: a word
/// that begins with it, or else the nearest by edit distance, if that is at
/// most a third of the letters typed (but at least 1). Empty if there is none.
std::string_view NearestWord(std::string_view typed,
                             const std::vector<std::string_view>& words);

/// " (did you mean 'WORD'?)" with `prefix` before the word, or nothing.
std::string DidYouMean(std::string_view typed,
                       const std::vector<std::string_view>& words,
                       std::string_view prefix = "");

}  // namespace ctxfs

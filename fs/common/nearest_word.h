// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ctxfs {

/// Finds the word that `typed` was probably meant to be, of words that are
/// offered one by one: the first word that begins with `typed` (of 2 bytes or
/// more), or else the nearest by edit distance. A word is near at a distance of
/// up to a third of the length of `typed`, or of 1 if that is more, unless
/// every letter of the word is wrong.
class NearestWordFinder {
 public:
  /// Words of more than `longest` bytes are not near, and no word is near a
  /// longer `typed`.
  NearestWordFinder(std::string_view typed, size_t longest);

  void Offer(std::string_view word);
  /// The first of the nearest words; empty if there is none.
  const std::string& nearest() const { return nearest_; }

 private:
  const std::string typed_;
  const size_t longest_;
  bool begun_ = false;  // nearest_ begins with typed_
  size_t least_;        // the distance of a nearer word is less
  std::string nearest_;
};

/// Maximum number of names of a directory that commands offer to a
/// NearestWordFinder.
constexpr size_t kMaxNamesOffered = 20'000;
/// Maximum length in bytes of such a name.
constexpr size_t kMaxNearNameBytes = 128;

/// Returns the word of `words` that `typed` was probably meant to be: a word
/// that NearestWordFinder finds. Empty if there is none.
std::string_view NearestWord(std::string_view typed,
                             const std::vector<std::string_view>& words);

/// Returns " (did you mean 'WORD'?)", where WORD is `prefix` and the
/// NearestWord; empty if no word is near.
std::string DidYouMean(std::string_view typed,
                       const std::vector<std::string_view>& words,
                       std::string_view prefix = "");

}  // namespace ctxfs

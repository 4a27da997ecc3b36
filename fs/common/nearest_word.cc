// SPDX-License-Identifier: Apache-2.0
#include "fs/common/nearest_word.h"

#include <algorithm>
#include <cstddef>

namespace ctxfs {
namespace {

// Maximum length in bytes of a word that may be a misspelt option.
constexpr size_t kLongest = 64;

/// The optimal string alignment distance: the number of insertions, deletions,
/// replacements and swaps of neighbours.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

NearestWordFinder::NearestWordFinder(std::string_view typed, size_t longest)
    : typed_(typed),
      longest_(longest),
      least_(std::max<size_t>(typed.size() / 3, 1) + 1) {}

void NearestWordFinder::Offer(std::string_view word) {
  const size_t typed = typed_.size();
  if (typed == 0 || begun_ || std::max(typed, word.size()) > longest_) return;
  if (typed >= 2 && word.starts_with(typed_)) {
    begun_ = true;
    nearest_ = word;
    return;
  }
  // The distance is at least the difference of the lengths.
  if (std::max(typed, word.size()) - std::min(typed, word.size()) >= least_) {
    return;
  }
  const size_t distance = Distance(typed_, word);
  // A word in which every letter is wrong is not similar.
  if (distance >= least_ || distance >= word.size()) return;
  least_ = distance;
  nearest_ = word;
}

std::string_view NearestWord(std::string_view typed,
                             const std::vector<std::string_view>& words) {
  NearestWordFinder finder(typed, kLongest);
  for (const std::string_view word : words) finder.Offer(word);
  const auto found = std::ranges::find(words, finder.nearest());
  return found == words.end() ? std::string_view() : *found;
}

std::string DidYouMean(std::string_view typed,
                       const std::vector<std::string_view>& words,
                       std::string_view prefix) {
  const std::string_view word = NearestWord(typed, words);
  if (word.empty()) return "";
  return " (did you mean '" + std::string(prefix) + std::string(word) + "'?)";
}

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#include "fs/common/url_mistake.h"

#include <algorithm>
#include <cctype>

namespace ctxfs {
namespace {

struct Beginning {
  std::string_view written;  // in lower case, without slashes behind it
  std::string_view meant;
};

constexpr Beginning kBeginnings[] = {
    {"http:", "http://"},
    {"https:", "https://"},
    {"s3:", "s3://"},
    {"hf:", "hf://"},
    {"file:", "/"},
    {"huggingface.co/", "hf://"},
    {"www.", "https://www."},
    {"hf.co/", "hf://"},
    {"localhost:", "http://localhost:"},
    {"127.0.0.1:", "http://127.0.0.1:"},
    {"[::1]:", "http://[::1]:"},
};

bool StartsWithWord(std::string_view text, std::string_view word) {
  return text.size() > word.size() &&
         std::equal(word.begin(), word.end(), text.begin(), [](char a, char b) {
           return a == std::tolower(static_cast<unsigned char>(b));
         });
}

}  // namespace

std::string MeantUrl(std::string_view operand) {
  for (const auto& [written, meant] : kBeginnings) {
    if (!StartsWithWord(operand, written)) continue;
    const size_t rest = operand.find_first_not_of('/', written.size());
    if (rest == std::string_view::npos) return "";
    const std::string_view named = operand.substr(rest);
    // Every model of the hub has an owner, even one that once had a single word
    // as its name.
    const bool lacks_owner =
        meant == "hf://" && named.find('/') == std::string_view::npos;
    return std::string(meant) + (lacks_owner ? "ORG/" : "") +
           std::string(named);
  }
  return "";
}

}  // namespace ctxfs

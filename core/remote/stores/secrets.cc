// SPDX-License-Identifier: Apache-2.0
#include "core/remote/stores/secrets.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "core/base/text/printable.h"
#include "core/base/text/text.h"
#include "core/base/text/whole_number.h"

namespace ctxfs::remote {
namespace {

constexpr std::string_view kMask = "***";
// AreIn does not search for spellings (verbatim, base64, hexadecimal) of fewer
// bytes, because they may be common words.
constexpr size_t kLongSecret = 8;
// If a text ends with so many bytes of a secret, these count as a truncated
// secret.
constexpr size_t kCutSecret = 5;
constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kEndsOfValue = " \t\r\n&;,<>\"'|)";

char LowerChar(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

std::string LowerText(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), &LowerChar);
  return lower;
}

std::optional<unsigned> HexAt(std::string_view text, size_t digits) {
  unsigned value = 0;
  if (text.size() < digits) return std::nullopt;
  for (const char c : text.substr(0, digits)) {
    const char lower = LowerChar(c);
    const bool decimal = c >= '0' && c <= '9';
    if (!decimal && (lower < 'a' || lower > 'f')) return std::nullopt;
    value = value * 16 +
            static_cast<unsigned>(decimal ? c - '0' : lower - 'a' + 10);
  }
  return value;
}

/// A character, and the number of bytes that encode it.
struct Spelled {
  char c;
  size_t bytes;
};

std::optional<Spelled> SpelledBy(std::optional<unsigned> value, size_t bytes) {
  if (!value || *value > 0xFF) return std::nullopt;
  return Spelled{static_cast<char>(*value), bytes};
}

/// Decodes %XX. Any number of "25" may precede XX, from repeated encoding.
std::optional<Spelled> PercentEscape(std::string_view text) {
  size_t at = 1;
  while (text.substr(at).starts_with("25") && HexAt(text.substr(at + 2), 2)) {
    at += 2;
  }
  return SpelledBy(HexAt(text.substr(at), 2), at + 2);
}

/// Decodes \xNN, \uNNNN, or a backslash before a character.
std::optional<Spelled> BackslashEscape(std::string_view text) {
  if (text.size() < 2) return std::nullopt;
  const char kind = LowerChar(text[1]);
  if (kind == 'x') return SpelledBy(HexAt(text.substr(2), 2), 4);
  if (kind == 'u') return SpelledBy(HexAt(text.substr(2), 4), 6);
  return Spelled{text[1], 2};
}

/// Decodes &#N;, &#xN; or a name such as &amp;.
std::optional<Spelled> Entity(std::string_view text) {
  constexpr size_t kMax = 12;
  const size_t end = text.substr(0, kMax).find(';');
  if (end == text.npos) return std::nullopt;
  const std::string name = LowerText(text.substr(1, end - 1));
  if (name.starts_with("#x")) {
    return SpelledBy(
        WholeNumber<unsigned>(std::string_view(name).substr(2), 16), end + 1);
  }
  if (name.starts_with('#')) {
    return SpelledBy(WholeNumber<unsigned>(std::string_view(name).substr(1)),
                     end + 1);
  }
  constexpr std::pair<std::string_view, char> kNames[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [known, c] : kNames) {
    if (known == name) return Spelled{c, end + 1};
  }
  return std::nullopt;
}

/// The escape at the start of a non-empty `text`.
std::optional<Spelled> EscapeAt(std::string_view text) {
  switch (text.front()) {
    case '%':
      return PercentEscape(text);
    case '\\':
      return BackslashEscape(text);
    case '&':
      return Entity(text);
    default:
      return std::nullopt;
  }
}

std::string WithoutEscapes(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const Spelled next = EscapeAt(text).value_or(Spelled{text.front(), 1});
    plain += next.c;
    text.remove_prefix(next.bytes);
  }
  return plain;
}

/// Whether `c` may stand for `other`: a digit of base64 in URLs, or the '+' for
/// a blank in a query.
bool StandsFor(char c, char other) {
  return (c == '-' && other == '+') || (c == '_' && other == '/') ||
         (c == '+' && other == ' ');
}

/// The number of bytes at the start of a non-empty `text` that encode `c`; 0:
/// none.
size_t SpellingOf(std::string_view text, char c) {
  const auto escape = EscapeAt(text);
  if (escape && LowerChar(escape->c) == LowerChar(c)) return escape->bytes;
  const char first = text.front();
  return LowerChar(first) == LowerChar(c) || StandsFor(first, c) ? 1 : 0;
}

/// The number of bytes at the start of `text` that encode the secret; 0: none.
size_t Match(std::string_view text, std::string_view secret) {
  size_t at = 0;
  for (size_t i = 0; i < secret.size(); ++i) {
    if (at == text.size()) return i >= kCutSecret ? at : 0;
    const size_t spelled = SpellingOf(text.substr(at), secret[i]);
    if (spelled == 0) return 0;
    at += spelled;
  }
  return at;
}

/// The base64 digits of a secret at each alignment within a longer text: those
/// 6-bit groups that contain only bits of the secret.
std::array<std::string, 3> Base64Within(std::string_view secret) {
  std::array<std::string, 3> found;
  for (size_t before = 0; before < found.size(); ++before) {
    const std::string all =
        Base64(std::string(before, '\0') + std::string(secret));
    const size_t from = (before * 8 + 5) / 6;
    const size_t to = (before + secret.size()) * 8 / 6;
    if (to > from) found[before] = all.substr(from, to - from);
  }
  return found;
}

/// Copies a text and masks parts of it.
class Hider {
 public:
  explicit Hider(std::string_view text)
      : text_(text), lower_(LowerText(text)) {}

  std::string Run() {
    while (at_ < text_.size()) {
      if (HideHeader() || HideScheme() || HideUser() || HideKeyId() ||
          HideValue()) {
        continue;
      }
      Copy(1);
    }
    return std::move(shown_);
  }

 private:
  std::string_view rest() const { return std::string_view(lower_).substr(at_); }
  bool AtWord() const { return at_ == 0 || !IsWord(lower_[at_ - 1]); }
  static bool IsWord(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  }
  void Copy(size_t n) {
    for (const char c : text_.substr(at_, n)) {
      if (c == '?') in_query_ = true;
      if (kSpace.find(c) != kSpace.npos) in_query_ = false;
      shown_ += c;
      ++at_;
    }
  }
  /// Masks the text up to one of `ends`.
  void Hide(std::string_view ends) {
    const size_t end = std::min(text_.find_first_of(ends, at_), text_.size());
    if (end > at_) shown_ += kMask;
    at_ = end;
  }

  /// Masks the rest of the line in "Authorization: ...", also in quotes.
  bool HideHeader() {
    constexpr std::string_view kHeaders[] = {"authorization", "cookie",
                                             "-token"};
    for (const std::string_view name : kHeaders) {
      if (!rest().starts_with(name)) continue;
      const size_t mark = rest().find_first_not_of(" \t\"'\\", name.size());
      if (mark == rest().npos || (rest()[mark] != ':' && rest()[mark] != '=')) {
        continue;
      }
      Copy(mark + 1);
      Copy(std::min(rest().find_first_not_of(" \t"), rest().size()));
      Hide("\r\n");
      return true;
    }
    return false;
  }

  /// Masks the word after "Bearer", "Basic" or "Negotiate", except a word of
  /// lower-case letters alone, which is prose: "bearer token".
  bool HideScheme() {
    constexpr std::string_view kSchemes[] = {"bearer", "basic", "negotiate"};
    if (!AtWord()) return false;
    for (const std::string_view name : kSchemes) {
      if (!rest().starts_with(name)) continue;
      const size_t from = rest().find_first_not_of(" \t+", name.size());
      if (from == name.size() || from == rest().npos) continue;
      const std::string_view word = text_.substr(
          at_ + from,
          text_.find_first_of(kEndsOfValue, at_ + from) - at_ - from);
      if (std::ranges::all_of(word,
                              [](char c) { return c >= 'a' && c <= 'z'; })) {
        continue;
      }
      Copy(from);
      Hide(kEndsOfValue);
      return true;
    }
    return false;
  }

  /// Masks user and password in "://USER:PASSWORD@".
  bool HideUser() {
    constexpr std::string_view kStart = "://";
    if (!rest().starts_with(kStart)) return false;
    const size_t end = rest().find_first_of("/ \t\r\n\"'<>", kStart.size());
    const size_t at = rest().substr(0, end).rfind('@');
    if (at == rest().npos) return false;
    Copy(kStart.size());
    at_ += at - kStart.size();
    shown_ += kMask;
    return true;
  }

  /// Masks AKIA... and ASIA..., the IDs of AWS keys.
  bool HideKeyId() {
    constexpr size_t kLeast = 16;
    if (!AtWord() ||
        (!rest().starts_with("akia") && !rest().starts_with("asia"))) {
      return false;
    }
    const size_t end = std::min(
        text_.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", at_),
        text_.size());
    if (end - at_ < kLeast) return false;
    at_ = end;
    shown_ += kMask;
    return true;
  }

  /// Masks the value in "NAME=..." if it is in a query, or if NAME is that of a
  /// credential.
  bool HideValue() {
    if (text_[at_] != '=') return false;
    constexpr std::string_view kNames[] = {"credential", "signature", "token",
                                           "password",   "secret",    "key",
                                           "keyid",      "sig",       "auth"};
    const std::string_view before = std::string_view(lower_).substr(0, at_);
    const bool credential = std::ranges::any_of(
        kNames,
        [before](std::string_view name) { return before.ends_with(name); });
    if (!in_query_ && !credential) return false;
    Copy(1);
    while (at_ < text_.size() && kSpace.find(text_[at_]) == kSpace.npos &&
           (text_[at_] == '"' || text_[at_] == '\'')) {
      Copy(1);
    }
    Hide(kEndsOfValue);
    return true;
  }

  const std::string_view text_;
  const std::string lower_;
  std::string shown_;
  size_t at_ = 0;
  bool in_query_ = false;
};

}  // namespace

void Secrets::Add(std::string_view secret) {
  if (secret.empty()) return;
  spellings_.emplace_back(secret);
  for (std::string& digits : Base64Within(secret)) {
    if (digits.size() >= kCutSecret) spellings_.push_back(std::move(digits));
  }
  if (secret.size() >= kCutSecret) spellings_.push_back(Hex(secret));
}

std::string Secrets::WithoutKnown(std::string_view text) const {
  std::string hidden;
  while (!text.empty()) {
    size_t longest = 0;
    for (const std::string& secret : spellings_) {
      longest = std::max(longest, Match(text, secret));
    }
    hidden += longest > 0 ? kMask : text.substr(0, 1);
    text.remove_prefix(std::max<size_t>(longest, 1));
  }
  return hidden;
}

std::string Secrets::Shown(std::string_view text, size_t most) const {
  const std::string hidden = WithoutKnown(text);
  std::string shown = Hider(hidden).Run();
  // Text in the form of a credential may be escaped, too.
  const std::string plain = WithoutKnown(WithoutEscapes(hidden));
  std::string hidden_plain = Hider(plain).Run();
  if (hidden_plain != plain) shown = std::move(hidden_plain);
  return Printable(shown.substr(0, most));
}

bool Secrets::AreIn(std::string_view text) const {
  return std::ranges::any_of(spellings_, [text](const std::string& secret) {
    if (secret.size() < kLongSecret) return false;
    // Skips quickly: most bytes do not start an encoding of the first
    // character.
    const char first = LowerChar(secret.front());
    for (size_t at = 0; at < text.size(); ++at) {
      const char c = text[at];
      const bool candidate =
          LowerChar(c) == first ||
          std::string_view("%\\&-_+").find(c) != std::string_view::npos;
      if (candidate && Match(text.substr(at), secret) >= secret.size())
        return true;
    }
    return false;
  });
}

}  // namespace ctxfs::remote

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ctxfs::remote {

/// The secrets of a request, which messages about the response must not show: a
/// hostile or broken server echoes the head of a request. Even without added
/// secrets, everything that has the form of a credential is removed.
class Secrets {
 public:
  /// Adds a text to be hidden, verbatim and in base64 and hexadecimal.
  void Add(std::string_view secret);

  /// Prepares `text` from a server for a message: masks secrets, cuts the
  /// result to `most` bytes, and makes it printable. "***" replaces
  ///   secrets, also escaped as in URLs, XML or JSON, or truncated at the end;
  ///   the rest of a line after the name of a credential header;
  ///   the word after the name of an authorization scheme;
  ///   values of parameters such as signature= and of queries of URLs;
  ///   users and passwords of URLs, and key IDs of AWS.
  std::string Shown(std::string_view text, size_t most = 64) const;

  /// Whether `text` contains a secret, verbatim or escaped, in a spelling of at
  /// least 8 bytes.
  bool AreIn(std::string_view text) const;

 private:
  /// `text` with the added secrets masked.
  std::string WithoutKnown(std::string_view text) const;

  std::vector<std::string> spellings_;
};

}  // namespace ctxfs::remote

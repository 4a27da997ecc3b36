// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ctxfs::remote {

/// The secrets of a request, which messages about its answer must not show: a
/// server that is hostile or broken sends the head of a request back. Without
/// any added, texts still lose what is a credential by its form.
class Secrets {
 public:
  /// Adds a text that is hidden as it is, and in base64 and hexadecimal.
  void Add(std::string_view secret);

  /// Returns `text`, which a server sent, for a message: printable, at most
  /// `most` bytes before it was made so, and with "***" in place of
  ///   secrets, also with escapes of URLs, XML and JSON, or cut off at the end;
  ///   the rest of the line behind the name of a header for credentials;
  ///   what follows the name of an authorization scheme;
  ///   values of parameters such as signature= and of queries of URLs;
  ///   users and passwords of URLs, and key IDs of AWS.
  std::string Shown(std::string_view text, size_t most = 64) const;

  /// Whether `text` has a secret of at least 8 bytes, as it is or with escapes.
  bool AreIn(std::string_view text) const;

 private:
  /// `text` with the mask in place of added secrets.
  std::string WithoutKnown(std::string_view text) const;

  std::vector<std::string> spellings_;
};

}  // namespace ctxfs::remote

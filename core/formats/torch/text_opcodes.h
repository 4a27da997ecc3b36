// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Operands of protocol 0, which are lines of text (Python's pickletools).
namespace ctxfs::torch {

/// Returns the text of STRING, a Python bytes literal in quotes; nullopt for
/// another line.
std::optional<std::string> QuotedText(std::string_view line);

/// Returns the text of UNICODE, Latin-1 with \uXXXX and \UXXXXXXXX, as UTF-8;
/// nullopt for an escape that is incomplete or not a code point.
std::optional<std::string> EscapedText(std::string_view line);

/// Parses a line of 1 to 19 decimal digits; nullopt for any other.
std::optional<uint64_t> PlainNumber(std::string_view line);

}  // namespace ctxfs::torch

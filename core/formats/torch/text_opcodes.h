// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Operands of protocol 0, which are lines of text (pickletools of Python).
namespace ctxfs::torch {

/// The text of STRING: a bytes literal of Python with its quotes; nullopt if it
/// has none.
std::optional<std::string> QuotedText(std::string_view line);

/// The text of UNICODE, as UTF-8: Latin-1 with \uXXXX and \UXXXXXXXX; nullopt
/// for an incomplete escape or one of no code point.
std::optional<std::string> EscapedText(std::string_view line);

/// The number that a line of 1 to 19 decimal digits is; nullopt for any other.
std::optional<uint64_t> PlainNumber(std::string_view line);

}  // namespace ctxfs::torch

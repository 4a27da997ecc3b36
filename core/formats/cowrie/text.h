// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/base/bytes.h"

namespace ctxfs::cowrie {

// Cowrie's scalars in JSON (docs/formats/cowrie.md, section 2).

/// Converts a big-endian two's complement number to decimal, in quadratic time.
std::string BigInteger(Bytes bytes);

/// Inserts a decimal point `scale` digits from the right, after leading zeros
/// if necessary; if `scale` is negative, appends -scale zeros instead.
std::string Decimal(std::string digits, int scale);

/// Formats nanoseconds since 1970 as ISO 8601 in UTC. The fraction has 6 or 9
/// digits; none if it is 0.
std::string DateTime(int64_t ns);

/// Formats 16 bytes as 8-4-4-4-12 hex digits.
std::string Uuid(Bytes bytes);

}  // namespace ctxfs::cowrie

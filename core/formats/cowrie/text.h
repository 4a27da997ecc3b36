// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/base/bytes.h"

namespace ctxfs::cowrie {

// Cowrie's scalars in JSON (docs/formats/cowrie.md, section 2).

/// A big-endian two's complement number in decimal digits. Takes time that
/// grows with the square of its length.
std::string BigInteger(Bytes bytes);

/// `digits` with a decimal point `scale` places from the right. A negative
/// scale adds zeros.
std::string Decimal(std::string digits, int scale);

/// Nanoseconds since 1970 as ISO 8601 in UTC. The fraction of the second has 6
/// or 9 digits, or is missing if it is 0.
std::string DateTime(int64_t ns);

/// 16 bytes as 8-4-4-4-12 hex digits.
std::string Uuid(Bytes bytes);

}  // namespace ctxfs::cowrie

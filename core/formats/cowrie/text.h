// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/base/bytes.h"
#include "core/base/json.h"

namespace ctxfs {

/// What cowrie's scalars are in JSON (docs/cowrie.md, section 2).

/// A number, or its digits as a string where JSON readers would round it.
Json SignedJson(int64_t value);
Json UnsignedJson(uint64_t value);

/// A big-endian two's complement number in decimal digits: time goes with the
/// square of its length.
std::string BigInteger(Bytes bytes);

/// `digits` with the point `scale` places from the right; negative scales add
/// zeros.
std::string Decimal(std::string digits, int scale);

/// ISO 8601 in UTC of nanoseconds since 1970, with as many digits of a second
/// as there are.
std::string DateTime(int64_t ns);

/// 16 bytes as 8-4-4-4-12 hex digits.
std::string Uuid(Bytes bytes);

}  // namespace ctxfs

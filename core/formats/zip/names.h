// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"

namespace ctxfs::zip {

/// The data of the first extra field `id`; nullopt if there is none, or if a
/// field before it does not fit.
std::optional<Bytes> FindExtraField(Bytes extra, uint16_t id);

/// Returns the path of a member with the stored name `stored`, UTF-8 or code
/// page 437. Extra field 0x7075 replaces the name if it has the name's CRC. A
/// leading "./" is left out (docs/zip.md, section 9).
std::string ShownName(std::string_view stored, bool utf8, Bytes extra);

}  // namespace ctxfs::zip

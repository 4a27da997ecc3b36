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

/// The path of a member whose name is stored as `stored`: UTF-8 or code page
/// 437, replaced by extra field 0x7075 where that has the name's CRC, and
/// without a leading "./" (docs/zip.md, section 9).
std::string ShownName(std::string_view stored, bool utf8, Bytes extra);

}  // namespace ctxfs::zip

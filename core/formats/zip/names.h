// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"

namespace ctxfs::zip {

/// Returns the data of the first extra field `id`; nullopt if there is none, or
/// if a field before it is truncated.
std::optional<Bytes> FindExtraField(Bytes extra, uint16_t id);

/// Encoding of a stored name.
struct NameForm {
  bool utf8 = false;         // otherwise code page 437
  bool backslashes = false;  // a backslash separates (ReplaceBackslashes)
};

/// Returns the path of a member with the stored name `stored`. Extra field
/// 0x7075 replaces the name if it has the name's CRC. Removes a leading "./"
/// (docs/formats/zip.md, section 9).
std::string ShownName(std::string_view stored, NameForm form, Bytes extra);

/// Whether two stored names may be the same name (section 5). They may differ
/// in case, in slashes and backslashes, and in one part. This part must have
/// bytes beyond ASCII in one name, and in the other such bytes or only '?' and
/// '_'.
bool AreFormsOfOneName(std::string_view a, std::string_view b);

}  // namespace ctxfs::zip

// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zip/member_text.h"

#include <utility>

namespace ctxfs::zip {

Result<std::string> MemberText(const Archive& archive, uint32_t member,
                               uint64_t most, const ReadContext& context) {
  const Result<Content> content = archive.Open(member, context);
  if (!content && content.error().Permanent()) return std::string();
  if (!content) return content.error();
  if (content->size() > most) return std::string();
  Result<std::string> text = ReadAll(*content, context);
  if (!text && text.error().Permanent()) return std::string();
  return text;
}

Result<Json> MemberJson(const Archive& archive, uint32_t member, uint64_t most,
                        const ReadContext& context) {
  const std::string text =
      CTXFS_TRY(MemberText(archive, member, most, context));
  Result<ParsedJson> parsed = ParseJson(text, context);
  return parsed ? std::move(parsed->value) : Json();
}

}  // namespace ctxfs::zip

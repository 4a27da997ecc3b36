// SPDX-License-Identifier: Apache-2.0
#include "core/tree/nested_container.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/content/content_source.h"

namespace ctxfs {
namespace {

/// Whether the entry is stored neither compressed nor encrypted.
bool IsStoredPlain(const EntryInfo& info) {
  return info.codec == "none" && info.stored_size == info.size;
}

}  // namespace

Result<bool> IsContainerEntry(const Source& source, const FileTable& entries,
                              uint32_t entry, Cost most,
                              const ReadContext& context) {
  const EntryInfo info = entries.Describe(entry, context).value_or(EntryInfo{});
  if (info.size == 0) return false;
  const uint64_t size = std::min<uint64_t>(info.size, limits::kProbeBytes);
  if (IsStoredPlain(info)) {
    const Result<Buffer> head =
        ReadBuffer(source, info.offset, size, "head", context);
    if (head) return IsContainer(head->span());
    if (head.error().Permanent()) return false;
    return head.error();
  }
  if (most < Cost::kDecode) return true;
  const Result<Content> content = entries.Open(entry, context);
  if (!content && !content.error().Permanent()) return content.error();
  if (!content) return false;  // reading the entry reports the error
  Buffer head(static_cast<size_t>(size));
  const Status read = ReadInto(*content, 0, head.span(), context);
  if (read) return IsContainer(head.span());
  if (read.error().Permanent()) return false;
  return read.error();
}

Result<std::shared_ptr<const Source>> OpenContainerEntry(
    const std::shared_ptr<const Source>& source, const FileTable& entries,
    uint32_t entry, const ReadContext& context) {
  Content content = CTXFS_TRY(entries.Open(entry, context));
  const EntryInfo info = entries.Describe(entry, context).value_or(EntryInfo{});
  const std::optional<Range> stored = content.AsStored();
  if (!stored && content.size() > limits::kNestedBytes) {
    return Error{Code::kLimit,
                 fmt::format("a container of {} bytes is too large to be "
                             "decoded for a look inside",
                             content.size()),
                 info.offset};
  }
  CTXFS_TRY(content.Verify(context));
  if (stored) {
    return std::shared_ptr<const Source>(std::make_shared<const SliceSource>(
        stored->source, stored->offset, content.size()));
  }
  return std::shared_ptr<const Source>(std::make_shared<const ContentSource>(
      source, std::move(content), context.cache()));
}

}  // namespace ctxfs

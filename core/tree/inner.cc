// SPDX-License-Identifier: Apache-2.0
#include "core/tree/inner.h"

#include <algorithm>
#include <utility>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/content/content_source.h"

namespace ctxfs {
namespace {

constexpr std::string_view kExtensions[] = {
    "shard",  "mosh",   "smpl", "cshard",   "wshard", "gemm",
    "gshard", "tshard", "umsh", "manifest", "mcf",    "cvc",
    "mem8",   "m8a",    "ctx",  "sjgn",     "sjgz",   "cowrie"};

/// Whether the stored bytes are the entry's own.
bool IsStoredAsItIs(const EntryInfo& info) {
  return info.codec == "none" && info.stored_size == info.size;
}

}  // namespace

bool MayBeContainer(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view extension = name.substr(dot + 1);
  return std::find(std::begin(kExtensions), std::end(kExtensions), extension) !=
         std::end(kExtensions);
}

Result<bool> IsContainerEntry(const Container& container, uint32_t entry,
                              bool listing, const ReadContext& context) {
  const EntryInfo info = container.Describe(entry);
  if (info.size == 0) return false;
  const uint64_t size = std::min<uint64_t>(info.size, limits::kProbeBytes);
  if (IsStoredAsItIs(info)) {
    const Result<Buffer> head =
        ReadBuffer(*container.source(), info.offset, size, "head");
    if (head) return IsContainer(head->span());
    if (head.error().Permanent()) return false;
    return head.error();
  }
  if (listing) return true;
  const Result<Content> content = container.OpenEntry(entry, context);
  if (!content && !content.error().Permanent()) return content.error();
  if (!content) return false;  // the file beside it says why
  Buffer head(static_cast<size_t>(size));
  const Status read = ReadInto(*content, 0, head.span(), context);
  if (read) return IsContainer(head.span());
  if (read.error().Permanent()) return false;
  return read.error();
}

Result<std::shared_ptr<const Source>> OpenContainerEntry(
    const Container& container, uint32_t entry, const ReadContext& context) {
  Result<Content> content = container.OpenEntry(entry, context);
  if (!content) return std::move(content).error();
  const EntryInfo info = container.Describe(entry);
  if (IsStoredAsItIs(info)) {
    if (Status verified = content->Verify(context); !verified) {
      return std::move(verified).error();
    }
    return std::shared_ptr<const Source>(std::make_shared<const SliceSource>(
        container.source(), info.offset, info.size));
  }
  if (content->size() > limits::kNestedBytes) {
    return Error{Code::kLimit,
                 "a container of " + std::to_string(content->size()) +
                     " bytes is too large to be decoded for a look inside",
                 info.offset};
  }
  if (Status verified = content->Verify(context); !verified) {
    return std::move(verified).error();
  }
  return std::shared_ptr<const Source>(std::make_shared<const ContentSource>(
      container.source(), std::move(*content), context.cache()));
}

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#include "core/container/bytes_after.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/limits.h"
#include "core/container/foreign/foreign_formats.h"
#include "core/container/format.h"

namespace ctxfs {
namespace {

// Maximum number of zeros that are scanned. No writer pads with more.
constexpr uint64_t kMaxPadding = 16 * limits::kMiB;
constexpr uint64_t kPiece = 64 * limits::kKiB;

/// Returns the first non-zero byte from `at` on, or the size of the source.
/// After kMaxPadding zeros, returns their end.
Result<uint64_t> EndOfPadding(const Source& source, uint64_t at,
                              const ReadContext& context) {
  const uint64_t end = at + std::min(kMaxPadding, source.size() - at);
  while (at < end) {
    CTXFS_TRY(context.Check());
    const uint64_t size = std::min(kPiece, end - at);
    const Buffer piece =
        CTXFS_TRY(ReadBuffer(source, at, size, "padding", context));
    const Bytes bytes = piece.span();
    const auto other = std::ranges::find_if(
        bytes, [](std::byte one) { return one != std::byte{0}; });
    at += static_cast<uint64_t>(other - bytes.begin());
    if (other != bytes.end()) return at;
  }
  return at;
}

}  // namespace

bool AllZero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](std::byte one) { return one == std::byte{0}; });
}

std::string FormatText(Bytes head, const FormatSet* formats) {
  const Format* const format = formats == nullptr ? nullptr : formats->Of(head);
  if (format != nullptr) return "start like " + std::string(format->name);
  const ForeignFormat* const foreign = RecogniseForeign(head);
  return foreign == nullptr ? "" : "start like " + std::string(foreign->name);
}

Result<Warning> BytesAfter(const Source& source, uint64_t at, std::string text,
                           const FormatSet* formats,
                           const ReadContext& context) {
  const uint64_t start = CTXFS_TRY(EndOfPadding(source, at, context));
  if (start >= source.size()) {
    return Warning{std::move(text) + ", and are all zero", at};
  }
  const uint64_t size =
      std::min<uint64_t>(limits::kProbeBytes, source.size() - start);
  const Buffer head = CTXFS_TRY(
      ReadBuffer(source, start, size, "bytes after the container", context));
  const std::string format = FormatText(head.span(), formats);
  if (format.empty()) return Warning{std::move(text), at};
  text += start == at ? ", and " + format
                      : fmt::format(", which from byte {} {}", start, format);
  return Warning{std::move(text), at, Severity::kPartial};
}

}  // namespace ctxfs

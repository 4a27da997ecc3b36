// SPDX-License-Identifier: Apache-2.0
#include "core/compressed/stored_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace ctxfs {

Result<Bytes> StoredReader::Peek(const Request& request, size_t least) {
  constexpr size_t kPiece = size_t{256} << 10;
  const uint64_t left = source_->size() - std::min(source_->size(), end_);
  if (held_ < least && left > 0) {
    const size_t wanted = std::max(
        static_cast<size_t>(std::min<uint64_t>(kPiece, held_ + left)), least);
    const size_t back = std::min(start_, kBack);
    Buffer larger(buffer_.size() < kBack + wanted ? kBack + wanted : 0);
    std::byte* const to = larger.size() > 0 ? larger.data() : buffer_.data();
    if (back + held_ > 0) {
      std::memmove(to, buffer_.data() + start_ - back, back + held_);
    }
    if (larger.size() > 0) buffer_ = std::move(larger);
    start_ = back;
    const auto more =
        static_cast<size_t>(std::min<uint64_t>(wanted - held_, left));
    CTXFS_TRY(source_->ReadAt(
        end_, buffer_.span().subspan(start_ + held_, more),
        request.With(Ahead{left - more, Ahead::Likelihood::kIfOnward})));
    held_ += more;
    end_ += more;
  }
  return Bytes(buffer_.span()).subspan(start_, held_);
}

void StoredReader::MoveTo(uint64_t offset) {
  if (offset >= at() && offset <= end_) {
    Skip(static_cast<size_t>(offset - at()));
    return;
  }
  end_ = offset;
  start_ = held_ = 0;
}

void StoredReader::GoBack(size_t bytes) {
  if (bytes <= start_) {
    start_ -= bytes;
    held_ += bytes;
    return;
  }
  end_ = at() - std::min<uint64_t>(at(), bytes);
  start_ = held_ = 0;  // read again
}

Status StoredReader::ExpectPadding(const char* format, const Request& request) {
  const uint64_t first = at();
  while (!AtEnd()) {
    CTXFS_TRY(request.Check());
    const Bytes bytes = CTXFS_TRY(Peek(request));
    const bool zero = std::all_of(bytes.begin(), bytes.end(), [](std::byte b) {
      return b == std::byte{0};
    });
    if (!zero) {
      return Error{Code::kCorrupt,
                   fmt::format("{}: the last {} bytes of the file are not of "
                               "the compressed data",
                               format, source_->size() - first),
                   first};
    }
    Skip(bytes.size());
  }
  return {};
}

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#include "core/formats/gguf/reader.h"

#include <algorithm>
#include <utility>

#include "core/base/heap/heap_allowance.h"

namespace ctxfs::gguf {

void GgufReader::Truncated() {
  if (error_) return;
  error_ = Error{Code::kCorrupt, "the file ends within its header", at_};
}

const std::byte* GgufReader::Window(uint64_t bytes) {
  if (error_) return nullptr;
  if (bytes > remaining()) {
    Truncated();
    return nullptr;
  }
  if (at_ < window_at_ || !InBounds(at_ - window_at_, bytes, window_.size())) {
    const uint64_t size = std::min(window_bytes_, remaining());
    Result<Buffer> read = ReadBuffer(source_, at_, size, "header", request_);
    if (!read) {
      error_ = std::move(read).error();
      return nullptr;
    }
    window_ = *std::move(read);
    window_at_ = at_;
  }
  return window_.data() + (at_ - window_at_);
}

void GgufReader::Skip(uint64_t bytes) {
  if (error_) return;
  if (bytes > remaining()) return Truncated();
  at_ += bytes;
}

void GgufReader::Append(uint64_t bytes, std::string& text) {
  if (error_) return;
  if (bytes > remaining()) return Truncated();
  while (bytes > 0) {
    const uint64_t part = std::min(bytes, window_bytes_);
    const std::byte* from = Window(part);
    if (from == nullptr) return;
    Status appended =
        AppendAdmitted(text, AsText({from, static_cast<size_t>(part)}));
    if (!appended) {
      error_ = std::move(appended).error();
      return;
    }
    at_ += part;
    bytes -= part;
  }
}

}  // namespace ctxfs::gguf

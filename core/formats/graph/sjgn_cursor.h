// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/io/source.h"

namespace ctxfs::graph {

/// Reads fields from [at, end) of a source, a few bytes at a time. Fails
/// permanently at the first field that does not fit.
class SjgnCursor {
 public:
  /// `source` and `request` must outlive this object.
  SjgnCursor(const Source& source, uint64_t at, uint64_t end,
             const Request& request)
      : source_(source), request_(request), at_(at), end_(end) {}

  bool ok() const { return status_.has_value(); }
  Error error() const { return status_.error(); }
  uint64_t at() const { return at_; }
  uint64_t remaining() const { return end_ - at_; }

  uint8_t U8() { return Field<uint8_t>(); }
  uint32_t U32() { return Field<uint32_t>(); }
  uint64_t U64() { return Field<uint64_t>(); }
  uint64_t Uvarint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint64_t byte = U8();
      if (shift == 63 && byte > 1) break;  // the tenth byte has one bit
      value |= (byte & 0x7FU) << shift;
      if (byte < 0x80) return value;
    }
    Fail("a number of more than 64 bits");
    return 0;
  }
  std::string Text() {
    const uint64_t length = Uvarint();
    if (length > remaining() || length > limits::kKiB) {
      Fail("a text that is too long");
      return {};
    }
    std::string text(static_cast<size_t>(length), '\0');
    Fill(std::as_writable_bytes(std::span(text)));
    return text;
  }
  /// Skips `length` bytes and returns their start.
  uint64_t Skip(uint64_t length) {
    const uint64_t start = at_;
    if (length > remaining()) {
      Fail("ends too early");
    } else {
      at_ += length;
    }
    return start;
  }
  void Fail(const char* why) { Fail(Error{Code::kCorrupt, why, at_}); }
  void Fail(Error error) {
    if (ok()) status_ = std::move(error);
    at_ = end_;
  }

 private:
  template <typename T>
  T Field() {
    std::byte bytes[sizeof(T)] = {};
    Fill(bytes);
    return LoadLe<T>(bytes);
  }
  void Fill(MutableBytes out) {
    if (!ok()) return;
    if (out.size() > remaining()) return Fail("ends too early");
    // Fields are small and adjacent, so one read serves many.
    if (at_ < kept_at_ || at_ + out.size() > kept_at_ + kept_.size()) {
      const uint64_t n =
          std::max<uint64_t>(out.size(), std::min<uint64_t>(remaining(), 256));
      Result<Buffer> bytes =
          ReadBuffer(source_, at_, n, "a graph's fields", request_);
      if (!bytes) {
        status_ = std::move(bytes).error();
        return;
      }
      kept_ = std::move(*bytes);
      kept_at_ = at_;
    }
    std::copy_n(kept_.data() + (at_ - kept_at_), out.size(), out.data());
    at_ += out.size();
  }

  const Source& source_;
  const Request& request_;
  uint64_t at_;
  uint64_t end_;
  Status status_;
  Buffer kept_;
  uint64_t kept_at_ = 0;
};

}  // namespace ctxfs::graph

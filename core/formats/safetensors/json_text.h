// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/content/read_context.h"

namespace ctxfs::safetensors {

/// The events of one JSON text, in order. Strings and keys may be moved from.
class JsonEvents {
 public:
  enum class Scalar : uint8_t {
    kNull,
    kBool,
    kUnsigned,
    kOtherNumber,  // negative, with a point or exponent, or 2^64 and more
    kString,
  };

  virtual ~JsonEvents() = default;

  /// Each may Fail, which stops parsing. `number` is the value of a kUnsigned,
  /// `text` that of a kString. The text up to and with the event's last token
  /// has at() bytes.
  virtual void OnScalar(Scalar kind, uint64_t number, std::string& text) = 0;
  virtual void OnKey(std::string& key) = 0;
  virtual void OnOpen(bool is_array) = 0;
  virtual void OnClose() = 0;

 protected:
  size_t at() const { return at_; }
  void Fail(Error error) { error_ = std::move(error); }

 private:
  friend class JsonTextParser;
  size_t at_ = 0;
  std::optional<Error> error_;
};

/// Parses `text`, one strict JSON value of at most kMaxDepth
/// levels (docs/formats/safetensors.md, section 5). Fails with kCorrupt
/// (offset: byte within `text`), with the error of `events` if it stops, or
/// with kInterrupted.
Status ParseJsonText(std::string_view text, JsonEvents& events,
                     const ReadContext& context);

}  // namespace ctxfs::safetensors

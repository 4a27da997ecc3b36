// SPDX-License-Identifier: Apache-2.0
#include "core/formats/safetensors/json_text.h"

#include <fmt/core.h>

#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/json/json_input.h"
#include "core/base/text/text.h"
#include "core/formats/safetensors/limits.h"

namespace ctxfs::safetensors {

/// Counts the depth, and passes events on.
class JsonTextParser {
 public:
  JsonTextParser(JsonProgress& progress, JsonEvents& events,
                 const ReadContext& context)
      : progress_(progress), events_(events), context_(context) {}

  const Error& error() const { return *events_.error_; }

  bool null() { return Scalar(JsonEvents::Scalar::kNull); }
  bool boolean(bool /*value*/) { return Scalar(JsonEvents::Scalar::kBool); }
  // The library calls this for numbers with a minus sign only, -0 included.
  bool number_integer(Json::number_integer_t /*value*/) {
    return Scalar(JsonEvents::Scalar::kOtherNumber);
  }
  bool number_unsigned(Json::number_unsigned_t value) {
    return Scalar(JsonEvents::Scalar::kUnsigned, value);
  }
  bool number_float(Json::number_float_t /*value*/, const std::string& /*s*/) {
    return Scalar(JsonEvents::Scalar::kOtherNumber);
  }
  bool string(std::string& value) {
    if (Wanted()) events_.OnScalar(JsonEvents::Scalar::kString, 0, value);
    return !events_.error_;
  }
  bool binary(Json::binary_t& /*value*/) { return false; }
  bool start_object(size_t /*size*/) { return Open(false); }
  bool start_array(size_t /*size*/) { return Open(true); }
  bool key(std::string& value) {
    if (Wanted()) events_.OnKey(value);
    return !events_.error_;
  }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool parse_error(size_t position, const std::string& /*token*/,
                   const Json::exception& e) {
    events_.Fail({Code::kCorrupt, JsonFault(e.what()),
                  position == 0 ? 0 : position - 1});
    return false;
  }

 private:
  bool Scalar(JsonEvents::Scalar kind, uint64_t number = 0) {
    std::string none;
    if (Wanted()) events_.OnScalar(kind, number, none);
    return !events_.error_;
  }
  bool Open(bool is_array) {
    if (depth_++ == kMaxDepth) {
      events_.Fail({Code::kCorrupt,
                    fmt::format("JSON nested deeper than {} levels", kMaxDepth),
                    progress_.read() - 1});
    } else if (Wanted()) {
      events_.OnOpen(is_array);
    }
    return !events_.error_;
  }
  bool Close() {
    --depth_;
    events_.at_ = progress_.read();
    events_.OnClose();
    return !events_.error_;
  }
  /// Whether to go on: fails if the request was interrupted, or if there is no
  /// memory for what another event adds.
  bool Wanted() {
    constexpr uint64_t kEventsPerCheck = 16'384;
    progress_.BeginToken();
    events_.at_ = progress_.read();
    Status wanted = HeapAllowance::Check();
    if (wanted && ++count_ % kEventsPerCheck == 0) wanted = context_.Check();
    if (!wanted) events_.Fail(std::move(wanted).error());
    return wanted.has_value();
  }

  JsonProgress& progress_;
  JsonEvents& events_;
  const ReadContext& context_;
  size_t depth_ = 0;
  uint64_t count_ = 0;
};

Status ParseJsonText(std::string_view text, JsonEvents& events,
                     const ReadContext& context) {
  // The library would take a NUL for the end of the text.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return Error{Code::kCorrupt, "not JSON: it has a NUL byte", nul};
  }
  const auto as_is = [](const char* at) { return *at; };
  JsonProgress progress(text.data(), context);
  JsonTextParser parser(progress, events, context);
  const JsonCursor first(text.data(), &progress, as_is);
  const JsonCursor last(text.data() + text.size(), &progress, as_is);
  const bool parsed =
      Json::sax_parse(first, last, &parser, Json::input_format_t::json,
                      /*strict=*/true);
  CTXFS_TRY(HeapAllowance::Check());
  if (!progress.refusal()) return progress.refusal();
  if (parsed) return {};
  Error error = parser.error();
  if (error.Permanent() && !IsUtf8(text)) error.what += " (it is not UTF-8)";
  return error;
}

}  // namespace ctxfs::safetensors

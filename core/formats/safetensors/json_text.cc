// SPDX-License-Identifier: Apache-2.0
#include "core/formats/safetensors/json_text.h"

#include <fmt/core.h>

#include <utility>

#include "core/base/text/text.h"
#include "core/formats/safetensors/limits.h"

namespace ctxfs::safetensors {

bool JsonTextEvents::MayOpen() {
  if (depth() < kMaxDepth) return true;
  Fail({Code::kCorrupt,
        fmt::format("JSON nested deeper than {} levels", kMaxDepth), at() - 1});
  return false;
}

Status ParseJsonText(std::string_view text, JsonTextEvents& events,
                     const ReadContext& context) {
  // nlohmann's parser would treat a NUL as the end of the text.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return Error{Code::kCorrupt, "not JSON: it has a NUL byte", nul};
  }
  Result<size_t> read = ReadJson(text, JsonDialect::kStandard,
                                 JsonExtent::kWholeText, events, context);
  if (read) return {};
  Error error = std::move(read).error();
  if (error.Permanent() && !IsUtf8(text)) error.what += " (it is not UTF-8)";
  return error;
}

}  // namespace ctxfs::safetensors

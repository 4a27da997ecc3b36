// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ctxfs {

/// Returns the URL that `operand`, which is no file, was probably meant to be:
/// "hf:org/model", "HTTPS://host/x", "s3:/bucket/x", "www.host.org/x",
/// "localhost:8000/x", "huggingface.co/org/model". For "file:///x" the path.
/// Empty if it looks like none of these.
std::string MeantUrl(std::string_view operand);

}  // namespace ctxfs

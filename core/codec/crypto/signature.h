// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace ctxfs {

/// Whether `signature` is the ECDSA signature (DER) of `text` by the private
/// key of `public_key` (PEM, curve P-256, P-384 or P-521), over the SHA-2
/// digest of the curve's length. Fails with kUnsupported for any other kind of
/// key.
Result<bool> IsSignedBy(const std::string& public_key, std::string_view text,
                        std::string_view signature);

}  // namespace ctxfs

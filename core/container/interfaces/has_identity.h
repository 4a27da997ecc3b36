// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// A container that may be sealed: its writer stored digests of its decoded
/// entries, and the digest of these digests identifies the contents, however
/// they are compressed. A separate interface, because few formats have a seal.
class HasIdentity {
 public:
  virtual ~HasIdentity() = default;

  /// Returns the identity as 64 lower-case hex digits. Fails with kNotFound if
  /// the container is not sealed, and with kCorrupt if the seal violates its
  /// format. Container::Inspect compares the entries with the seal.
  virtual Result<std::string> SealedIdentity(
      const ReadContext& context) const = 0;
};

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/bytes.h"

struct evp_mac_ctx_st;

namespace ctxfs {

/// An incremental HMAC-SHA-256: only holders of the key can compute the digest
/// of any bytes.
class KeyedDigest {
 public:
  /// With an empty key, Raw and Hex return an empty text.
  explicit KeyedDigest(std::string_view key);
  void Update(Bytes bytes);
  /// Returns the 32 bytes of the digest; empty without a key, or if the library
  /// failed. Only one call of Raw or Hex is allowed.
  std::string Raw();
  /// Like Raw, but returns the first 16 bytes, as 32 lower-case hex digits.
  std::string Hex();

 private:
  struct Free {
    void operator()(evp_mac_ctx_st* context) const;
  };
  std::unique_ptr<evp_mac_ctx_st, Free> context_;
  bool ok_ = false;
};

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/bytes.h"

struct evp_md_ctx_st;

namespace ctxfs {

enum class DigestKind : uint8_t { kMd5, kSha256 };

/// A message digest over bytes that come in pieces.
class Digest {
 public:
  explicit Digest(DigestKind kind);
  void Update(Bytes bytes);
  /// Returns the bytes of the digest; empty if the library failed. This or Hex
  /// may be called once.
  std::string Raw();
  /// The same as lower-case hex digits.
  std::string Hex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
  bool ok_ = false;
};

/// SHA-256: 64 hex digits.
class Sha256 : public Digest {
 public:
  Sha256() : Digest(DigestKind::kSha256) {}
};

/// MD5: 32 hex digits. It detects accidents only, because anyone can make files
/// that collide.
class Md5 : public Digest {
 public:
  Md5() : Digest(DigestKind::kMd5) {}
};

}  // namespace ctxfs

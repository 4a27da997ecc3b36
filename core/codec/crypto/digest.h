// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/bytes.h"

struct evp_md_ctx_st;
struct XXH3_state_s;

namespace ctxfs {

enum class DigestKind : uint8_t { kMd5, kSha1, kSha256 };

/// An incremental message digest.
class Digest {
 public:
  explicit Digest(DigestKind kind);
  void Update(Bytes bytes);
  /// Returns the bytes of the digest; empty if the library failed. Only one
  /// call of Raw or Hex is allowed.
  std::string Raw();
  /// Like Raw, as lower-case hex digits.
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

/// SHA-1: 40 hex digits. git names its objects by it. Like MD5, it is not
/// collision-resistant.
class Sha1 : public Digest {
 public:
  Sha1() : Digest(DigestKind::kSha1) {}
};

/// MD5: 32 hex digits. Detects accidents only: it is not collision-resistant.
class Md5 : public Digest {
 public:
  Md5() : Digest(DigestKind::kMd5) {}
};

/// XXH3, many times as fast as the digests above. Detects accidents only.
class Xxh3 {
 public:
  /// k64: 16 hex digits, as xxhsum(1) prints them. k128: 32 hex digits, for
  /// bytes that are stored on a disk for long.
  enum class Width : uint8_t { k64, k128 };

  explicit Xxh3(Width width = Width::k64);
  void Update(Bytes bytes);
  /// Returns the digest; empty if memory ran out.
  std::string Hex() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  const Width width_;
  std::unique_ptr<XXH3_state_s, Free> state_;
};

/// XXH3 of 128 bits.
class Xxh128 : public Xxh3 {
 public:
  Xxh128() : Xxh3(Width::k128) {}
};

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"

namespace ctxfs {

/// Algorithms whose names occur in data sets, the fastest first.
enum class HashAlgorithm : uint8_t {
  kXxh3,
  kXxh128,
  kXxh64,
  kXxh32,
  kSha1,
  kSha256,
  kBlake2b,
  kMd5,
  kSha512,
  kSha224,
  kSha384,
  kBlake2s,
  kSha3x224,
  kSha3x256,
  kSha3x384,
  kSha3x512,
};

/// The algorithm called `name`, such as "xxh64", "sha3_256" or "blake2b".
std::optional<HashAlgorithm> HashNamed(std::string_view name);
std::string_view HashName(HashAlgorithm algorithm);

/// The digest that some bytes should have.
struct ExpectedHash {
  HashAlgorithm algorithm = HashAlgorithm::kXxh3;
  std::string hex;  // in lower case; xxHash in big-endian order

  /// "sha1:8cae75...".
  std::string Text() const;
};

/// Computes a digest incrementally.
class Hasher {
 public:
  class Implementation;

  explicit Hasher(HashAlgorithm algorithm);
  ~Hasher();
  Hasher(Hasher&& other) noexcept;

  void Update(Bytes bytes);
  /// Returns the digest as hex digits; empty if the library failed. Must be
  /// called once.
  std::string Hex();

 private:
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace ctxfs

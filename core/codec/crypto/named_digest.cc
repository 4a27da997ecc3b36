// SPDX-License-Identifier: Apache-2.0
#include "core/codec/crypto/named_digest.h"

#include <fmt/core.h>
#include <openssl/evp.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "core/base/text/text.h"
#include "core/codec/crypto/digest.h"

namespace ctxfs {

class Hasher::Implementation {
 public:
  virtual ~Implementation() = default;
  virtual void Update(Bytes bytes) = 0;
  virtual std::string Hex() = 0;
};

namespace {

struct NamedAlgorithm {
  std::string_view name;
  HashAlgorithm algorithm;
  const EVP_MD* (*evp)();  // null: xxHash has it
};

// Indexed by HashAlgorithm; then further names of the same algorithms.
constexpr NamedAlgorithm kAlgorithms[] = {
    {"xxh3_64", HashAlgorithm::kXxh3, nullptr},
    {"xxh3_128", HashAlgorithm::kXxh128, nullptr},
    {"xxh64", HashAlgorithm::kXxh64, nullptr},
    {"xxh32", HashAlgorithm::kXxh32, nullptr},
    {"sha1", HashAlgorithm::kSha1, &EVP_sha1},
    {"sha256", HashAlgorithm::kSha256, &EVP_sha256},
    {"blake2b", HashAlgorithm::kBlake2b, &EVP_blake2b512},
    {"md5", HashAlgorithm::kMd5, &EVP_md5},
    {"sha512", HashAlgorithm::kSha512, &EVP_sha512},
    {"sha224", HashAlgorithm::kSha224, &EVP_sha224},
    {"sha384", HashAlgorithm::kSha384, &EVP_sha384},
    {"blake2s", HashAlgorithm::kBlake2s, &EVP_blake2s256},
    {"sha3_224", HashAlgorithm::kSha3x224, &EVP_sha3_224},
    {"sha3_256", HashAlgorithm::kSha3x256, &EVP_sha3_256},
    {"sha3_384", HashAlgorithm::kSha3x384, &EVP_sha3_384},
    {"sha3_512", HashAlgorithm::kSha3x512, &EVP_sha3_512},
    {"xxh128", HashAlgorithm::kXxh128, nullptr},
};

const NamedAlgorithm& Named(HashAlgorithm algorithm) {
  return kAlgorithms[static_cast<size_t>(algorithm)];
}

class EvpHasher final : public Hasher::Implementation {
 public:
  explicit EvpHasher(const EVP_MD* algorithm)
      : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    ok_ = context_ != nullptr &&
          EVP_DigestInit_ex(context_.get(), algorithm, nullptr) == 1;
  }
  void Update(Bytes bytes) override {
    ok_ = ok_ &&
          EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1;
  }
  std::string Hex() override {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    if (!ok_ || EVP_DigestFinal_ex(context_.get(), digest, &size) != 1) {
      return {};
    }
    return ctxfs::Hex({reinterpret_cast<const char*>(digest), size});
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
  bool ok_;
};

class Xxh32Hasher final : public Hasher::Implementation {
 public:
  Xxh32Hasher() { XXH32_reset(state_.get(), 0); }
  void Update(Bytes bytes) override {
    XXH32_update(state_.get(), bytes.data(), bytes.size());
  }
  std::string Hex() override {
    return fmt::format("{:08x}", XXH32_digest(state_.get()));
  }

 private:
  std::unique_ptr<XXH32_state_t, XXH_errorcode (*)(XXH32_state_t*)> state_{
      XXH32_createState(), &XXH32_freeState};
};

class Xxh64Hasher final : public Hasher::Implementation {
 public:
  Xxh64Hasher() { XXH64_reset(state_.get(), 0); }
  void Update(Bytes bytes) override {
    XXH64_update(state_.get(), bytes.data(), bytes.size());
  }
  std::string Hex() override {
    return fmt::format("{:016x}", XXH64_digest(state_.get()));
  }

 private:
  std::unique_ptr<XXH64_state_t, XXH_errorcode (*)(XXH64_state_t*)> state_{
      XXH64_createState(), &XXH64_freeState};
};

class Xxh3Hasher final : public Hasher::Implementation {
 public:
  explicit Xxh3Hasher(Xxh3::Width width) : state_(width) {}
  void Update(Bytes bytes) override { state_.Update(bytes); }
  std::string Hex() override { return state_.Hex(); }

 private:
  Xxh3 state_;
};

std::unique_ptr<Hasher::Implementation> MakeHasher(HashAlgorithm algorithm) {
  switch (algorithm) {
    case HashAlgorithm::kXxh3:
      return std::make_unique<Xxh3Hasher>(Xxh3::Width::k64);
    case HashAlgorithm::kXxh128:
      return std::make_unique<Xxh3Hasher>(Xxh3::Width::k128);
    case HashAlgorithm::kXxh64:
      return std::make_unique<Xxh64Hasher>();
    case HashAlgorithm::kXxh32:
      return std::make_unique<Xxh32Hasher>();
    default:
      return std::make_unique<EvpHasher>(Named(algorithm).evp());
  }
}

}  // namespace

std::optional<HashAlgorithm> HashNamed(std::string_view name) {
  const auto* const found =
      std::ranges::find(kAlgorithms, name, &NamedAlgorithm::name);
  if (found == std::end(kAlgorithms)) return std::nullopt;
  return found->algorithm;
}

std::string_view HashName(HashAlgorithm algorithm) {
  return Named(algorithm).name;
}

std::string ExpectedHash::Text() const {
  return std::string(HashName(algorithm)) + ":" + hex;
}

Hasher::Hasher(HashAlgorithm algorithm)
    : implementation_(MakeHasher(algorithm)) {}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&& other) noexcept = default;

void Hasher::Update(Bytes bytes) { implementation_->Update(bytes); }
std::string Hasher::Hex() { return implementation_->Hex(); }

}  // namespace ctxfs

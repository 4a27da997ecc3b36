// SPDX-License-Identifier: Apache-2.0
#include "core/codec/crypto/digest.h"

#include <fmt/core.h>
#include <openssl/evp.h>
#include <xxhash.h>

#include "core/base/text/text.h"

namespace ctxfs {
namespace {

const EVP_MD* AlgorithmOf(DigestKind kind) {
  switch (kind) {
    case DigestKind::kMd5:
      return EVP_md5();
    case DigestKind::kSha1:
      return EVP_sha1();
    default:
      return EVP_sha256();
  }
}

}  // namespace

void Digest::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

Digest::Digest(DigestKind kind) : context_(EVP_MD_CTX_new()) {
  ok_ = context_ != nullptr &&
        EVP_DigestInit_ex(context_.get(), AlgorithmOf(kind), nullptr) == 1;
}

void Digest::Update(Bytes bytes) {
  ok_ =
      ok_ && EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1;
}

std::string Digest::Raw() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  ok_ = ok_ && EVP_DigestFinal_ex(context_.get(), digest, &size) == 1;
  if (!ok_) return {};
  return {reinterpret_cast<const char*>(digest), size};
}

std::string Digest::Hex() { return ctxfs::Hex(Raw()); }

void Xxh3::Free::operator()(XXH3_state_s* state) const {
  XXH3_freeState(state);
}

Xxh3::Xxh3(Width width) : width_(width), state_(XXH3_createState()) {
  if (state_ == nullptr) return;
  if (width_ == Width::k64) {
    XXH3_64bits_reset(state_.get());
  } else {
    XXH3_128bits_reset(state_.get());
  }
}

void Xxh3::Update(Bytes bytes) {
  if (state_ == nullptr) return;
  if (width_ == Width::k64) {
    XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
  } else {
    XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
  }
}

std::string Xxh3::Hex() const {
  if (state_ == nullptr) return {};
  if (width_ == Width::k64) {
    return fmt::format("{:016x}", XXH3_64bits_digest(state_.get()));
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace ctxfs

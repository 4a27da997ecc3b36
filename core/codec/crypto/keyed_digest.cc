// SPDX-License-Identifier: Apache-2.0
#include "core/codec/crypto/keyed_digest.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <array>

#include "core/base/text/text.h"

namespace ctxfs {
namespace {

constexpr size_t kDigest = 32;  // bytes

struct FreeMac {
  void operator()(EVP_MAC* mac) const { EVP_MAC_free(mac); }
};

}  // namespace

void KeyedDigest::Free::operator()(evp_mac_ctx_st* context) const {
  EVP_MAC_CTX_free(context);
}

KeyedDigest::KeyedDigest(std::string_view key) {
  if (key.empty()) return;
  const std::unique_ptr<EVP_MAC, FreeMac> hmac(
      EVP_MAC_fetch(nullptr, OSSL_MAC_NAME_HMAC, nullptr));
  if (hmac != nullptr) context_.reset(EVP_MAC_CTX_new(hmac.get()));
  char sha256[] = "SHA256";
  const std::array<OSSL_PARAM, 2> parameters = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, sha256, 0),
      OSSL_PARAM_construct_end()};
  ok_ = context_ != nullptr &&
        EVP_MAC_init(context_.get(),
                     reinterpret_cast<const unsigned char*>(key.data()),
                     key.size(), parameters.data()) == 1;
}

void KeyedDigest::Update(Bytes bytes) {
  ok_ = ok_ &&
        EVP_MAC_update(context_.get(),
                       reinterpret_cast<const unsigned char*>(bytes.data()),
                       bytes.size()) == 1;
}

std::string KeyedDigest::Raw() {
  std::array<unsigned char, kDigest> digest{};
  size_t size = 0;
  ok_ = ok_ &&
        EVP_MAC_final(context_.get(), digest.data(), &size, digest.size()) == 1;
  if (!ok_) return {};
  return {reinterpret_cast<const char*>(digest.data()), size};
}

std::string KeyedDigest::Hex() {
  return ctxfs::Hex(Raw().substr(0, kDigest / 2));
}

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#include "core/codec/crypto/aead.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>

#include <algorithm>
#include <climits>
#include <memory>

namespace ctxfs {
namespace {

const unsigned char* Chars(Bytes bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

unsigned char* Chars(MutableBytes bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

OSSL_PARAM Octets(const char* name, Bytes bytes) {
  return OSSL_PARAM_construct_octet_string(
      name, const_cast<std::byte*>(bytes.data()), bytes.size());
}

}  // namespace

Result<Buffer> DeriveKey(const MasterKey& master, Bytes salt, Bytes info) {
  const std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> kdf(
      EVP_KDF_fetch(nullptr, "HKDF", nullptr), &EVP_KDF_free);
  const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> context(
      EVP_KDF_CTX_new(kdf.get()), &EVP_KDF_CTX_free);
  char digest[] = "SHA256";
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      Octets(OSSL_KDF_PARAM_KEY, master.bytes()),
      Octets(OSSL_KDF_PARAM_SALT, salt), Octets(OSSL_KDF_PARAM_INFO, info),
      OSSL_PARAM_construct_end()};
  Buffer key = SecretBuffer(MasterKey::kBytes, /*locked=*/true);
  if (context == nullptr || EVP_KDF_derive(context.get(), Chars(key.span()),
                                           key.size(), params) != 1) {
    return Error{Code::kNoMemory, "OpenSSL cannot derive the key"};
  }
  return key;
}

Result<Buffer> OpenSealed(Bytes key, Bytes aad, Bytes sealed,
                          const Interrupt& interrupt) {
  if (sealed.size() < kAeadNonceBytes + kAeadTagBytes ||
      sealed.size() > INT_MAX || aad.size() > INT_MAX ||
      key.size() != MasterKey::kBytes) {
    return Error{Code::kCorrupt, "too short for a nonce and a tag"};
  }
  const Bytes nonce = sealed.first(kAeadNonceBytes);
  const Bytes tag = sealed.last(kAeadTagBytes);
  const Bytes body = sealed.subspan(
      kAeadNonceBytes, sealed.size() - kAeadNonceBytes - kAeadTagBytes);
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> cipher(
      EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  int n = 0;
  if (cipher == nullptr ||
      EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, Chars(key),
                         Chars(nonce)) != 1 ||
      EVP_DecryptUpdate(cipher.get(), nullptr, &n, Chars(aad),
                        static_cast<int>(aad.size())) != 1) {
    return Error{Code::kNoMemory, "OpenSSL cannot start AES-256-GCM"};
  }
  Buffer plain = SecretBuffer(body.size());
  unsigned char nothing[1] = {};  // for Final, which writes nothing
  for (size_t at = 0; at < body.size(); at += kBytesPerCheck) {
    CTXFS_TRY(interrupt.Check());
    const size_t size = std::min(kBytesPerCheck, body.size() - at);
    if (EVP_DecryptUpdate(cipher.get(), Chars(plain.span().subspan(at, size)),
                          &n, Chars(body.subspan(at, size)),
                          static_cast<int>(size)) != 1) {
      return Error{Code::kCorrupt, "cannot be decrypted"};
    }
  }
  if (EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG,
                          static_cast<int>(tag.size()),
                          const_cast<unsigned char*>(Chars(tag))) != 1 ||
      EVP_DecryptFinal_ex(cipher.get(), nothing, &n) != 1) {
    return Error{Code::kChecksum,
                 "the tag does not match: damaged, renamed, or another key"};
  }
  return plain;
}

}  // namespace ctxfs

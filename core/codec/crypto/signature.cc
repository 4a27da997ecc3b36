// SPDX-License-Identifier: Apache-2.0
#include "core/codec/crypto/signature.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>

namespace ctxfs {
namespace {

template <auto kFree>
struct FreeWith {
  template <typename T>
  void operator()(T* object) const {
    (void)kFree(object);
  }
};
using Bio = std::unique_ptr<BIO, FreeWith<&BIO_free>>;
using Key = std::unique_ptr<EVP_PKEY, FreeWith<&EVP_PKEY_free>>;
using Context = std::unique_ptr<EVP_MD_CTX, FreeWith<&EVP_MD_CTX_free>>;

const unsigned char* BytesOf(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// The digest for a curve; null for an unsupported size.
const EVP_MD* DigestFor(const EVP_PKEY& key) {
  switch (EVP_PKEY_bits(&key)) {
    case 256:
      return EVP_sha256();
    case 384:
      return EVP_sha384();
    case 521:
      return EVP_sha512();
    default:
      return nullptr;
  }
}

}  // namespace

Result<bool> IsSignedBy(const std::string& public_key, std::string_view text,
                        std::string_view signature) {
  const Bio bio(
      BIO_new_mem_buf(public_key.data(), static_cast<int>(public_key.size())));
  const Key key(bio == nullptr ? nullptr
                               : PEM_read_bio_PUBKEY(bio.get(), nullptr,
                                                     nullptr, nullptr));
  const bool curve =
      key != nullptr && EVP_PKEY_get_base_id(key.get()) == EVP_PKEY_EC;
  const EVP_MD* const digest = curve ? DigestFor(*key) : nullptr;
  if (digest == nullptr) {
    return Error{Code::kUnsupported,
                 "not a public key of P-256, P-384 or P-521 in PEM"};
  }
  const Context context(EVP_MD_CTX_new());
  if (context == nullptr || EVP_DigestVerifyInit(context.get(), nullptr, digest,
                                                 nullptr, key.get()) != 1) {
    return Error{Code::kNoMemory, "no verification of signatures"};
  }
  return EVP_DigestVerify(context.get(), BytesOf(signature), signature.size(),
                          BytesOf(text), text.size()) == 1;
}

}  // namespace ctxfs

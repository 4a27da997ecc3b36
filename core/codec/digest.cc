// SPDX-License-Identifier: Apache-2.0
#include "core/codec/digest.h"

#include <openssl/evp.h>

#include "core/base/text.h"

namespace ctxfs {

void Sha256::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  ok_ = context_ != nullptr &&
        EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1;
}

void Sha256::Update(Bytes bytes) {
  ok_ =
      ok_ && EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1;
}

std::string Sha256::Hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  ok_ = ok_ && EVP_DigestFinal_ex(context_.get(), digest, &size) == 1;
  if (!ok_) return {};
  return ctxfs::Hex({reinterpret_cast<const char*>(digest), size});
}

}  // namespace ctxfs

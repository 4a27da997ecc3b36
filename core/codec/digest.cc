// SPDX-License-Identifier: Apache-2.0
#include "core/codec/digest.h"

#include <openssl/evp.h>

#include "core/base/text.h"

namespace ctxfs {

void Digest::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

Digest::Digest(DigestKind kind) : context_(EVP_MD_CTX_new()) {
  const EVP_MD* algorithm = kind == DigestKind::kMd5 ? EVP_md5() : EVP_sha256();
  ok_ = context_ != nullptr &&
        EVP_DigestInit_ex(context_.get(), algorithm, nullptr) == 1;
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

}  // namespace ctxfs

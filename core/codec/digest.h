// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/base/bytes.h"

struct evp_md_ctx_st;

namespace ctxfs {

/// SHA-256 over bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  void Update(Bytes bytes);
  /// The digest as 64 lower-case hex digits; empty if the library failed. To be
  /// called once.
  std::string Hex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
  bool ok_ = false;
};

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/bytes.h"
#include "core/base/interrupt.h"
#include "core/base/result.h"
#include "core/base/secret.h"

namespace ctxfs {

constexpr size_t kAeadNonceBytes = 12;
constexpr size_t kAeadTagBytes = 16;

/// Derives the 32-byte key of an entry by HKDF-SHA256, in locked memory that
/// core dumps omit (docs/formats/conventions.md, section 1).
Result<Buffer> DeriveKey(const MasterKey& master, Bytes salt, Bytes info);

/// Decrypts `sealed`, which is nonce, ciphertext and tag, by AES-256-GCM with
/// the additional data `aad`. Fails with kCorrupt if `sealed` is too short for
/// nonce and tag, and with kChecksum if the tag does not match. A failure
/// returns no plaintext.
Result<Buffer> OpenSealed(Bytes key, Bytes aad, Bytes sealed,
                          const Interrupt& interrupt = NeverInterrupted());

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/bytes.h"
#include "core/base/interrupt.h"
#include "core/base/result.h"
#include "core/base/secret.h"

namespace ctxfs {

constexpr size_t kAeadNonceBytes = 12;
constexpr size_t kAeadTagBytes = 16;

/// HKDF-SHA256: the 32-byte key of one entry, in memory that is not dumped.
Result<Buffer> DeriveKey(const MasterKey& master, Bytes salt, Bytes info);

/// Decrypts `sealed`, which is nonce, ciphertext and tag, by AES-256-GCM with
/// the additional data `aad`. kChecksum unless the tag matches: then no byte of
/// the plaintext is handed out.
Result<Buffer> OpenSealed(Bytes key, Bytes aad, Bytes sealed,
                          const Interrupt& interrupt = NeverInterrupted());

}  // namespace ctxfs

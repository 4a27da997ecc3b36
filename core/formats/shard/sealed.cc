// SPDX-License-Identifier: Apache-2.0
//
// Decrypts entries (docs/formats/conventions.md, section 1). Payload:
//
// nonce (12), ciphertext, tag (16); AES-256-GCM
#include <algorithm>
#include <string>

#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/codec/crypto/aead.h"
#include "core/formats/shard/shard.h"

namespace ctxfs::shard {
namespace {

constexpr size_t kLeastSalt = 16;
constexpr size_t kMaxSalt = 64;
constexpr uint64_t kAeadBytes = kAeadNonceBytes + kAeadTagBytes;

Result<ShardSeal> ParseSeal(const Json& object, std::string_view name) {
  const auto unfit = [](const char* why) { return Error{Code::kCorrupt, why}; };
  ShardSeal seal;
  const std::string inner = TextAt(object, "inner_codec");
  seal.salt = FromBase64(TextAt(object, "salt")).value_or("");
  seal.info = "shard-entry:" + std::string(name);
  const auto info = object.find("info");
  if (info != object.end() && info->is_string()) seal.info = *info;
  const std::optional<uint64_t> size = CountAt(object, "inner_size");
  if (TextAt(object, "scheme") != "aes-256-gcm" ||
      TextAt(object, "kdf") != "hkdf-sha256") {
    return unfit("unknown scheme");
  }
  if (seal.salt.size() < kLeastSalt || seal.salt.size() > kMaxSalt) {
    return unfit("the salt is not 16 to 64 bytes of base64");
  }
  if (info != object.end() && !info->is_string() && !info->is_null()) {
    return unfit("info is not a string");
  }
  if (inner == "none") return seal;
  if (inner != "zstd" && inner != "lz4") return unfit("unknown inner_codec");
  if (!size) return unfit("no inner_size");
  seal.inner = inner == "zstd" ? Codec::kZstd : Codec::kLz4;
  seal.inner_size = *size;
  return seal;
}

}  // namespace

/// The plaintext of an encrypted entry: decrypted as a whole, verified by its
/// tag, and decoded. Its memory is excluded from core dumps.
class SealedBlock final : public Block {
 public:
  SealedBlock(std::shared_ptr<const ShardContainer> container, uint32_t entry)
      : Block({container->owner_, entry}),
        container_(std::move(container)),
        entry_(entry),
        record_(container_->Record(entry)),
        seal_(*container_->Seal(entry)),
        verdict_(container_->VerdictOf(entry)) {}

  uint64_t cost() const override {
    return record_.disk_size + record_.orig_size +
           container_->EntrySize(entry_);
  }
  bool verifies() const override { return true; }
  const Source* made_from() const override {
    return container_->source().get();
  }

  Result<Buffer> Produce(const ReadContext& context) const override {
    if (verdict_->load(std::memory_order_acquire) == Verdict::kFailed) {
      return At({Code::kChecksum, "damaged: an earlier read failed"});
    }
    Result<Buffer> plain = Unseal(context);
    if (plain) {
      verdict_->store(Verdict::kPassed, std::memory_order_release);
    } else if (plain.error().Permanent()) {
      verdict_->store(Verdict::kFailed, std::memory_order_release);
    }
    if (!plain) return At(std::move(plain).error());
    return plain;
  }

 private:
  Error At(Error error) const {
    error.offset = record_.data_offset;
    return error;
  }

  Result<Buffer> Unseal(const ReadContext& context) const {
    const Buffer payload = CTXFS_TRY(container_->Payload(entry_, context));
    const Buffer key = CTXFS_TRY(DeriveKey(
        *container_->options_.key, AsBytes(seal_.salt), AsBytes(seal_.info)));
    Result<Buffer> plain =
        OpenSealed(key.span(), AsBytes(*container_->EntryName(entry_)),
                   payload.span(), context.interrupt());
    if (!plain || seal_.inner == Codec::kNone) return plain;
    Buffer decoded = SecretBuffer(static_cast<size_t>(seal_.inner_size));
    CTXFS_TRY(Decode(seal_.inner, plain->span(), decoded.span(),
                     context.interrupt()));
    return decoded;
  }

  std::shared_ptr<const ShardContainer> container_;
  uint32_t entry_;
  ShardRecord record_;
  ShardSeal seal_;
  std::shared_ptr<AtomicVerdict> verdict_;
};

void ShardContainer::AddSeal(uint32_t entry, const Json& encryption) {
  Result<ShardSeal> seal = ParseSeal(encryption, *EntryName(entry));
  if (seal) {
    seals_.emplace(entry, *std::move(seal));
  } else {
    Warn({Label(entry) + ": encryption: " + seal.error().what,
          header_.schema_offset});
  }
}

const ShardSeal* ShardContainer::Seal(uint32_t entry) const {
  if (seals_.empty()) return nullptr;
  const auto found = seals_.find(entry);
  return found == seals_.end() ? nullptr : &found->second;
}

bool ShardContainer::EntryLocked(uint32_t entry) const {
  return options_.key == nullptr && Seal(entry) != nullptr;
}

uint64_t ShardContainer::SealedSize(const ShardSeal& seal,
                                    uint64_t payload) const {
  uint64_t size = seal.inner_size;
  if (seal.inner == Codec::kNone) {
    size = payload - std::min(payload, kAeadBytes);
  }
  return size > limits::kDecodedBytes ? 0 : size;
}

Result<std::shared_ptr<const Block>> ShardContainer::OpenSealedBlock(
    uint32_t entry) const {
  const ShardRecord record = Record(entry);
  if (EntryLocked(entry)) {
    return Error{Code::kLocked, "encrypted, and there is no key",
                 record.data_offset};
  }
  const ShardSeal& seal = *Seal(entry);
  const uint64_t payload =
      Encoded(record) ? record.orig_size : record.disk_size;
  if (std::max(record.disk_size, payload) > limits::kStoredBytes ||
      (seal.inner != Codec::kNone && seal.inner_size > limits::kDecodedBytes)) {
    return Error{Code::kLimit, "decrypts to more than 1 GiB",
                 record.data_offset};
  }
  return std::shared_ptr<const Block>(
      std::make_shared<const SealedBlock>(Share(*this), entry));
}

}  // namespace ctxfs::shard

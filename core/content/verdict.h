// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ctxfs {

/// Names a piece of work within the process: `owner` is a container (see
/// NewOwner), `index` one of its entries or generated files.
struct Key {
  uint64_t owner;
  uint64_t index;
  bool operator==(const Key&) const = default;
};

/// A process-wide unique number, never reused.
inline uint64_t NewOwner() {
  static std::atomic<uint64_t> next = 1;
  return next.fetch_add(1, std::memory_order_relaxed);
}

/// The result of verifying a checksum. kPassed and kFailed are final.
enum class Verdict : uint8_t { kUnknown, kPassed, kFailed };
/// The text of EntryInfo::verified.
constexpr const char* VerifiedText(Verdict verdict) {
  constexpr const char* kTexts[] = {"no", "yes", "failed"};
  return kTexts[static_cast<size_t>(verdict)];
}
using AtomicVerdict = std::atomic<Verdict>;
static_assert(sizeof(AtomicVerdict) == 1);

}  // namespace ctxfs

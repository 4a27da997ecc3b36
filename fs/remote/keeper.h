// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/cache/block_store.h"
#include "core/remote/client/shared_slots.h"
#include "core/remote/fetcher/settings.h"

namespace ctxfs {

/// State shared by keepers and their fetchers.
struct Kept {
  int socket;  // to the client
  const remote::SharedSlots& slots;
  remote::Settings settings;
  std::string certificates;           // PEM
  std::unique_ptr<BlockStore> cache;  // may be null
  /// Number of fetchers of this client that ended, in memory shared by all
  /// keepers.
  std::atomic<uint32_t>* epoch;
};

/// Makes a counter in memory shared with processes forked later. It is never
/// freed. Fails with kNoMemory.
Result<std::atomic<uint32_t>*> MakeSharedCounter();

/// Runs a fetcher in a process of its own, restarting it until the client is
/// gone, then exits. A standby process takes over if this one is killed, so a
/// client loses its fetchers only if both are killed at once. Must be called in
/// a confined process with one thread.
[[noreturn]] void Keep(const Kept& kept);

}  // namespace ctxfs

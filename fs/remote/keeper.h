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

/// State that keepers share with their fetchers.
struct Kept {
  int socket;  // to the client
  const remote::SharedSlots& slots;
  remote::Settings settings;
  std::string certificates;           // PEM
  std::unique_ptr<BlockStore> cache;  // may be null
  /// How many fetchers of this client ended, in memory that all keepers share.
  std::atomic<uint32_t>* epoch;
};

/// Returns a counter in memory that this process shares with those forked after
/// it was made, for as long as they live. Fails with kNoMemory.
Result<std::atomic<uint32_t>*> MakeSharedCounter();

/// Runs fetchers, one after another, each in a process of its own, until their
/// client is gone, and ends this process. A second process stands by, which
/// does the same when this one is killed: a client loses its fetchers only if
/// both are killed at once. Called when the process is confined, and has one
/// thread.
[[noreturn]] void Keep(const Kept& kept);

}  // namespace ctxfs

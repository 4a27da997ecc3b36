// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/container/facts/facts.h"
#include "core/content/read_context.h"
#include "core/io/source.h"

namespace ctxfs {

/// Adds the facts of an adapter of PEFT from the adapter_config.json in the
/// folder of `container`, if it exists: the method, the base model, rank and
/// alpha, the modules that it adapts, and the type of its task. Fails if
/// opening the file fails with a transient error, or if an open file cannot be
/// read. Ignores a file of more than 4 MiB, and a file that is not a JSON
/// object.
Status AddAdapterFacts(const Source& container, const ReadContext& context,
                       Facts& facts);

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/base/bytes.h"
#include "core/base/request.h"
#include "core/base/result.h"
#include "core/compressed/decoded_index.h"
#include "core/compressed/opening_reads.h"
#include "core/io/persistent_cache.h"
#include "core/io/source.h"

namespace ctxfs {

/// An index as bytes, which LoadIndex reads; others may follow. Fails with
/// kNoMemory, and with kUnsupported if its places are for this process alone.
Result<std::string> SaveIndex(const DecodedIndex& index);

/// The index of `source`, which was saved for the same bytes. Of an .xz file,
/// reads its own index anew. Fails with kCorrupt for bytes that are no index of
/// a file of this size and compression. Other places than those of the file are
/// found when a part that is decoded from them has not the hash in the index.
Result<std::shared_ptr<const DecodedIndex>> LoadIndex(ByteReader& saved,
                                                      const Source& source,
                                                      Compression compression,
                                                      const Request& request);

/// Keeps an index of `source` in `files`, where that is a file of the system,
/// with what opening its container has read, if that was recorded. Forgets
/// `reads`.
void KeepIndex(PersistentCache& files, const SourcePtr& source,
               const DecodedIndex& index, OpeningReads& reads);

/// Returns the index that was kept for `source`, after comparing it with its
/// digest, which only the user of `files` can make, and sets `reads`; null if
/// there is none.
std::shared_ptr<const DecodedIndex> TakeIndex(PersistentCache& files,
                                              const SourcePtr& source,
                                              Compression compression,
                                              OpeningReads& reads,
                                              const Request& request);

}  // namespace ctxfs

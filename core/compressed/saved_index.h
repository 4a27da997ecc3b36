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

/// Serializes an index for LoadIndex. The caller may append other bytes. Fails
/// with the error of HeapAllowance::Admit, or with kUnsupported if a place is
/// valid only in this process.
Result<std::string> SaveIndex(const DecodedIndex& index);

/// Loads an index that was saved for the bytes of `source`. Rereads the file's
/// own index if the file is xz. Fails with kCorrupt if `saved` is not an index
/// for a file of this size and compression. Does not verify the places:
/// decoding a part from a wrong place fails, because the hash of the part
/// differs.
Result<std::shared_ptr<const DecodedIndex>> LoadIndex(ByteReader& saved,
                                                      const Source& source,
                                                      Compression compression,
                                                      const Request& request);

/// Saves the index of `source`, and `reads`, in `files`. Best effort: saves
/// nothing if no reads were recorded, if `source` has no file descriptor, if
/// the result is too large (kMaxSaved), or if anything fails. Clears `reads`.
void KeepIndex(PersistentCache& files, const SourcePtr& source,
               const DecodedIndex& index, OpeningReads& reads);

/// Returns the saved index of `source`, and loads `reads`; null if there is
/// none. Verifies the keyed digest, which only the user of `files` can compute.
/// Drops an index that is invalid or has another digest.
std::shared_ptr<const DecodedIndex> TakeIndex(PersistentCache& files,
                                              const SourcePtr& source,
                                              Compression compression,
                                              OpeningReads& reads,
                                              const Request& request);

}  // namespace ctxfs

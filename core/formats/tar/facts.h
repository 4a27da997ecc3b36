// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "core/container/facts/facts.h"
#include "core/container/file_table.h"
#include "core/container/interfaces/shows_samples.h"
#include "core/formats/tar/members.h"

namespace ctxfs::tar {

/// Adds the number of samples, their extensions, and the first captions (texts
/// of at most 64 KiB). `entries` are the members.
Status AddSampleFacts(const Members& members, const FileTable& entries,
                      const ReadContext& context, Facts& facts);

/// Returns the first samples with a caption, or with a picture by its
/// extension; at most `most` (ShowsSamples). A file whose key no other file has
/// is a sample only if the key ends with a digit.
Result<std::vector<ShownSample>> FirstSamples(const Members& members,
                                              const FileTable& entries,
                                              size_t most,
                                              const ReadContext& context);

/// If the archive has the members of a .nemo file, and at most 100 in all, adds
/// the fact that it is a NeMo model, and the class and version in its
/// model_config.yaml. Otherwise adds nothing.
Status AddNemoFacts(const Members& members, const FileTable& entries,
                    const ReadContext& context, Facts& facts);

}  // namespace ctxfs::tar

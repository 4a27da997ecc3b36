// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "core/container/file_table.h"
#include "core/container/interfaces/has_episode.h"
#include "core/content/read_context.h"
#include "core/formats/tar/members.h"

namespace ctxfs::tar {

/// Whether the names of the .npy members are those of an episode's arrays.
/// Reads nothing. Returns false if interrupted.
bool HasEpisodeNames(const Members& members, const ReadContext& context);

/// Returns the arrays of the .npy members of an archive for which
/// HasEpisodeNames is true. Reads the first bytes of each. `entries`: the table
/// of the members. `left_out`: null, or receives the .npy members that are not
/// arrays.
std::vector<ArrayInfo> NpyArrays(
    const Members& members, const std::shared_ptr<const FileTable>& entries,
    const ReadContext& context, std::vector<Episode::Omission>* left_out);

}  // namespace ctxfs::tar

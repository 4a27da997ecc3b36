// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/container/container.h"
#include "core/container/file_table.h"
#include "core/formats/tar/members.h"

namespace ctxfs::tar {

/// A member's name, split like WebDataset (docs/formats/tar.md, section 9).
struct SampleName {
  std::string_view key;
  std::string extension;  // in lower case
};

/// Splits a name; nullopt if it is not part of a sample.
std::optional<SampleName> ParseSampleName(std::string_view name);

/// Whether a member is part of a sample.
bool IsOfSample(const Members& members, uint32_t member);

/// `views/samples.jsonl`: one line per sample, rendered from the names, paths
/// and sizes of members, in blocks of many members. Reads no member. The sizes
/// of blocks stay in memory.
std::shared_ptr<const FileTable> SamplesFile(
    std::shared_ptr<const Members> members, const PathsInTree& paths,
    std::shared_ptr<const Source> source);

}  // namespace ctxfs::tar

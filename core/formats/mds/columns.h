// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/container/container.h"
#include "core/container/exports.h"
#include "core/formats/mds/shards.h"

namespace ctxfs::mds {

/// The values of a column of one size, over all shards.
Content JoinedContent(std::shared_ptr<const Shards> shards, uint32_t column);

/// Bytes of the file of a joined column.
uint64_t JoinedSize(const Shards& shards, uint32_t column);

/// A value as a file: without the header of an array.
Result<Content> OpenValue(const Shards& shards, uint32_t column,
                          uint32_t sample, const ReadContext& context);

/// Reads a value, which must not exceed limits::kDecodedBytes.
Result<Buffer> ReadValue(SampleReader& reader, const Value& value,
                         const Request& request);

/// Where the items of a list are in their shard: the end of item i is item i +
/// 1.
Result<std::vector<uint64_t>> ItemsOf(SampleReader& reader,
                                      const Column& column, const Value& value,
                                      const Request& request);

/// The elements of an array, and where they are in their shard.
Result<StoredArray> ArrayOf(SampleReader& reader, const Column& column,
                            const Value& value);

/// Returns the extension of a column that is named by its first values
/// (docs/formats/mds.md, section 4), with a dot.
Result<std::string> FindSuffix(const Shards& shards, uint32_t column,
                               const ReadContext& context);

}  // namespace ctxfs::mds

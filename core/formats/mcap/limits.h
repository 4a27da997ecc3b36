// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/limits.h"

/// Limits of MCAP files (docs/formats/mcap.md, section 10).
namespace ctxfs::mcap {

/// Chunks, attachments and metadata records together.
constexpr uint64_t kMaxRecords = 24'000'000;
/// Messages of a channel.
constexpr uint32_t kMaxMessages = UINT32_MAX - 1;
/// Bytes of the texts and maps of all channels together.
constexpr uint64_t kMaxChannelBytes = 16 * limits::kMiB;
/// Bytes of the texts of all schemas together; also of one record that is read
/// for a definition or an index.
constexpr uint64_t kMaxSchemaBytes = 64 * limits::kMiB;
/// Bytes of a metadata record.
constexpr uint64_t kMaxMetadataBytes = 64 * limits::kMiB;
/// Bytes of a header record, and of the fields of an attachment before its
/// data.
constexpr uint64_t kMaxHeaderBytes = limits::kMiB;

}  // namespace ctxfs::mcap

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"

/// Limits of TFRecord (docs/formats/tfrecord.md, section 6).
namespace ctxfs::tfrecord {

constexpr uint32_t kMaxRecords = 24'000'000;
/// Bytes of records that are read at most to find the message type of all
/// records. Also the largest record whose features `ctxfs info` lists.
constexpr uint64_t kMaxExamined = 64 * limits::kMiB;
/// Bytes of a record that is shown as a sample.
constexpr uint64_t kMaxSample = limits::kGiB;
/// Files of a sample.
constexpr size_t kMaxFiles = 65'536;
/// Bytes of the names of all files of a sample.
constexpr uint64_t kMaxNames = 16 * limits::kMiB;
/// Depth of nested groups in a message.
constexpr size_t kMaxGroups = 100;
/// Bytes of a text that samples.jsonl contains. Of a longer text it has the
/// path.
constexpr uint64_t kMaxLineText = 4096;
/// Gaps between records of a damaged file that get a warning each.
constexpr uint64_t kMaxGapWarnings = 100;

}  // namespace ctxfs::tfrecord

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"

/// Limits of TFRecord (docs/formats/tfrecord.md, section 6).
namespace ctxfs::tfrecord {

constexpr uint32_t kMaxRecords = 24'000'000;
/// Bytes of a record that are parsed to find out what the records are.
constexpr uint64_t kMaxExamined = 64 * limits::kMiB;
/// Bytes of a record that is shown as a sample.
constexpr uint64_t kMaxSample = limits::kGiB;
/// Files of a sample, and bytes of their names.
constexpr size_t kMaxFiles = 65'536;
constexpr uint64_t kMaxNames = 16 * limits::kMiB;
/// Nesting of groups in a message.
constexpr size_t kMaxGroups = 100;
/// Bytes of a text that samples.jsonl has itself, instead of its path.
constexpr uint64_t kMaxLineText = 4096;
/// Gaps between records of a damaged file that are warnings of their own.
constexpr uint64_t kMaxGapWarnings = 100;

}  // namespace ctxfs::tfrecord

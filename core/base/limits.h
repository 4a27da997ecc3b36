// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Every bound on what a container may ask of us. A count or size taken from a
/// file is compared with one of these before anything is allocated for it.
namespace ctxfs::limits {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;
constexpr uint64_t kGiB = 1024 * kMiB;

/// Bytes a format's probe gets to see.
constexpr size_t kProbeBytes = 64;

/// Entries of one container (docs/shard.md, section 15).
constexpr uint32_t kEntries = 10'000'000;
/// Bytes of one container's names (same).
constexpr uint64_t kNameBytes = 100 * kMiB;
/// Bytes that one compressed entry may decode to (same).
constexpr uint64_t kDecodedBytes = kGiB;
/// Bytes that one compressed entry may occupy: what incompressible data of
/// kDecodedBytes takes in any of our codecs, rounded up.
constexpr uint64_t kStoredBytes = kDecodedBytes + 16 * kMiB;

/// Bytes and nesting of a container's JSON metadata.
constexpr uint64_t kJsonBytes = 100 * kMiB;
constexpr size_t kJsonDepth = 128;

/// Columns of a ColumnShard (docs/columnshard.md, section 6).
constexpr uint64_t kColumns = 100'000;
/// Rows of one of its row groups, where the coding does not spend a byte on
/// each (same).
constexpr uint64_t kColumnGroupRows = 1 << 25;

/// What one cowrie value may ask for (docs/sampleshard.md, section 4): bytes
/// after its own decompression, nesting, values of any kind, names in its
/// dictionary, bytes of text that its JSON is made of, bytes of an integer.
constexpr uint64_t kCowrieBytes = 256 * kMiB;
constexpr unsigned kCowrieDepth = 1000;
constexpr uint64_t kCowrieValues = 4'000'000;
constexpr uint64_t kCowrieNames = 1'000'000;
constexpr uint64_t kCowrieText = 256 * kMiB;
constexpr uint64_t kCowrieBigIntBytes = 512;
/// Dimensions of a tensor in one (same).
constexpr uint64_t kCowrieRank = 32;

/// Files that a manifest may name (docs/manifest.md, section 4).
constexpr uint64_t kManifestFiles = 100'000;

/// Bytes of one path component, and components of one path, on Linux.
constexpr size_t kComponentBytes = 255;
constexpr size_t kComponents = 255;

/// How deep containers are opened within containers.
constexpr unsigned kContainerDepth = 8;

/// Bytes of one extended attribute's value: some tools read them all.
constexpr size_t kXattrBytes = 4 * kKiB;

}  // namespace ctxfs::limits

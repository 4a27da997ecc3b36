// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds on what a container of any format may ask of us; those of one format
/// are in its folder. A count or size taken from a file is compared with one of
/// these before anything is allocated for it.
namespace ctxfs::limits {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;
constexpr uint64_t kGiB = 1024 * kMiB;

/// Bytes a format's probe gets to see: a header of tar, which is recognised by
/// the checksum of all of it.
constexpr size_t kProbeBytes = 512;

/// Entries of one container (docs/formats/shard.md, section 15).
constexpr uint32_t kEntries = 10'000'000;
/// Bytes of one container's names (same).
constexpr uint64_t kNameBytes = 100 * kMiB;
/// Files and directories that one container is shown as, and bytes of their
/// names (docs/robustness.md, section 6).
constexpr uint32_t kTreeNodes = 24'000'000;
constexpr uint64_t kTreeNameBytes = 256 * kMiB;
/// Bytes that one compressed entry may decode to in memory
/// (docs/formats/shard.md, section 15).
constexpr uint64_t kDecodedBytes = kGiB;
/// Bytes that one compressed entry may decode to in a temporary file.
constexpr uint64_t kStreamedBytes = 1024 * kGiB;
/// Bytes of temporary files of a mount without cache_dir_size=.
constexpr uint64_t kSpillBytes = 10 * kGiB;
/// Bytes that one compressed entry may occupy: what incompressible data of
/// kDecodedBytes takes in any of our codecs, rounded up.
constexpr uint64_t kStoredBytes = kDecodedBytes + 16 * kMiB;

/// Tensor headers that info.json is made from: each is a read somewhere in the
/// container (docs/formats/model_shard.md, section 6).
constexpr uint32_t kHeadersExamined = 4096;

/// Values of what is kept of this project's conventions in a container's
/// metadata (docs/formats/conventions.md).
constexpr uint64_t kConventionValues = 2'000'000;

/// Entries of a container of tensors or lanes whose arrays are views: an array
/// is a read and some hundred bytes (docs/views.md, section 1).
constexpr uint32_t kArrayEntries = 1'000'000;

/// Bytes and nesting of a container's JSON metadata, and values in what is kept
/// of it as a whole, each of which costs up to 150 bytes.
constexpr uint64_t kJsonBytes = 100 * kMiB;
constexpr size_t kJsonDepth = 128;
constexpr uint64_t kJsonValues = 4'000'000;

/// Dimensions of a declared shape.
constexpr size_t kRank = 32;
/// Bytes of a container's parts that making info.json may hash.
constexpr uint64_t kDigestedBytes = 256 * kMiB;

/// Names in a directory that is a container.
constexpr size_t kDirectoryNames = 1'000'000;

/// Pixels along a side of an array's picture, and bytes of one of its pictures:
/// larger ones are not shown as PNG (docs/views.md, section 6).
constexpr uint64_t kPictureSide = 65'535;
constexpr uint64_t kPictureBytes = 256 * kMiB;
/// Bytes of a table as text, which is made to be measured, and positions in its
/// columns that are remembered to find rows again (same, section 7).
constexpr uint64_t kTableText = 4 * kGiB;
constexpr uint64_t kTablePlaces = 16'000'000;

/// Bytes of a safetensors header: no reader takes more.
constexpr uint64_t kSafetensorsHeaderBytes = 100'000'000;

/// Bytes of one path component, and components of one path, on Linux.
constexpr size_t kComponentBytes = 255;
constexpr size_t kComponents = 255;

/// Entries of one container whose bytes are examined for being a container.
constexpr size_t kInnerContainers = 1000;

/// Containers besides the mount's own that are kept open when none is in use,
/// and bytes of memory that they may take (-o index=).
constexpr size_t kOpenContainers = 512;
constexpr uint64_t kOpenContainerBytes = 512 * kMiB;

/// Bytes of an encoded container within a container: they are decoded into one
/// block of the cache, and again after that was evicted.
constexpr uint64_t kNestedBytes = 64 * kMiB;

/// How deep containers are opened within containers.
constexpr unsigned kContainerDepth = 8;

/// Bytes of work that one request may cause (docs/robustness.md, section 4): a
/// constant, and a multiple of the size of the container's file.
constexpr uint64_t kWorkBytes = 16 * kMiB;
constexpr uint64_t kWorkFactor = 1024;

/// Bytes of one extended attribute's value: some tools read them all.
constexpr size_t kXattrBytes = 4 * kKiB;

}  // namespace ctxfs::limits

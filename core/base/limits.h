// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Limits for containers of any format; the folder of each format has its own
/// limits. A count or size from a file must be compared with a limit before
/// anything is allocated for it.
namespace ctxfs::limits {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;
constexpr uint64_t kGiB = 1024 * kMiB;

/// Bytes that a format's probe receives. This is the size of a tar header,
/// whose checksum identifies tar files.
constexpr size_t kProbeBytes = 512;

/// Entries of one container (docs/formats/shard.md, section 15).
constexpr uint32_t kEntries = 10'000'000;
/// Bytes of one container's names (docs/formats/shard.md, section 15).
constexpr uint64_t kNameBytes = 100 * kMiB;
/// Files and directories that one container may show, and bytes of their names
/// (docs/robustness.md, section 6).
constexpr uint32_t kTreeNodes = 24'000'000;
constexpr uint64_t kTreeNameBytes = 256 * kMiB;
/// Bytes that one compressed entry may decode to in memory
/// (docs/formats/shard.md, section 15).
constexpr uint64_t kDecodedBytes = kGiB;
/// Bytes that one compressed entry may decode to in a temporary file.
constexpr uint64_t kStreamedBytes = 1024 * kGiB;
/// Bytes of temporary files of a command, or of a mount without
/// cache_dir_size=.
constexpr uint64_t kSpillBytes = 10 * kGiB;
/// Stored bytes of one compressed entry. In each codec, kDecodedBytes of
/// incompressible data take less.
constexpr uint64_t kStoredBytes = kDecodedBytes + 16 * kMiB;

/// Tensor headers that info.json covers: each costs a read somewhere in the
/// container (docs/formats/model_shard.md, section 6).
constexpr uint32_t kHeadersExamined = 4096;

/// Values of a container's metadata that are stored because
/// docs/formats/conventions.md defines their meaning.
constexpr uint64_t kConventionValues = 2'000'000;

/// Entries of a container of tensors or lanes whose arrays have views: an array
/// costs a read and some hundred bytes (docs/views.md, section 1).
constexpr uint32_t kArrayEntries = 1'000'000;

/// Bytes and nesting of a container's JSON metadata; and the number of its
/// values, if all are stored, because each value costs up to 150 bytes.
constexpr uint64_t kJsonBytes = 100 * kMiB;
constexpr size_t kJsonDepth = 128;
constexpr uint64_t kJsonValues = 4'000'000;

/// Dimensions of an array in .npy and WShard; other formats allow more
/// (kArrayRank, core/base/rank.h).
constexpr size_t kRank = 32;
/// Bytes that generating info.json may hash: of a container, or of the files
/// that it names. Digests of more bytes are not checked.
constexpr uint64_t kDigestedBytes = 256 * kMiB;

/// Names in a listing that is read as a whole: of a directory that is a
/// container, of a store, or of a cache.
constexpr size_t kDirectoryNames = 1'000'000;

/// Pixels along a side of an array's picture, and bytes of one picture: larger
/// arrays are not shown as PNG (docs/views.md, section 6).
constexpr uint64_t kPictureSide = 65'535;
constexpr uint64_t kPictureBytes = 256 * kMiB;
/// Bytes of a table as text, all of which is generated to find its size; and
/// positions in columns, which are stored to find rows again (docs/views.md,
/// section 7).
constexpr uint64_t kTableText = 4 * kGiB;
constexpr uint64_t kTablePlaces = 16'000'000;

/// Bytes of a safetensors header: no reader accepts more.
constexpr uint64_t kSafetensorsHeaderBytes = 100'000'000;

/// Bytes of one path component, and components of one path, on Linux.
constexpr size_t kComponentBytes = 255;
constexpr size_t kComponents = 255;

/// Entries of one container that are shown as nested containers.
constexpr size_t kInnerContainers = 1000;

/// Containers that may be open, not counting the only container of a mount; and
/// the default bound of their heap in bytes (-o index=; kOpenBytes for a mount
/// of a single container). Unused containers are closed to stay within both.
constexpr size_t kOpenContainers = 512;
constexpr uint64_t kOpenContainerBytes = 512 * kMiB;

/// Decoded bytes of a nested container that is stored encoded: it is decoded
/// into one cached block, and again after an eviction.
constexpr uint64_t kNestedBytes = 64 * kMiB;

/// Nesting depth of containers.
constexpr unsigned kContainerDepth = 8;

/// Bytes of work per request (docs/robustness.md, section 4): a constant plus a
/// multiple of the size of the container's file.
constexpr uint64_t kWorkBytes = 16 * kMiB;
constexpr uint64_t kWorkFactor = 1024;

/// Bytes of one extended attribute's value. The limit is low because some tools
/// read all attributes of each file.
constexpr size_t kXattrBytes = 4 * kKiB;

}  // namespace ctxfs::limits

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

/// Bytes a format's probe gets to see: a header of tar, which is recognised by
/// the checksum of all of it.
constexpr size_t kProbeBytes = 512;

/// Entries of one container (docs/shard.md, section 15).
constexpr uint32_t kEntries = 10'000'000;
/// Bytes of one container's names (same).
constexpr uint64_t kNameBytes = 100 * kMiB;
/// Files and directories that one container is shown as, and bytes of their
/// names (docs/robustness.md, section 6).
constexpr uint32_t kTreeNodes = 24'000'000;
constexpr uint64_t kTreeNameBytes = 256 * kMiB;
/// Bytes that one compressed entry may decode to in memory (docs/shard.md,
/// section 15).
constexpr uint64_t kDecodedBytes = kGiB;
/// The same of an entry that is decoded into a temporary file.
constexpr uint64_t kStreamedBytes = 1024 * kGiB;
/// Bytes of temporary files of a mount, unless it is told otherwise.
constexpr uint64_t kSpillBytes = 10 * kGiB;
/// Bytes that one compressed entry may occupy: what incompressible data of
/// kDecodedBytes takes in any of our codecs, rounded up.
constexpr uint64_t kStoredBytes = kDecodedBytes + 16 * kMiB;

/// Tensor headers that info.json is made from: each is a read somewhere in the
/// container (docs/model_shard.md, section 6).
constexpr uint32_t kHeadersExamined = 4096;

/// Values of what is kept of this project's conventions in a container's
/// metadata (docs/conventions.md).
constexpr uint64_t kConventionValues = 2'000'000;

/// Entries of a container of tensors or lanes whose arrays are views: an array
/// is a read and some hundred bytes (docs/views.md, section 1).
constexpr uint32_t kArrayEntries = 1'000'000;
/// Matrices that a GemmShard's tiles make (docs/conventions.md, section 3).
constexpr size_t kMatrices = 65'536;

/// Deltas on one another, files that a container's deltas name, and elements
/// of a LoRA's matrix a, all of which a read needs (docs/conventions.md,
/// section 2).
constexpr unsigned kDeltaDepth = 8;
constexpr size_t kBaseFiles = 16;
constexpr uint64_t kLoraElements = 64 * kMiB;

/// Sections of a graph; bytes of one that is kept in memory; entries of a
/// GraphShard that are looked at for one (docs/sjgn.md, section 4).
constexpr uint64_t kGraphSections = 65'536;
constexpr uint64_t kGraphBytes = 256 * kMiB;
constexpr uint32_t kGraphsSought = 1024;

/// Bytes and nesting of a container's JSON metadata, and values in what is kept
/// of it as a whole, each of which costs up to 150 bytes.
constexpr uint64_t kJsonBytes = 100 * kMiB;
constexpr size_t kJsonDepth = 128;
constexpr uint64_t kJsonValues = 4'000'000;

/// Sections, tensors, and dims of all tensors together, of one MCF file, and
/// bytes of its ModelInfo (docs/mcf.md, section 10).
constexpr uint32_t kMcfSections = 100'000;
constexpr uint32_t kMcfTensors = 1'000'000;
constexpr uint64_t kMcfDims = 16'000'000;
constexpr uint64_t kMcfModelInfoBytes = 16 * kMiB;
/// Bytes of one metadata entry of an episode, decoded: they are read at open.
/// (docs/wshard.md, section 8, for this and the next four.)
constexpr uint64_t kEpisodeJsonBytes = 16 * kMiB;
/// Dimensions of a declared shape, and bytes of a channel's id.
constexpr size_t kRank = 32;
constexpr size_t kChannelIdBytes = 1024;
/// Files that an episode gets besides its entries.
constexpr size_t kDerivedFiles = 100'000;
/// Chunks of one episode: each is an open file.
constexpr size_t kChunks = 500;
/// Bytes of chunks that are hashed because someone looks at info.json.
constexpr uint64_t kDigestedBytes = 256 * kMiB;
/// Chunks of a vector collection, columns it names, parts of columns that its
/// chunks hold, and values of its sections' metadata (docs/cvc.md, section 5).
constexpr uint32_t kCvcChunks = 1'000'000;
constexpr uint32_t kCvcColumns = 65'536;
constexpr uint32_t kCvcPieces = 4'000'000;
constexpr uint32_t kCvcLabels = 100'000;
/// Files that sections are shown as.
constexpr uint64_t kCvcSectionFiles = 1'000'000;

/// Bytes of a .mem8, stored and unpacked; its sections; text that a JSON view
/// of it may repeat (docs/mem8.md, section 6).
constexpr uint64_t kMem8Bytes = 64 * kMiB;
constexpr uint32_t kMem8Sections = 4096;
constexpr uint64_t kMem8JsonBytes = 64 * kMiB;

/// Names in a directory that is a container.
constexpr size_t kDirectoryNames = 1'000'000;
/// Levels and snapshots of a MegaContext tree, and bytes of its metadata.json
/// (docs/megacontext.md, section 6).
constexpr size_t kContextLevels = 64;
constexpr size_t kContextSnapshots = 10'000;
constexpr uint64_t kContextMetadataBytes = 16 * kMiB;
/// Columns of a ColumnShard (docs/columnshard.md, section 6).
constexpr uint64_t kColumns = 100'000;
/// Rows of one of its row groups, where the coding does not spend a byte on
/// each (same).
constexpr uint64_t kColumnGroupRows = 1 << 25;
/// Bytes of chunks that are decoded at open, to see how many rows they have,
/// since their statistics are wrong (docs/columnshard.md, section 4).
constexpr uint64_t kColumnHeaderBytes = 16 * kMiB;

/// What one cowrie value may ask for (docs/cowrie.md, section 6): bytes
/// after its own decompression, nesting, values of any kind, names in its
/// dictionary, bytes of text that its JSON is made of, bytes of an integer.
constexpr uint64_t kCowrieBytes = 256 * kMiB;
constexpr unsigned kCowrieDepth = 1000;
constexpr uint64_t kCowrieValues = 4'000'000;
constexpr uint64_t kCowrieNames = 1'000'000;
constexpr uint64_t kCowrieText = 256 * kMiB;
constexpr uint64_t kCowrieBigIntBytes = 512;
/// Dimensions of a tensor in one, and arrays that it is looked through for
/// (same).
constexpr uint64_t kCowrieRank = 32;
constexpr size_t kCowrieArrays = 65'536;

/// Pixels along a side of an array's picture, and bytes of one of its pictures:
/// larger ones are not shown as PNG (docs/views.md, section 6).
constexpr uint64_t kPictureSide = 65'535;
constexpr uint64_t kPictureBytes = 256 * kMiB;
/// Bytes of a table as text, which is made to be measured, and positions in its
/// columns that are remembered to find rows again (same, section 7).
constexpr uint64_t kTableText = 4 * kGiB;
constexpr uint64_t kTablePlaces = 16'000'000;

/// Files that a manifest may name (docs/manifest.md, section 4).
constexpr uint64_t kManifestFiles = 100'000;

/// Bytes of a safetensors header: no reader takes more.
constexpr uint64_t kSafetensorsHeaderBytes = 100'000'000;

/// Bytes of one path component, and components of one path, on Linux.
constexpr size_t kComponentBytes = 255;
constexpr size_t kComponents = 255;

/// Entries of one container that are looked at for containers.
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

/// Work that one request may cause (Work, docs/robustness.md): a constant, and
/// so many bytes for each byte of the file that the container is in.
constexpr uint64_t kWorkBytes = 16 * kMiB;
constexpr uint64_t kWorkFactor = 1024;

/// Bytes of one extended attribute's value: some tools read them all.
constexpr size_t kXattrBytes = 4 * kKiB;

}  // namespace ctxfs::limits

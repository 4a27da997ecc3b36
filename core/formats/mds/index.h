// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/codec/crypto/named_digest.h"
#include "core/content/read_context.h"
#include "core/formats/mds/column.h"

namespace ctxfs::mds {

/// The compression of a whole shard.
enum class ZipKind : uint8_t {
  kNone,
  kBrotli,
  kBzip2,
  kGzip,
  kSnappy,
  kZstd,
  kUnknown
};
std::string_view ZipName(ZipKind kind);

/// A file of a shard, as the index describes it.
struct StoredFile {
  std::string name;
  uint64_t bytes = 0;
  std::vector<ExpectedHash> hashes;  // the fastest first

  /// The hash that reads verify; null if the index has no known hash.
  const ExpectedHash* hash() const {
    return hashes.empty() ? nullptr : &hashes.front();
  }
};

struct ShardRecord {
  StoredFile raw;
  std::optional<StoredFile> zip;  // compressed
  ZipKind zip_kind = ZipKind::kNone;
  uint32_t first = 0;  // the number of its first sample
  uint32_t samples = 0;
  /// Whether its columns differ from Index::columns.
  bool other_columns = false;
};

/// A parsed index.json (docs/formats/mds.md, section 2).
struct Index {
  std::vector<Column> columns;  // of the first shard that has samples
  std::vector<ShardRecord> shards;
  uint32_t samples = 0;
  std::string compression;                  // as stored in the first shard
  std::vector<std::string> unknown_hashes;  // each once
  uint32_t varying = 0;  // number of columns with values of varying size
};

/// Whether a file that starts with `head` is the index of a data set.
bool StartsIndex(Bytes head);

/// Parses the text of index.json. Fails with kNotContainer if its shards are of
/// another format, and with the other errors of docs/formats/mds.md, section 8.
Result<Index> ParseIndex(std::string_view text, const ReadContext& context);

}  // namespace ctxfs::mds

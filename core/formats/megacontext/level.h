// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/io/source.h"

namespace ctxfs::megacontext {

constexpr size_t kNameSize = 32;  // bytes of a name field

/// The header of a .ctx file, in either layout (docs/formats/megacontext.md,
/// section 2).
struct ContextHeader {
  std::string magic;  // four bytes
  char layout = 'A';
  uint16_t version = 0;
  uint16_t level = 0;
  uint16_t block_size = 0;  // K, in entries
  uint16_t embedding_dim = 0;
  uint16_t dtype_code = 0;
  std::optional<uint64_t> num_entries;  // in layout A only
  std::string model_name;               // any bytes, at most 32
};

/// A level of a tree: the tokens or gists in its file.
struct ContextLevel {
  static constexpr uint64_t kPayloadAt = 64;

  std::string file;                      // "LOD1.ctx", "L1.ctx"
  uint32_t number = 0;                   // from the file's name
  std::shared_ptr<const Source> source;  // null if it cannot be opened
  /// Why the level cannot be served. If set, the fields below are not valid.
  std::optional<Error> fault;
  ContextHeader header;
  DType dtype = DType::kU32;
  bool vectors = false;     // false: tokens
  uint64_t entries = 0;     // whole entries
  uint64_t entry_size = 0;  // bytes
  uint64_t tail = 0;        // bytes after the last entry
  bool odd = false;         // a warning other than of reserved bytes
  std::vector<std::string> warnings;

  uint64_t payload_size() const { return entries * entry_size; }
  std::string Directory() const { return "LOD" + std::to_string(number); }
  /// Returns the payload's name: "tokens" at level 0, else "gists".
  const char* PayloadName() const { return number == 0 ? "tokens" : "gists"; }
  std::vector<uint64_t> Shape() const;

  /// Returns the number of blocks of `block_size` tokens, the last possibly
  /// short; 0 for vectors, or if the block size is 0.
  uint64_t Blocks() const;

  /// ToJson returns the object of the level in tree.json; HeaderJson returns
  /// the object in header.json.
  Json ToJson() const;
  Json HeaderJson() const;
};

/// Returns the number in "LOD1.ctx" or "L1.ctx"; nullopt for other names.
std::optional<uint32_t> ContextLevelNumber(std::string_view file);

/// Reads the header of a level. `number` comes from the file's name; nullopt
/// for a single file, whose header has the level. An error becomes `fault`.
ContextLevel ReadContextLevel(std::string file, std::optional<uint32_t> number,
                              Result<std::shared_ptr<const Source>> source,
                              const Request& request);

}  // namespace ctxfs::megacontext

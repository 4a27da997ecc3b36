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

constexpr size_t kNameSize = 32;  // bytes of a name's field

/// The header of a .ctx file, in either of its layouts
/// (docs/formats/megacontext.md, section 2).
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

/// One level of a tree: the tokens or gists that are in its file.
struct ContextLevel {
  static constexpr uint64_t kPayloadAt = 64;

  std::string file;                      // "LOD1.ctx", "L1.ctx"
  uint32_t number = 0;                   // by the file's name
  std::shared_ptr<const Source> source;  // null if it cannot be opened
  /// Why the level cannot be served; the fields below are not set then.
  std::optional<Error> fault;
  ContextHeader header;
  DType dtype = DType::kU32;
  bool vectors = false;     // of embedding_dim elements; else tokens
  uint64_t entries = 0;     // whole entries that are served
  uint64_t entry_size = 0;  // bytes
  uint64_t tail = 0;        // bytes after the last entry
  bool odd = false;         // a warning concerns the entries that are served
  std::vector<std::string> warnings;

  uint64_t payload_size() const { return entries * entry_size; }
  /// "LOD1"
  std::string Directory() const { return "LOD" + std::to_string(number); }
  /// The name of the payload: "tokens" at level 0, else "gists".
  const char* PayloadName() const { return number == 0 ? "tokens" : "gists"; }
  std::vector<uint64_t> Shape() const;

  /// Blocks of `block_size` tokens, the last of which may be short; 0 for
  /// vectors and where the block size is 0.
  uint64_t Blocks() const;

  /// Its object in tree.json, and that of the header alone.
  Json ToJson() const;
  Json HeaderJson() const;
};

/// The number in "LOD1.ctx" or "L1.ctx"; nullopt for other names.
std::optional<uint32_t> ContextLevelNumber(std::string_view file);

/// Reads the header of a level. `number` comes from the file's name; nullopt
/// for a single file, whose header has the level. An error becomes the level's
/// `fault`.
ContextLevel ReadContextLevel(std::string file, std::optional<uint32_t> number,
                              Result<std::shared_ptr<const Source>> source,
                              const Request& request);

}  // namespace ctxfs::megacontext

// SPDX-License-Identifier: Apache-2.0
#include "core/formats/megacontext/metadata.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "core/base/json/json.h"
#include "core/base/text/text.h"
#include "core/formats/megacontext/level.h"
#include "core/formats/megacontext/limits.h"

namespace ctxfs::megacontext {
namespace {

using Warnings = std::vector<std::string>;

const ContextLevel* Find(const std::vector<ContextLevel>& levels,
                         uint32_t number) {
  const auto found = std::ranges::find(levels, number, &ContextLevel::number);
  return found == levels.end() ? nullptr : &*found;
}

/// Whether member `key` is a number other than `expected`. Ignores other types.
bool Differs(const Json& object, const char* key, uint64_t expected) {
  const Json* found = MemberAt(object, key);
  return found != nullptr && found->is_number() && *found != expected;
}

/// Whether `tokens` tokens make `said` blocks of `size`. The documents do not
/// say whether a short block counts, so both numbers are accepted.
bool MakesBlocks(uint64_t tokens, uint64_t size, const Json& said) {
  const uint64_t whole = tokens / size;
  return said == whole || (tokens % size != 0 && said == whole + 1);
}

/// Whether num_blocks matches neither the tokens in the file nor num_tokens. If
/// it matches num_tokens, the warning about num_tokens suffices.
bool BlocksDiffer(const Json& said, const ContextLevel& tokens) {
  const uint64_t size = tokens.header.block_size;
  const Json* blocks = MemberAt(said, "num_blocks");
  if (size == 0 || blocks == nullptr || !blocks->is_number()) return false;
  if (MakesBlocks(tokens.entries, size, *blocks)) return false;
  const std::optional<uint64_t> stated = CountAt(said, "num_tokens");
  return !stated || !MakesBlocks(*stated, size, *blocks);
}

/// Whether `name`, from a field of 32 bytes, can mean the model `full`: it is
/// equal, truncated, or lacks the owner.
bool NamesModel(std::string_view name, std::string_view full) {
  return name == full || name == full.substr(0, kNameSize) ||
         name == full.substr(full.rfind('/') + 1);
}

/// Whether a name is UTF-8, except for a last character cut by the field.
bool IsNameUtf8(std::string_view name) {
  constexpr size_t kMaxCut = 3;
  const size_t cuts = name.size() == kNameSize ? kMaxCut : 0;
  for (size_t cut = 0; cut <= cuts; ++cut) {
    if (IsUtf8(name.substr(0, name.size() - cut))) return true;
  }
  return false;
}

void CompareHeaders(const Json& json, const std::vector<ContextLevel>& levels,
                    Warnings& warnings) {
  bool dim = false;
  bool block = false;
  bool name = false;
  const auto found = json.find("model_name");
  for (const ContextLevel& level : levels) {
    if (level.fault) continue;
    const ContextHeader& header = level.header;
    const bool no_dim = level.number == 0 && header.embedding_dim == 0;
    dim = dim ||
          (!no_dim && Differs(json, "embedding_dim", header.embedding_dim));
    block = block || Differs(json, "block_size", header.block_size);
    name = name || (found != json.end() && found->is_string() &&
                    !NamesModel(header.model_name,
                                found->get_ref<const std::string&>()));
  }
  if (dim) warnings.emplace_back("embedding_dim disagrees with metadata");
  if (block) warnings.emplace_back("block_size disagrees with metadata");
  if (name) warnings.emplace_back("model_name disagrees with metadata");
}

void CompareSizes(const Json& of_levels,
                  const std::vector<ContextLevel>& levels, Warnings& warnings) {
  std::set<std::string> have;
  for (const ContextLevel& level : levels) {
    const std::string name = level.Directory();
    have.insert(name);
    have.insert("L" + std::to_string(level.number));
    auto said = of_levels.find(name);
    if (said == of_levels.end()) {
      said = of_levels.find("L" + std::to_string(level.number));
    }
    if (said == of_levels.end()) {
      warnings.push_back(name + " not in metadata");
      continue;
    }
    if (level.source != nullptr &&
        Differs(*said, "file_size_bytes", level.source->size())) {
      warnings.push_back("file_size_bytes disagrees for " + name);
    }
    if (level.fault) continue;
    if (level.number == 0 && Differs(*said, "num_tokens", level.entries)) {
      warnings.emplace_back("num_tokens disagrees");
    }
    if (level.number == 0 && BlocksDiffer(*said, level)) {
      warnings.emplace_back("num_blocks disagrees");
    }
    if (level.number != 0 && Differs(*said, "num_gists", level.entries)) {
      warnings.push_back("num_gists disagrees for " + name);
    }
  }
  size_t missing = 0;
  for (const auto& [key, value] : of_levels.items()) {
    if (have.contains(key) || !ContextLevelNumber(key + ".ctx")) continue;
    if (++missing > kMaxLevels) break;
    warnings.push_back(key + " in metadata, file missing");
  }
}

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

}  // namespace

std::vector<std::string> CompareLevels(
    const std::vector<ContextLevel>& levels) {
  Warnings warnings;
  std::set<uint16_t> dims;
  std::set<uint16_t> blocks;
  bool utf8 = true;
  for (const ContextLevel& level : levels) {
    if (level.fault) continue;
    dims.insert(level.header.embedding_dim);
    blocks.insert(level.header.block_size);
    utf8 = utf8 && IsNameUtf8(level.header.model_name);
    const uint64_t block = level.header.block_size;
    const ContextLevel* below =
        level.number == 0 ? nullptr : Find(levels, level.number - 1);
    if (below == nullptr || below->fault || block == 0) continue;
    if (!MakesBlocks(below->entries, block, level.entries)) {
      warnings.push_back(level.Directory() + " count does not fit " +
                         below->Directory());
    }
  }
  if (dims.size() > 1) {
    warnings.emplace_back("embedding_dim disagrees between levels");
  }
  if (blocks.size() > 1) {
    warnings.emplace_back("block_size disagrees between levels");
  }
  if (!utf8) warnings.emplace_back("model_name is not UTF-8");
  return warnings;
}

std::vector<std::string> CompareMetadata(
    const std::optional<std::string>& text,
    const std::vector<ContextLevel>& levels, const Request& request) {
  if (!text) return {"no metadata.json"};
  const Result<ParsedJson> parsed =
      ParseJson(*text, request, JsonDialect::kPython);
  if (!parsed || !IsBlank(std::string_view(*text).substr(parsed->length))) {
    return {"metadata.json is not JSON"};
  }
  const Json& json = parsed->value;
  if (!json.is_object()) return {"metadata.json is not an object"};
  Warnings warnings;
  if (Differs(json, "version", 1)) {
    warnings.emplace_back("metadata version is not 1");
  }
  const auto complete = json.find("ingestion_complete");
  if (complete != json.end() && *complete == false) {
    warnings.emplace_back("ingestion_complete is false");
  }
  CompareHeaders(json, levels, warnings);
  const auto of_levels = json.find("levels");
  if (of_levels != json.end() && of_levels->is_object()) {
    CompareSizes(*of_levels, levels, warnings);
  }
  return warnings;
}

}  // namespace ctxfs::megacontext

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "core/container/exports.h"

namespace ctxfs {

/// A file of a model that from_pretrained reads, by its name.
struct ModelFile {
  std::string_view name;
  DocumentRole role;
};

inline constexpr std::array<ModelFile, 10> kModelFiles = {
    {{"config.json", DocumentRole::kConfig},
     {"generation_config.json", DocumentRole::kGenerationConfig},
     {"tokenizer.json", DocumentRole::kTokenizer},
     {"tokenizer_config.json", DocumentRole::kTokenizerConfig},
     {"vocab.json", DocumentRole::kVocabulary},
     {"merges.txt", DocumentRole::kMerges},
     {"tokenizer.model", DocumentRole::kTokenizerModel},
     {"special_tokens_map.json", DocumentRole::kSpecialTokens},
     {"added_tokens.json", DocumentRole::kAddedTokens},
     {"chat_template.jinja", DocumentRole::kChatTemplate}}};

/// The role of the file `name`; nullopt if loaders do not read it.
inline std::optional<DocumentRole> ModelFileRole(std::string_view name) {
  for (const ModelFile& file : kModelFiles) {
    if (file.name == name) return file.role;
  }
  return std::nullopt;
}

/// The name of the file of a role; empty if loaders do not read it.
inline std::string_view ModelFileName(DocumentRole role) {
  for (const ModelFile& file : kModelFiles) {
    if (file.role == role) return file.name;
  }
  return {};
}

}  // namespace ctxfs

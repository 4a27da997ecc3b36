// SPDX-License-Identifier: Apache-2.0
#include "core/container/facts/model_files.h"

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/container/documents.h"

namespace ctxfs {
namespace {

constexpr uint64_t kMaxBytes = limits::kGiB;

struct ModelFile {
  std::string_view name;
  DocumentRole role;
};

// config.json comes first: FindModelFiles stops without it.
constexpr std::array<ModelFile, 10> kModelFiles = {
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

}  // namespace

std::optional<DocumentRole> ModelFileRole(std::string_view name) {
  for (const ModelFile& file : kModelFiles) {
    if (file.name == name) return file.role;
  }
  return std::nullopt;
}

std::string_view ModelFileName(DocumentRole role) {
  for (const ModelFile& file : kModelFiles) {
    if (file.role == role) return file.name;
  }
  return {};
}

std::vector<Document> FindModelFiles(const Source& container,
                                     const Request& request) {
  std::vector<Document> documents;
  for (const auto& [name, role] : kModelFiles) {
    Result<std::shared_ptr<const Source>> file =
        container.OpenSibling(std::string(name), request);
    if (!file || (*file)->size() > kMaxBytes) {
      if (role == DocumentRole::kConfig) break;
      continue;
    }
    const uint64_t size = (*file)->size();
    documents.push_back(
        {role, FixedFile(Role::kPrimary, std::string(name),
                         Content(Range{*std::move(file), 0, nullptr}, size))});
  }
  return documents;
}

}  // namespace ctxfs

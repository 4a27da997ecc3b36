// SPDX-License-Identifier: Apache-2.0
//
// hf/: a model and what belongs to it in one directory, under the names that
// from_pretrained looks for (docs/views.md, section 4).
#include <string>
#include <string_view>
#include <utility>

#include "core/container/documents.h"
#include "core/views/arrays/safetensors.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

/// What from_pretrained calls a document; empty for one that it does not read.
std::string_view NameOf(DocumentRole role) {
  switch (role) {
    case DocumentRole::kConfig:
      return "config.json";
    case DocumentRole::kGenerationConfig:
      return "generation_config.json";
    case DocumentRole::kTokenizer:
      return "tokenizer.json";
    case DocumentRole::kTokenizerConfig:
      return "tokenizer_config.json";
    case DocumentRole::kVocabulary:
      return "vocab.json";
    case DocumentRole::kMerges:
      return "merges.txt";
    case DocumentRole::kTokenizerModel:
      return "tokenizer.model";
    case DocumentRole::kSpecialTokens:
      return "special_tokens_map.json";
    case DocumentRole::kAddedTokens:
      return "added_tokens.json";
    case DocumentRole::kChatTemplate:
      return "chat_template.jinja";
    case DocumentRole::kDescription:
      break;
  }
  return {};
}

bool MayHave(const Exports& exports) {
  return exports.arrays != nullptr &&
         exports.HasDocument(DocumentRole::kConfig);
}

void Make(const Viewed& viewed, const ReadContext& context, ViewTables& into) {
  if (!MayHave(viewed.exports)) return;
  for (const Document& document : viewed.exports.documents) {
    const std::string_view name = NameOf(document.role);
    if (name.empty()) continue;
    into.push_back(AliasFile(Role::kPrimary, "hf/" + std::string(name),
                             document.table, document.file));
  }
  auto model = SafetensorsFile(viewed, "hf/model.safetensors", context);
  if (model != nullptr) into.push_back(std::move(model));
}

}  // namespace

extern const View kHfView;
const View kHfView{"hf", &MayHave, &Make};

}  // namespace ctxfs

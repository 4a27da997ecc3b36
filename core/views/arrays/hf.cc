// SPDX-License-Identifier: Apache-2.0
//
// Implements hf/: weights, configuration and tokenizer of a model in one
// directory, under the names that from_pretrained expects (docs/views.md,
// section 4).
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/container/documents.h"
#include "core/container/facts/model_files.h"
#include "core/views/arrays/safetensors.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

bool MayHaveHf(const Exports& exports) {
  return exports.arrays != nullptr &&
         exports.HasDocument(DocumentRole::kConfig);
}

/// Returns `viewed` with the model's weights as its arrays; nullopt if a weight
/// is missing: loaders would initialise that weight randomly instead of
/// failing.
std::optional<Viewed> ModelOf(const Viewed& viewed,
                              const ReadContext& context) {
  if (viewed.exports.weights == nullptr) return viewed;
  Result<std::vector<ArrayInfo>> weights = viewed.exports.weights(context);
  if (!weights || !std::all_of(weights->begin(), weights->end(), &IsUsual)) {
    return std::nullopt;
  }
  Viewed complete = viewed;
  complete.arrays =
      std::make_shared<const std::vector<ArrayInfo>>(*std::move(weights));
  return complete;
}

void MakeHf(const Viewed& viewed, const ReadContext& context,
            ViewTables& into) {
  const std::optional<Viewed> model = ModelOf(viewed, context);
  if (!model) return;
  for (const Document& document : viewed.exports.documents) {
    const std::string_view name = ModelFileName(document.role);
    if (name.empty()) continue;
    into.push_back(AliasFile(Role::kPrimary, "hf/" + std::string(name),
                             document.table, document.file));
  }
  auto file = SafetensorsFile(*model, "hf/model.safetensors", context);
  if (file != nullptr) into.push_back(std::move(file));
}

}  // namespace

extern const View kHfView;
const View kHfView{"hf", &MayHaveHf, &MakeHf};

}  // namespace ctxfs

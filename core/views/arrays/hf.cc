// SPDX-License-Identifier: Apache-2.0
//
// Implements hf/: weights, configuration and tokenizer of a model in one
// directory, under the names that from_pretrained expects (docs/views.md,
// section 4).
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/base/text/text.h"
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

/// Returns `viewed` with the weights of the model as its arrays. Fails if a
/// weight is missing, because loaders do not fail then, but use random values
/// for it.
Result<Viewed> ModelOf(const Viewed& viewed, const ReadContext& context) {
  if (viewed.exports.weights == nullptr) return viewed;
  std::vector<ArrayInfo> weights = CTXFS_TRY(viewed.exports.weights(context));
  const auto odd = std::ranges::find_if_not(weights, &IsUsual);
  if (odd != weights.end()) {
    return Error{Code::kUnsupported,
                 "no reader takes the shape of " + Quote(odd->name)};
  }
  Viewed complete = viewed;
  complete.arrays =
      std::make_shared<const std::vector<ArrayInfo>>(std::move(weights));
  return complete;
}

Status MakeHf(const Viewed& viewed, const ReadContext& context,
              ViewTables& into) {
  if (!IsComplete(viewed, "hf", into)) return {};
  const Result<Viewed> model = ModelOf(viewed, context);
  if (!model && model.error().Passing()) return model.error();
  if (!model) {
    AddIncompleteNote("hf", model.error(), into);
    return {};
  }
  for (const Document& document : viewed.exports.documents) {
    const std::string_view name = ModelFileName(document.role);
    if (name.empty()) continue;
    into.push_back(AliasFile(Role::kPrimary, "hf/" + std::string(name),
                             document.table, document.file));
  }
  return AddSafetensorsFile(*model, "hf/model.safetensors", context, into);
}

}  // namespace

extern const View kHfView;
const View kHfView{"hf", &MayHaveHf, &MakeHf};

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
//
// hf/: a model and what belongs to it in one directory, under the names that
// from_pretrained looks for (docs/views.md, section 4).
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "core/views/arrays/safetensors.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

constexpr std::string_view kConfig = "config.json";
constexpr std::array<std::string_view, 6> kNames = {
    kConfig,          "generation_config.json",
    "tokenizer.json", "tokenizer_config.json",
    "vocab.json",     "merges.txt"};

bool MayHave(const Container& container) {
  const std::optional<ArraysUse> use = container.ArraysUsed();
  return use && use->together == "model";
}

void Make(const Viewed& viewed, ViewFiles& into) {
  if (viewed.use.together != "model") return;
  std::vector<OwnFile> files;
  bool configured = false;
  for (OwnFile& file : viewed.container->OwnFiles()) {
    if (std::find(kNames.begin(), kNames.end(), file.path) == kNames.end()) {
      continue;
    }
    configured = configured || file.path == kConfig;
    file.path.insert(0, "hf/");
    files.push_back(std::move(file));
  }
  if (!configured) return;
  for (OwnFile& file : files) into.own.push_back(std::move(file));
  std::optional<OwnFile> model =
      SafetensorsFile(viewed, "hf/model.safetensors");
  if (model) into.own.push_back(std::move(*model));
}

}  // namespace

extern const View kHfView;
const View kHfView{"hf", &MayHave, &Make};

}  // namespace ctxfs

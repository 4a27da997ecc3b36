// SPDX-License-Identifier: Apache-2.0
#include "core/formats/safetensors/facts.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "core/container/facts/adapter_facts.h"
#include "core/container/facts/config_facts.h"

namespace ctxfs::safetensors {
namespace {

constexpr size_t kShownWords = 10;
constexpr uint32_t kTensorsACheck = 4096;

/// Returns the most frequent words of ss_tag_frequency, an object of datasets,
/// each an object of words and counts: "cat, dog".
std::string FrequentWords(const Json& metadata, const Request& request) {
  const Result<ParsedJson> tags =
      ParseJson(TextAt(metadata, "ss_tag_frequency"), request);
  if (!tags || !tags->value.is_object()) return {};
  std::map<std::string, uint64_t> counts;
  for (const auto& [dataset, words] : tags->value.items()) {
    if (!words.is_object()) continue;
    for (const auto& [word, count] : words.items()) {
      if (count.is_number_unsigned()) counts[word] += count.get<uint64_t>();
    }
  }
  std::vector<std::pair<uint64_t, std::string>> ordered;
  for (const auto& [word, count] : counts) {
    ordered.emplace_back(UINT64_MAX - count, word);
  }
  std::sort(ordered.begin(), ordered.end());
  std::string text;
  for (size_t i = 0; i < std::min(ordered.size(), kShownWords); ++i) {
    text += (i == 0 ? "" : ", ") + ordered[i].second;
  }
  return text;
}

/// Finds the first tensor of an adapter; nullopt if there is none.
Result<std::optional<uint32_t>> FindAdapter(const FileTable& tensors,
                                            const ReadContext& context) {
  std::string scratch;
  for (uint32_t i = 0; i < tensors.count(); ++i) {
    if (i % kTensorsACheck == 0) CTXFS_TRY(context.Check());
    const std::optional<std::string_view> name = tensors.Path(i, scratch);
    if (!name || (!name->ends_with("lora_A.weight") &&
                  !name->ends_with("lora_down.weight"))) {
      continue;
    }
    const std::optional<EntryInfo> info = tensors.Describe(i, context);
    if (!info || !info->shape || info->shape->empty()) continue;
    return std::optional(i);
  }
  return std::optional<uint32_t>();
}

/// Adds the facts of adapter_config.json, if a tensor or the file's name shows
/// that this is an adapter; does not look for that file beside other models. If
/// no rank has been found, takes it from the shape of a tensor.
Status AddAdapter(const Source& source, const FileTable& tensors,
                  const ReadContext& context, Facts& facts) {
  constexpr std::string_view kName = "adapter_model.safetensors";
  const std::optional<uint32_t> adapter =
      CTXFS_TRY(FindAdapter(tensors, context));
  if (adapter || source.name() == kName) {
    CTXFS_TRY(AddAdapterFacts(source, context, facts));
  }
  if (!adapter || facts.Has("lora_rank")) return {};
  const std::optional<EntryInfo> info = tensors.Describe(*adapter, context);
  if (info && info->shape) facts.Add("lora_rank", info->shape->front());
  return {};
}

}  // namespace

Status AddSafetensorsFacts(const Source& source, const Json& metadata,
                           const std::vector<Document>& documents,
                           const FileTable& tensors, const ReadContext& context,
                           Facts& facts) {
  AddNamed(metadata,
           {{"name", "modelspec.title"},
            {"name", "ss_output_name"},
            {"architecture", "modelspec.architecture"}},
           facts);
  CTXFS_TRY(AddParameters(tensors, context, facts));
  CTXFS_TRY(AddModelFacts(documents, context, facts));
  AddNamed(metadata,
           {{"license", "modelspec.license"},
            {"base_model", "ss_base_model_version"},
            {"base_model", "base_model"},
            {"lora_rank", "ss_network_dim"},
            {"lora_alpha", "ss_network_alpha"},
            {"trained_words", "modelspec.trigger_phrase"}},
           facts);
  CTXFS_TRY(AddAdapter(source, tensors, context, facts));
  if (!facts.Has("trained_words")) {
    facts.Add("trained_words", FrequentWords(metadata, context));
  }
  facts.AddMembers("metadata.", metadata);
  return {};
}

}  // namespace ctxfs::safetensors

// SPDX-License-Identifier: Apache-2.0
#include "core/container/facts/adapter_facts.h"

#include <string>

#include "core/base/json/json.h"
#include "core/container/facts/config_facts.h"

namespace ctxfs {
namespace {

/// A list as "q_proj, v_proj"; a text, such as "all-linear", unchanged.
std::string ModulesText(const Json& config, const char* key) {
  const Json* const modules = MemberAt(config, key);
  if (modules == nullptr || !modules->is_array()) return TextAt(config, key);
  std::string text;
  for (const Json& module : *modules) {
    if (!module.is_string() || text.size() > Facts::kTextBytes) continue;
    text += (text.empty() ? "" : ", ") + module.get<std::string>();
  }
  return text;
}

}  // namespace

Status AddAdapterFacts(const Source& container, const ReadContext& context,
                       Facts& facts) {
  const Json config =
      CTXFS_TRY(ReadBeside(container, "adapter_config.json", context));
  AddNamed(config,
           {{"adapter", "peft_type"},
            {"base_model", "base_model_name_or_path"},
            {"lora_rank", "r"},
            {"lora_alpha", "lora_alpha"}},
           facts);
  facts.Add("target_modules", ModulesText(config, "target_modules"));
  AddNamed(config, {{"task_type", "task_type"}}, facts);
  return {};
}

}  // namespace ctxfs

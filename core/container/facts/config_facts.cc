// SPDX-License-Identifier: Apache-2.0
#include "core/container/facts/config_facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "core/base/limits.h"

namespace ctxfs {
namespace {

constexpr uint64_t kMaxConfigBytes = 4 * limits::kMiB;

/// Returns a text such as "gptq, 4 bits".
std::string QuantisationText(const Json& quantisation) {
  std::string text = TextAt(quantisation, "quant_method");
  if (text.empty()) text = "quantised";
  if (const auto bits = CountAt(quantisation, "bits")) {
    text += fmt::format(", {} bits", *bits);
  }
  return text;
}

/// The document with that role; null if there is none.
const Document* Find(const std::vector<Document>& documents,
                     DocumentRole role) {
  const auto found =
      std::find_if(documents.begin(), documents.end(),
                   [role](const Document& one) { return one.role == role; });
  return found == documents.end() ? nullptr : &*found;
}

/// The text of the document with that role; empty if there is none, or if it is
/// longer than kMaxConfigBytes.
Result<std::string> ReadText(const std::vector<Document>& documents,
                             DocumentRole role, const ReadContext& context) {
  const Document* const document = Find(documents, role);
  if (document == nullptr) return std::string();
  const Content content =
      CTXFS_TRY(document->table->Open(document->file, context));
  if (content.size() > kMaxConfigBytes) return std::string();
  return ReadAll(content, context);
}

}  // namespace

void AddNamed(const Json& object, std::initializer_list<NamedFact> named,
              Facts& facts) {
  for (const auto& [key, name, unit] : named) {
    if (!facts.Has(key)) facts.AddMember(key, object, name, unit);
  }
}

std::string CaptionIn(std::string_view json, const Request& request) {
  const Result<ParsedJson> sample = ParseJson(json, request);
  if (!sample) return {};
  for (const char* key : {"caption", "text", "prompt"}) {
    std::string caption = TextAt(sample->value, key);
    if (!caption.empty()) return caption;
  }
  return {};
}

Result<Json> ReadDocument(const std::vector<Document>& documents,
                          DocumentRole role, const ReadContext& context) {
  const std::string text = CTXFS_TRY(ReadText(documents, role, context));
  Result<ParsedJson> parsed = ParseJson(text, context);
  return parsed ? std::move(parsed->value) : Json();
}

Result<Json> ReadBeside(const Source& container, const char* name,
                        const Request& request) {
  const Result<SourcePtr> file = container.OpenSibling(name, request);
  if (!file && !file.error().Permanent()) return file.error();
  if (!file || (*file)->size() > kMaxConfigBytes) return Json();
  const Buffer text =
      CTXFS_TRY(ReadBuffer(**file, 0, (*file)->size(), name, request));
  Result<ParsedJson> parsed = ParseJson(AsText(text.span()), request);
  if (!parsed && !parsed.error().Permanent()) return parsed.error();
  return parsed ? std::move(parsed->value) : Json();
}

void AddConfigFacts(const Json& config, Facts& facts) {
  AddNamed(config, {{"name", "_name_or_path"}}, facts);
  const Json* const classes = MemberAt(config, "architectures");
  if (classes != nullptr && classes->is_array() && !classes->empty() &&
      !facts.Has("architecture")) {
    facts.Add("architecture", classes->front());
  }
  AddNamed(config, {{"architecture", "model_type"}}, facts);
  // A multimodal model stores the numbers of its text model in a separate
  // object.
  const Json* const text = MemberAt(config, "text_config");
  for (const Json* one : {&config, text}) {
    if (one == nullptr) continue;
    AddNamed(*one,
             {{"context_length", "max_position_embeddings", "tokens"},
              {"context_length", "n_positions", "tokens"},
              {"layers", "num_hidden_layers"},
              {"layers", "n_layer"},
              {"heads", "num_attention_heads"},
              {"heads", "n_head"},
              {"key_value_heads", "num_key_value_heads"},
              {"embedding_length", "hidden_size"},
              {"embedding_length", "n_embd"},
              {"feed_forward_length", "intermediate_size"},
              {"vocabulary", "vocab_size", "tokens"},
              {"dtype", "torch_dtype"}},
             facts);
  }
  if (const Json* how = MemberAt(config, "quantization_config")) {
    facts.Add("quantisation", QuantisationText(*how));
  }
}

Status AddModelFacts(const std::vector<Document>& documents,
                     const ReadContext& context, Facts& facts) {
  AddConfigFacts(
      CTXFS_TRY(ReadDocument(documents, DocumentRole::kConfig, context)),
      facts);
  const Json tokenizer = CTXFS_TRY(
      ReadDocument(documents, DocumentRole::kTokenizerConfig, context));
  AddNamed(tokenizer, {{"tokenizer", "tokenizer_class"}}, facts);
  const std::string chat =
      CTXFS_TRY(ReadText(documents, DocumentRole::kChatTemplate, context));
  facts.AddText("chat_template", chat, chat.size());
  AddNamed(tokenizer, {{"chat_template", "chat_template"}}, facts);
  return {};
}

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer that the metadata describes, as the files that Hugging Face's
// libraries read (docs/gguf.md, section 11).
#include "core/formats/gguf/tokenizer.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/base/json_values.h"
#include "core/container/documents.h"
#include "core/formats/gguf/limits.h"

namespace ctxfs {
namespace {

constexpr std::string_view kModel = "tokenizer.ggml.model";
constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kScores = "tokenizer.ggml.scores";
constexpr std::string_view kTypes = "tokenizer.ggml.token_type";
constexpr std::string_view kMerges = "tokenizer.ggml.merges";
constexpr std::string_view kWhole = "tokenizer.huggingface.json";
constexpr std::string_view kTemplate = "tokenizer.chat_template";

// Values of token_type.
constexpr int32_t kControlToken = 3;
constexpr int32_t kUserToken = 4;

constexpr uint32_t kTokensPerCheck = 16'384;

struct SpecialToken {
  std::string_view key;
  const char* name;
};

constexpr SpecialToken kSpecialTokens[] = {
    {"tokenizer.ggml.bos_token_id", "bos_token"},
    {"tokenizer.ggml.eos_token_id", "eos_token"},
    {"tokenizer.ggml.unknown_token_id", "unk_token"},
    {"tokenizer.ggml.seperator_token_id", "sep_token"},  // as writers spell it
    {"tokenizer.ggml.padding_token_id", "pad_token"},
    {"tokenizer.ggml.cls_token_id", "cls_token"},
    {"tokenizer.ggml.mask_token_id", "mask_token"},
};

/// The metadata of one file.
class Keys {
 public:
  Keys(const Source& source, const GgufHeader& header,
       const ReadContext& context)
      : source_(source), header_(header), context_(context) {}

  Result<std::string> String(std::string_view key) const {
    const GgufPair* pair = header_.Find(key);
    if (pair == nullptr || pair->type != kGgufString) return std::string();
    GgufReader in(source_, header_.layout, pair->value_at);
    const uint64_t length = in.Count();
    if (length > limits::kGgufTokenBytes) return TooMuch();
    std::string text;
    in.Append(length, text);
    if (!in.ok()) return in.error();
    return text;
  }

  /// An array of strings; empty if there is none.
  Result<std::vector<std::string>> Strings(std::string_view key) const {
    std::vector<std::string> strings;
    std::optional<GgufReader> in;
    const Result<uint64_t> count = Begin(key, kGgufString, in);
    if (!count) return count.error();
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < *count; ++i) {
      if (i % kTokensPerCheck == 0) {
        if (Status wanted = context_.Check(); !wanted) {
          return std::move(wanted).error();
        }
      }
      const uint64_t length = in->Count();
      if (length > limits::kGgufTokenBytes - bytes) return TooMuch();
      bytes += length;
      in->Append(length, strings.emplace_back());
      if (!in->ok()) return in->error();
    }
    return strings;
  }

  /// The bits of an array of 32-bit values; empty if there is none.
  Result<std::vector<uint32_t>> Words(std::string_view key,
                                      uint32_t type) const {
    std::vector<uint32_t> words;
    std::optional<GgufReader> in;
    const Result<uint64_t> count = Begin(key, type, in);
    if (!count) return count.error();
    words.reserve(*count);
    for (uint64_t i = 0; i < *count; ++i) words.push_back(in->U32());
    if (in && !in->ok()) return in->error();
    return words;
  }

  std::optional<int64_t> Number(std::string_view key) const {
    return GgufInteger(header_, source_, key, kGgufUint32);
  }

 private:
  static Error TooMuch() {
    return {Code::kLimit,
            "the tokenizer is over the limit of " +
                std::to_string(limits::kGgufTokens) + " tokens and " +
                std::to_string(limits::kGgufTokenBytes) + " bytes"};
  }

  /// The number of items of an array; 0 if it is missing or has items of
  /// another type. Sets `in` to the first item.
  Result<uint64_t> Begin(std::string_view key, uint32_t type,
                         std::optional<GgufReader>& in) const {
    const GgufPair* pair = header_.Find(key);
    if (pair == nullptr || pair->type != kGgufArray) return 0;
    in.emplace(source_, header_.layout, pair->value_at);
    if (in->U32() != type) return 0;
    const uint64_t count = in->Count();
    if (!in->ok()) return in->error();
    if (count > limits::kGgufTokens) return TooMuch();
    return count;
  }

  const Source& source_;
  const GgufHeader& header_;
  const ReadContext& context_;
};

/// The name that Hugging Face's library "tokenizers" has for the kind of
/// tokenizer in tokenizer.ggml.model; empty if it has none.
std::string_view ModelOf(std::string_view ggml) {
  if (ggml == "gpt2") return "BPE";
  if (ggml == "llama" || ggml == "t5") return "Unigram";
  if (ggml == "bert") return "WordPiece";
  return {};
}

std::string AddedTokens(const std::vector<std::string>& tokens,
                        const std::vector<uint32_t>& types) {
  std::string text = "[";
  for (size_t i = 0; i < std::min(tokens.size(), types.size()); ++i) {
    const auto type = static_cast<int32_t>(types[i]);
    if (type != kControlToken && type != kUserToken) continue;
    text += text.size() == 1 ? "\n" : ",\n";
    text += "{\"id\":" + std::to_string(i) +
            ",\"content\":" + JsonLine(tokens[i]) +
            ",\"special\":" + (type == kControlToken ? "true" : "false") + "}";
  }
  return text + "]";
}

/// {"token": id, ...}, or [["token", score], ...] for Unigram.
std::string Vocabulary(const std::vector<std::string>& tokens,
                       const std::vector<uint32_t>& scores, bool unigram) {
  std::string text(1, unigram ? '[' : '{');
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) text += ",\n";
    if (unigram) {
      const float score =
          i < scores.size() ? std::bit_cast<float>(scores[i]) : 0.0F;
      text += "[" + JsonLine(tokens[i]) + "," + JsonLine(score) + "]";
    } else {
      text += JsonLine(tokens[i]) + ":" + std::to_string(i);
    }
  }
  return text + (unigram ? ']' : '}');
}

std::string ListOf(const std::vector<std::string>& strings) {
  std::string text = "[";
  for (size_t i = 0; i < strings.size(); ++i) {
    if (i > 0) text += ",\n";
    text += JsonLine(strings[i]);
  }
  return text + "]";
}

/// The text of tokenizer_config.json: the special tokens by their purpose, and
/// the chat template.
Result<std::string> ConfigJson(const Source& source, const GgufHeader& header,
                               const ReadContext& context) {
  const Keys keys(source, header, context);
  const Result<std::vector<std::string>> tokens = keys.Strings(kTokens);
  if (!tokens) return tokens.error();
  Json config = Json::object();
  for (const SpecialToken& special : kSpecialTokens) {
    const std::optional<int64_t> id = keys.Number(special.key);
    if (id && static_cast<uint64_t>(*id) < tokens->size()) {
      config[special.name] = (*tokens)[static_cast<size_t>(*id)];
    }
  }
  const Result<std::string> chat = keys.String(kTemplate);
  if (!chat) return chat.error();
  if (!chat->empty()) config["chat_template"] = *chat;
  return FormatJson(config);
}

/// The bytes of a string of the metadata; nullopt if there is none.
std::optional<Content> StringContent(
    const std::shared_ptr<const Source>& source, const GgufHeader& header,
    std::string_view key) {
  const GgufPair* pair = header.Find(key);
  if (pair == nullptr || pair->type != kGgufString) return std::nullopt;
  GgufReader in(*source, header.layout, pair->value_at,
                GgufReader::kSmallWindow);
  const uint64_t length = in.Count();
  if (!in.ok()) return std::nullopt;
  return Content(Range{source, in.at(), nullptr}, length);
}

}  // namespace

Result<std::string> GgufTokenizerJson(const Source& source,
                                      const GgufHeader& header,
                                      const ReadContext& context) {
  const Keys keys(source, header, context);
  const Result<std::string> ggml = keys.String(kModel);
  if (!ggml) return ggml.error();
  const std::string model(ModelOf(*ggml));
  if (model.empty()) {
    return Error{Code::kNotFound, "this kind of tokenizer has no such file"};
  }
  const Result<std::vector<std::string>> tokens = keys.Strings(kTokens);
  if (!tokens) return tokens.error();
  const Result<std::vector<std::string>> merges = keys.Strings(kMerges);
  if (!merges) return merges.error();
  const Result<std::vector<uint32_t>> scores =
      keys.Words(kScores, kGgufFloat32);
  if (!scores) return scores.error();
  const Result<std::vector<uint32_t>> types = keys.Words(kTypes, kGgufInt32);
  if (!types) return types.error();

  std::string text = "{\"version\":\"1.0\",\n\"added_tokens\":" +
                     AddedTokens(*tokens, *types) +
                     ",\n\"model\":{\"type\":\"" + model + "\",";
  const std::optional<int64_t> unknown =
      keys.Number("tokenizer.ggml.unknown_token_id");
  const bool unigram = model == "Unigram";
  if (unigram) {
    text += "\"unk_id\":" + (unknown ? std::to_string(*unknown) : "null") +
            ",\"byte_fallback\":true,";
  } else if (unknown && static_cast<uint64_t>(*unknown) < tokens->size()) {
    text +=
        "\"unk_token\":" + JsonLine((*tokens)[static_cast<size_t>(*unknown)]) +
        ",";
  }
  if (Status may = context.Spend(text.size()); !may) {
    return std::move(may).error();
  }
  text += "\n\"vocab\":" + Vocabulary(*tokens, *scores, unigram);
  if (model == "BPE") text += ",\n\"merges\":" + ListOf(*merges);
  return text + "}}\n";
}

Container::Tables GgufTokenizerFiles(std::shared_ptr<const Source> source,
                                     std::shared_ptr<const GgufHeader> header) {
  Container::Tables files;
  const std::string directory = "tokenizer/";
  const std::optional<Content> whole = StringContent(source, *header, kWhole);
  const GgufPair* tokens = header->Find(kTokens);
  const bool has_tokens = tokens != nullptr && tokens->type == kGgufArray;
  const uint64_t owner = NewOwner();
  const std::optional<Content> model = StringContent(source, *header, kModel);
  std::string kind;
  if (model && model->size() < 64) {
    const Result<std::string> text = ReadAll(*model, LoneContext());
    if (text) kind = *text;
  }
  if (whole) {
    files.push_back(
        FixedFile(Role::kViews, directory + "tokenizer.json", *whole));
  } else if (has_tokens && !ModelOf(kind).empty()) {
    files.push_back(
        TextDocument(Role::kViews, directory + "tokenizer.json", {owner, 0},
                     source, [source, header](const ReadContext& context) {
                       return GgufTokenizerJson(*source, *header, context);
                     }));
  }
  if (has_tokens) {
    files.push_back(TextDocument(
        Role::kViews, directory + "tokenizer_config.json", {owner, 1}, source,
        [source, header](const ReadContext& context) {
          return ConfigJson(*source, *header, context);
        }));
  }
  if (const auto chat = StringContent(source, *header, kTemplate)) {
    files.push_back(
        FixedFile(Role::kViews, directory + "chat_template.jinja", *chat));
  }
  return files;
}

}  // namespace ctxfs

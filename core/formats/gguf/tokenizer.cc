// SPDX-License-Identifier: Apache-2.0
//
// Generates the files of a tokenizer that Hugging Face's libraries read, from
// the tokenizer in the metadata (docs/formats/gguf.md, section 11).
#include "core/formats/gguf/tokenizer.h"

#include <fmt/core.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/heap/heap_allowance.h"
#include "core/base/json/json.h"
#include "core/base/json/json_writer.h"
#include "core/container/documents.h"
#include "core/formats/gguf/limits.h"

namespace ctxfs::gguf {
namespace {

constexpr std::string_view kModel = "tokenizer.ggml.model";
constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kScores = "tokenizer.ggml.scores";
constexpr std::string_view kTokenTypes = "tokenizer.ggml.token_type";
constexpr std::string_view kMerges = "tokenizer.ggml.merges";
constexpr std::string_view kWhole = "tokenizer.huggingface.json";
constexpr std::string_view kTemplate = "tokenizer.chat_template";

// Values of the metadata's tokenizer.ggml.token_type.
constexpr int32_t kControlToken = 3;
constexpr int32_t kUserToken = 4;

// Number of text bytes that take as much work as an item of an array.
constexpr uint64_t kBytesPerItem = 64;
constexpr uint64_t kBytesPerCheck = limits::kMiB;
constexpr uint64_t kWordsPerCheck = 65'536;

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

class Keys {
 public:
  Keys(const Source& source, const GgufHeader& header,
       const ReadContext& context)
      : source_(source), header_(header), context_(context) {}

  Result<std::string> String(std::string_view key) const {
    const GgufPair* pair = header_.Find(key);
    if (pair == nullptr || pair->type != kGgufString) return std::string();
    GgufReader in(source_, header_.layout, pair->value_at, context_);
    const uint64_t length = in.Count();
    if (length > kMaxTokenBytes) return TooMuch();
    std::string text;
    in.Append(length, text);
    if (!in.ok()) return in.error();
    return text;
  }

  /// Calls `use(index, text)`, which returns a Status, for each item of an
  /// array of strings, in order. Does nothing without such an array.
  template <typename Use>
  Status EachString(std::string_view key, const Use& use) const {
    std::optional<GgufReader> in;
    const uint64_t count = CTXFS_TRY(Begin(key, kGgufString, in));
    uint64_t bytes = 0;
    uint64_t next_check = 0;  // in bytes, and kBytesPerItem for each item
    std::string text;
    for (uint64_t i = 0; i < count; ++i) {
      if (bytes + i * kBytesPerItem >= next_check) {
        next_check = bytes + i * kBytesPerItem + kBytesPerCheck;
        CTXFS_TRY(context_.Check());
      }
      const uint64_t length = in->Count();
      if (length > kLongestToken || length > kMaxTokenBytes - bytes) {
        return TooMuch();
      }
      bytes += length;
      text.clear();
      in->Append(length, text);
      if (!in->ok()) return in->error();
      CTXFS_TRY(use(i, text));
    }
    return {};
  }

  /// Returns an array of 32-bit values, as bits; empty if there is none.
  Result<std::vector<uint32_t>> Words(std::string_view key,
                                      uint32_t type) const {
    std::vector<uint32_t> words;
    std::optional<GgufReader> in;
    const uint64_t count = CTXFS_TRY(Begin(key, type, in));
    CTXFS_TRY(HeapAllowance::Admit(count * sizeof(uint32_t)));
    words.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      if (i % kWordsPerCheck == 0) {
        CTXFS_TRY(context_.Check());
      }
      words.push_back(in->U32());
      if (!in->ok()) return in->error();
    }
    return words;
  }

  std::optional<int64_t> Number(std::string_view key) const {
    const Maybe<int64_t> number =
        GgufInteger(header_, source_, key, kGgufUint32, context_);
    return number ? *number : std::nullopt;
  }

 private:
  static Error TooMuch() {
    return {
        Code::kLimit,
        fmt::format("the tokenizer is over the limit of {} tokens and {} bytes",
                    kMaxTokens, kMaxTokenBytes),
        kNoOffset, EFBIG};
  }

  /// Returns the length of an array; 0 if it is missing or has another item
  /// type. Sets `in` to a reader at the first item.
  Result<uint64_t> Begin(std::string_view key, uint32_t type,
                         std::optional<GgufReader>& in) const {
    const GgufPair* pair = header_.Find(key);
    if (pair == nullptr || pair->type != kGgufArray) return 0;
    in.emplace(source_, header_.layout, pair->value_at, context_);
    if (in->U32() != type) return 0;
    const uint64_t count = in->Count();
    if (!in->ok()) return in->error();
    if (count > kMaxTokens) return TooMuch();
    return count;
  }

  const Source& source_;
  const GgufHeader& header_;
  const ReadContext& context_;
};

/// Returns the name in Hugging Face's library "tokenizers" for the kind of
/// tokenizer in tokenizer.ggml.model; empty if it has none.
std::string_view ModelOf(std::string_view ggml) {
  if (ggml == "gpt2") return "BPE";
  if (ggml == "llama" || ggml == "t5") return "Unigram";
  if (ggml == "bert") return "WordPiece";
  return {};
}

/// Writes the array of control tokens and user-defined tokens.
Status PutAddedTokens(const Keys& keys, const std::vector<uint32_t>& types,
                      JsonWriter& json) {
  json.BeginArray();
  Status all = keys.EachString(
      kTokens, [&](uint64_t id, const std::string& token) -> Status {
        if (id >= types.size()) return {};
        const auto type = static_cast<int32_t>(types[id]);
        if (type != kControlToken && type != kUserToken) return {};
        json.Break();
        json.BeginObject();
        json.Member("id", id);
        json.Member("content", token);
        json.Member("special", type == kControlToken);
        json.EndObject();
        return json.status();
      });
  json.EndArray();
  return all;
}

/// Writes {"token": id, ...}; for Unigram, [["token", score], ...].
Status PutVocabulary(const Keys& keys, const std::vector<uint32_t>& scores,
                     bool unigram, JsonWriter& json) {
  unigram ? json.BeginArray() : json.BeginObject();
  Status all =
      keys.EachString(kTokens, [&](uint64_t id, const std::string& token) {
        if (id > 0) json.Break();
        if (!unigram) {
          json.Member(token, id);
          return json.status();
        }
        json.BeginArray();
        json.Value(token);
        json.Value(
            Json(id < scores.size() ? std::bit_cast<float>(scores[id]) : 0.0F));
        json.EndArray();
        return json.status();
      });
  unigram ? json.EndArray() : json.EndObject();
  return all;
}

Status PutMerges(const Keys& keys, JsonWriter& json) {
  json.BeginArray();
  Status all = keys.EachString(
      kMerges, [&json](uint64_t number, const std::string& merge) {
        if (number > 0) json.Break();
        json.Value(merge);
        return json.status();
      });
  json.EndArray();
  return all;
}

/// Writes the unknown token: for Unigram its number as unk_id, which is null if
/// the metadata has none, and byte_fallback; for other models its text as
/// unk_token, if the metadata has its number.
Status PutUnknown(const Keys& keys, bool unigram, JsonWriter& json) {
  const std::optional<int64_t> unknown =
      keys.Number("tokenizer.ggml.unknown_token_id");
  if (unigram) {
    json.Member("unk_id", unknown ? Json(*unknown) : Json());
    json.Member("byte_fallback", true);
    return json.status();
  }
  if (!unknown) return {};
  return keys.EachString(kTokens, [&](uint64_t id, const std::string& token) {
    if (id == static_cast<uint64_t>(*unknown)) json.Member("unk_token", token);
    return json.status();
  });
}

/// Returns tokenizer_config.json: special tokens and the chat template.
Result<std::string> ConfigJson(const Source& source, const GgufHeader& header,
                               const ReadContext& context) {
  const Keys keys(source, header, context);
  std::vector<std::pair<uint64_t, const char*>> wanted;
  for (const SpecialToken& special : kSpecialTokens) {
    const std::optional<int64_t> id = keys.Number(special.key);
    if (id) wanted.emplace_back(static_cast<uint64_t>(*id), special.name);
  }
  Json config = Json::object();
  Status all = keys.EachString(
      kTokens, [&](uint64_t number, const std::string& token) -> Status {
        for (const auto& [id, name] : wanted) {
          if (id == number) config[name] = token;
        }
        return {};
      });
  if (!all) return std::move(all).error();
  std::string chat = CTXFS_TRY(keys.String(kTemplate));
  if (!chat.empty()) config["chat_template"] = std::move(chat);
  return FormatJson(config);
}

/// Returns a metadata string; nullopt if there is none.
std::optional<Content> StringContent(
    const std::shared_ptr<const Source>& source, const GgufHeader& header,
    std::string_view key, const Request& request) {
  const GgufPair* pair = header.Find(key);
  if (pair == nullptr || pair->type != kGgufString) return std::nullopt;
  GgufReader in(*source, header.layout, pair->value_at, request,
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
  const std::string ggml = CTXFS_TRY(keys.String(kModel));
  const std::string model(ModelOf(ggml));
  if (model.empty()) {
    return Error{Code::kNotFound, "this kind of tokenizer has no such file"};
  }
  const std::vector<uint32_t> scores =
      CTXFS_TRY(keys.Words(kScores, kGgufFloat32));
  const std::vector<uint32_t> types =
      CTXFS_TRY(keys.Words(kTokenTypes, kGgufInt32));

  const bool unigram = model == "Unigram";
  const Error too_long{
      Code::kLimit,
      fmt::format("tokenizer.json is over the limit of {} bytes",
                  kMaxTokenizerText),
      kNoOffset, EFBIG};
  JsonWriter json(kMaxTokenizerText, too_long,
                  [&](uint64_t bytes) { return context.Charge(bytes); });
  json.BeginObject();
  json.Member("version", "1.0");
  json.Break();
  json.Key("added_tokens");
  Status put = PutAddedTokens(keys, types, json);
  json.Break();
  json.Key("model");
  json.BeginObject();
  json.Member("type", model);
  if (put) put = PutUnknown(keys, unigram, json);
  json.Break();
  json.Key("vocab");
  if (put) put = PutVocabulary(keys, scores, unigram, json);
  if (put && model == "BPE") {
    json.Break();
    json.Key("merges");
    put = PutMerges(keys, json);
  }
  json.EndObject();
  json.EndObject();
  json.Append("\n");
  if (!put) return std::move(put).error();
  return std::move(json).Take();
}

Container::Tables GgufTokenizerFiles(std::shared_ptr<const Source> source,
                                     std::shared_ptr<const GgufHeader> header,
                                     const Request& request) {
  Container::Tables files;
  const std::string directory = "tokenizer/";
  const std::optional<Content> whole =
      StringContent(source, *header, kWhole, request);
  const GgufPair* tokens = header->Find(kTokens);
  const bool has_tokens = tokens != nullptr && tokens->type == kGgufArray;
  const uint64_t owner = NewOwner();
  const std::optional<Content> model =
      StringContent(source, *header, kModel, request);
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
  if (const auto chat = StringContent(source, *header, kTemplate, request)) {
    files.push_back(
        FixedFile(Role::kViews, directory + "chat_template.jinja", *chat));
  }
  return files;
}

}  // namespace ctxfs::gguf

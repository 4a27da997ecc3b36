// SPDX-License-Identifier: Apache-2.0
#include "core/formats/gguf/facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json/json.h"
#include "core/formats/gguf/metadata_text.h"
#include "core/formats/gguf/reader.h"

namespace ctxfs::gguf {
namespace {

constexpr uint64_t kShownItems = 16;
constexpr size_t kPairsACheck = 1024;

/// Returns llama.cpp's name for a value of general.file_type, the type of most
/// tensors.
std::string FileTypeName(uint64_t type) {
  constexpr std::array<std::string_view, 39> kNames = {
      "F32",    "F16",    "Q4_0",    "Q4_1",     "",       "",        "",
      "Q8_0",   "Q5_0",   "Q5_1",    "Q2_K",     "Q3_K_S", "Q3_K_M",  "Q3_K_L",
      "Q4_K_S", "Q4_K_M", "Q5_K_S",  "Q5_K_M",   "Q6_K",   "IQ2_XXS", "IQ2_XS",
      "Q2_K_S", "IQ3_XS", "IQ3_XXS", "IQ1_S",    "IQ4_NL", "IQ3_S",   "IQ3_M",
      "IQ2_S",  "IQ2_M",  "IQ4_XS",  "IQ1_M",    "BF16",   "",        "",
      "",       "TQ1_0",  "TQ2_0",   "MXFP4_MOE"};
  if (type < kNames.size() && !kNames[type].empty()) {
    return std::string(kNames[type]);
  }
  return fmt::format("file type {}", type);
}

class Pairs {
 public:
  Pairs(const Source& source, const GgufHeader& header,
        const ReadContext& context, Facts& facts)
      : source_(source),
        context_(context),
        header_(header),
        facts_(facts),
        used_(header.pairs.size()) {}

  /// Adds the value of `pair`: a scalar, the start of a text, the items of a
  /// short array of scalars or short texts, or type and length of another
  /// array.
  Status Add(std::string_view key, const GgufPair& pair,
             std::string_view unit = {}) {
    // The window is long enough for a short text, the usual value.
    GgufReader in(source_, header_.layout, pair.value_at, context_, 1024);
    if (pair.type == kGgufString) {
      const uint64_t length = in.Count();
      std::string text;
      in.Append(std::min<uint64_t>(length, Facts::kTextBytes + 4), text);
      if (!in.ok()) return in.error();
      facts_.AddText(key, text, length);
      return {};
    }
    const Json value =
        pair.type == kGgufArray ? Array(in) : Scalar(pair.type, in);
    if (!in.ok()) return in.error();
    facts_.Add(key, value, unit);
    return {};
  }

  /// Adds the pair `name` as the fact `key`, if it exists.
  Status AddKnown(std::string_view key, std::string_view name,
                  std::string_view unit = {}) {
    const GgufPair* pair = header_.Find(name);
    if (pair == nullptr) return {};
    MarkUsed(*pair);
    return Add(key, *pair, unit);
  }

  /// Returns the text of the pair `name`; empty if missing or too long.
  std::string Text(std::string_view name) const {
    const GgufPair* pair = header_.Find(name);
    if (pair == nullptr || pair->type != kGgufString) return {};
    GgufReader in(source_, header_.layout, pair->value_at, context_, 256);
    const uint64_t length = in.Count();
    std::string text;
    if (length <= Facts::kKeyBytes) in.Append(length, text);
    return in.ok() ? text : std::string();
  }

  /// Returns the length of the array `name`; nullopt if there is none.
  std::optional<uint64_t> Length(std::string_view name) const {
    const GgufPair* pair = header_.Find(name);
    if (pair == nullptr || pair->type != kGgufArray) return std::nullopt;
    GgufReader in(source_, header_.layout, pair->value_at, context_,
                  GgufReader::kSmallWindow);
    in.U32();
    const uint64_t count = in.Count();
    return in.ok() ? std::optional(count) : std::nullopt;
  }

  void MarkUsed(const GgufPair& pair) {
    used_[static_cast<size_t>(&pair - header_.pairs.data())] = true;
  }

  /// Adds all pairs not added before.
  Status AddOthers(const ReadContext& context) {
    for (size_t i = 0; i < used_.size(); ++i) {
      if (facts_.full()) {
        facts_.LeaveOut(static_cast<uint64_t>(std::count(
            used_.begin() + static_cast<ptrdiff_t>(i), used_.end(), false)));
        return {};
      }
      if (i % kPairsACheck == 0) CTXFS_TRY(context.Check());
      if (used_[i]) continue;
      const GgufPair& pair = header_.pairs[i];
      const std::string_view key = header_.keys[pair.key];
      CTXFS_TRY(Add("metadata." + std::string(key.substr(0, Facts::kKeyBytes)),
                    pair));
    }
    return {};
  }

 private:
  static Json Scalar(uint32_t type, GgufReader& in) {
    std::string text;
    AppendGgufScalar(type, in, text);
    Result<ParsedJson> parsed = ParseJson(text);
    return parsed ? std::move(parsed->value) : Json(text);
  }

  static Json Array(GgufReader& in) {
    const uint32_t type = in.U32();
    const uint64_t count = in.Count();
    Json items = Json::array();
    if (count > kShownItems || type == kGgufArray) {
      return fmt::format("{}[{}]", GgufValueTypeName(type), count);
    }
    for (uint64_t i = 0; i < count && in.ok(); ++i) {
      if (type != kGgufString) {
        items.push_back(Scalar(type, in));
        continue;
      }
      const uint64_t length = in.Count();
      if (length > Facts::kTextBytes) {
        return fmt::format("{}[{}]", GgufValueTypeName(type), count);
      }
      std::string text;
      in.Append(length, text);
      items.push_back(std::move(text));
    }
    return items;
  }

  const Source& source_;
  const ReadContext& context_;
  const GgufHeader& header_;
  Facts& facts_;
  std::vector<bool> used_;  // by index of a pair: whether it was added
};

}  // namespace

Status AddGgufFacts(const Source& source, const GgufHeader& header,
                    const FileTable& tensors, const ReadContext& context,
                    Facts& facts) {
  Pairs pairs(source, header, context, facts);
  const std::string model = pairs.Text("general.architecture") + ".";
  CTXFS_TRY(pairs.AddKnown("name", "general.name"));
  CTXFS_TRY(pairs.AddKnown("architecture", "general.architecture"));
  CTXFS_TRY(AddParameters(tensors, context, facts));
  struct Known {
    const char* key;
    const char* name;  // of the pair, after "ARCHITECTURE."
    const char* unit;
  };
  constexpr Known kOfModel[] = {
      {"context_length", "context_length", "tokens"},
      {"layers", "block_count", ""},
      {"heads", "attention.head_count", ""},
      {"key_value_heads", "attention.head_count_kv", ""},
      {"embedding_length", "embedding_length", ""},
      {"feed_forward_length", "feed_forward_length", ""}};
  for (const Known& one : kOfModel) {
    CTXFS_TRY(pairs.AddKnown(one.key, model + one.name, one.unit));
  }
  if (const auto tokens = pairs.Length("tokenizer.ggml.tokens")) {
    facts.Add("vocabulary", *tokens, "tokens");
  } else {
    CTXFS_TRY(pairs.AddKnown("vocabulary", model + "vocab_size", "tokens"));
  }
  if (const GgufPair* pair = header.Find("general.file_type");
      pair != nullptr && pair->type == kGgufUint32) {
    const auto type = CTXFS_TRY(
        GgufInteger(header, source, "general.file_type", kGgufUint32, context));
    if (type) {
      pairs.MarkUsed(*pair);
      facts.Add("quantisation", FileTypeName(static_cast<uint64_t>(*type)));
    }
  }
  constexpr std::pair<const char*, const char*> kOthers[] = {
      {"license", "general.license"},
      {"base_model", "general.base_model.0.name"},
      {"tokenizer", "tokenizer.ggml.model"},
      {"chat_template", "tokenizer.chat_template"}};
  for (const auto& [key, name] : kOthers) {
    CTXFS_TRY(pairs.AddKnown(key, name));
  }
  return pairs.AddOthers(context);
}

}  // namespace ctxfs::gguf

// SPDX-License-Identifier: Apache-2.0
//
// Maps llama.cpp's names of tensors to those of the hub, and describes the
// changes that llama.cpp's converter makes to tensors of some architectures.
#include "core/formats/gguf/hub_names.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/formats/gguf/reader.h"

namespace ctxfs::gguf {
namespace {

constexpr uint64_t kMaxArchitectureBytes = 64;
constexpr size_t kMaxLayerDigits = 9;
constexpr std::string_view kBlock = "blk.";

// A bit for each architecture.
constexpr uint32_t kLlama = 1;
constexpr uint32_t kQwen2 = 2;
constexpr uint32_t kQwen3 = 4;
constexpr uint32_t kPhi3 = 8;
constexpr uint32_t kGemma = 16;
constexpr uint32_t kGemma2 = 32;
constexpr uint32_t kGemma3 = 64;
constexpr uint32_t kAll = 127;
// Architectures whose layers have a norm before and after attention, and before
// and after the feed-forward network.
constexpr uint32_t kFourNorms = kGemma2 | kGemma3;
// Architectures for which the hub stores each weight of a norm minus 1: the
// norm multiplies by 1 + the stored weight. llama.cpp's norms multiply by the
// stored weight, so its converter adds 1 to it.
constexpr uint32_t kOneAdded = kGemma | kGemma2 | kGemma3;

struct Architecture {
  std::string_view name;  // general.architecture
  uint32_t bit;
};
constexpr Architecture kArchitectures[] = {
    {"llama", kLlama}, {"qwen2", kQwen2},   {"qwen3", kQwen3},  {"phi3", kPhi3},
    {"gemma", kGemma}, {"gemma2", kGemma2}, {"gemma3", kGemma3}};

struct Module {
  std::string_view here;  // after "blk.N."
  std::string_view hub;   // after "layers.N."
  uint32_t architectures;
};
constexpr Module kModules[] = {
    {"attn_norm", "input_layernorm", kAll},
    {"attn_q", "self_attn.q_proj", kAll & ~kPhi3},
    {"attn_k", "self_attn.k_proj", kAll & ~kPhi3},
    {"attn_v", "self_attn.v_proj", kAll & ~kPhi3},
    {"attn_qkv", "self_attn.qkv_proj", kPhi3},
    {"attn_output", "self_attn.o_proj", kAll},
    {"attn_q_norm", "self_attn.q_norm", kQwen3 | kGemma3},
    {"attn_k_norm", "self_attn.k_norm", kQwen3 | kGemma3},
    {"post_attention_norm", "post_attention_layernorm", kFourNorms},
    {"ffn_norm", "post_attention_layernorm", kAll & ~kFourNorms},
    {"ffn_norm", "pre_feedforward_layernorm", kFourNorms},
    {"post_ffw_norm", "post_feedforward_layernorm", kFourNorms},
    {"ffn_gate_inp", "block_sparse_moe.gate", kLlama},
    {"ffn_gate", "mlp.gate_proj", kAll & ~kPhi3},
    {"ffn_up", "mlp.up_proj", kAll & ~kPhi3},
    {"ffn_up", "mlp.gate_up_proj", kPhi3},
    {"ffn_down", "mlp.down_proj", kAll}};

struct Model {
  uint32_t bit;  // of the architecture
  uint64_t heads;
  uint64_t key_heads;
};

/// Returns the prefix of lm_head for a model whose other names start with
/// `prefix`: "language_model." if `prefix` starts with that, else empty.
std::string_view BeforeHead(std::string_view prefix) {
  constexpr std::string_view kInside = "language_model.";
  return prefix.starts_with(kInside) ? kInside : std::string_view();
}

/// Returns the hub's name of a module outside of the layers; empty for any
/// other module.
std::string Outside(std::string_view module, std::string_view prefix) {
  if (module == "token_embd") return std::string(prefix) + "embed_tokens";
  if (module == "output_norm") return std::string(prefix) + "norm";
  if (module == "output") return std::string(BeforeHead(prefix)) + "lm_head";
  return {};
}

/// Returns the hub's name of a module of a layer; empty for any other module.
/// Sets `here` to the module's name after "blk.N.".
std::string InLayer(std::string_view module, std::string_view prefix,
                    uint32_t architecture, std::string_view& here) {
  if (!module.starts_with(kBlock)) return {};
  module.remove_prefix(kBlock.size());
  const size_t end = module.find('.');
  if (end == std::string_view::npos || end == 0 || end > kMaxLayerDigits) {
    return {};
  }
  const std::string_view layer = module.substr(0, end);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!std::ranges::all_of(layer, is_digit)) return {};
  here = module.substr(end + 1);
  const auto* const found =
      std::ranges::find_if(kModules, [&](const Module& m) {
        return m.here == here && (m.architectures & architecture) != 0;
      });
  if (found == std::end(kModules)) return {};
  return std::string(prefix) + "layers." + std::string(layer) + "." +
         std::string(found->hub);
}

std::optional<HubArray> Find(const Model& model, std::string_view name,
                             std::string_view prefix) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view module = name.substr(0, dot);
  std::string_view here;  // the module, if in a layer
  HubArray array{.name = Outside(module, prefix)};
  if (array.name.empty()) {
    array.name = InLayer(module, prefix, model.bit, here);
  }
  if (array.name.empty()) return std::nullopt;
  array.name += name.substr(dot);
  if (model.bit == kLlama && here == "attn_q") array.heads = model.heads;
  if (model.bit == kLlama && here == "attn_k") array.heads = model.key_heads;
  if ((model.bit & kOneAdded) != 0 && name.ends_with("norm.weight")) {
    array.added = 1;
  }
  return array;
}

/// Returns the text of general.architecture; empty if it is missing or longer
/// than kMaxArchitectureBytes.
std::string ArchitectureOf(const Source& source, const GgufHeader& header,
                           const Request& request) {
  const GgufPair* const pair = header.Find("general.architecture");
  if (pair == nullptr || pair->type != kGgufString) return {};
  GgufReader in(source, header.layout, pair->value_at, request,
                GgufReader::kSmallWindow);
  const uint64_t length = in.Count();
  std::string text;
  if (length <= kMaxArchitectureBytes) in.Append(length, text);
  return in.ok() ? text : std::string();
}

uint64_t CountOf(const GgufHeader& header, const Source& source,
                 const std::string& key, int64_t otherwise,
                 const Request& request) {
  const Maybe<int64_t> read =
      GgufInteger(header, source, key, kGgufUint32, request);
  const std::optional<int64_t> found = read ? *read : std::nullopt;
  // The value may be a list of one count for each layer, which is not
  // supported.
  if (!found && header.Find(key) != nullptr) return 0;
  return static_cast<uint64_t>(found.value_or(otherwise));
}

}  // namespace

std::optional<NamesOnHub> GgufHubNames(const Source& source,
                                       const GgufHeader& header,
                                       const Request& request) {
  const std::string name = ArchitectureOf(source, header, request);
  const auto* const known = std::ranges::find(
      kArchitectures, std::string_view(name), &Architecture::name);
  if (known == std::end(kArchitectures)) return std::nullopt;
  Model model{known->bit, 0, 0};
  if (model.bit == kLlama) {
    const std::string heads = name + ".attention.head_count";
    model.heads = CountOf(header, source, heads, 0, request);
    model.key_heads = CountOf(header, source, heads + "_kv",
                              static_cast<int64_t>(model.heads), request);
    if (model.heads == 0 || model.key_heads == 0) return std::nullopt;
  }
  return NamesOnHub{name,
                    [model](std::string_view array, std::string_view prefix) {
                      return Find(model, array, prefix);
                    }};
}

}  // namespace ctxfs::gguf

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/formats/gguf/hub_names.h"
#include "core/io/source.h"
#include "tests/unit/testing/files.h"

namespace ctxfs::gguf {
namespace {

std::string Number(uint64_t value, size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) {
    bytes += static_cast<char>(value >> (8 * i) & 0xFFU);
  }
  return bytes;
}

std::string Lengthy(const std::string& text) {
  return Number(text.size(), 8) + text;
}

std::string CountPair(const std::string& key, uint64_t value) {
  return Lengthy(key) + Number(kGgufUint32, 4) + Number(value, 4);
}

/// The names of a file without tensors; `counts` are further pairs.
std::optional<NamesOnHub> HubNamesOf(const std::string& architecture,
                                     const std::vector<std::string>& counts) {
  std::string file = "GGUF" + Number(3, 4) + Number(0, 8) +
                     Number(counts.size() + 1, 8) +
                     Lengthy("general.architecture") + Number(kGgufString, 4) +
                     Lengthy(architecture);
  for (const std::string& one : counts) file += one;
  file.resize((file.size() + 31) / 32 * 32);
  const MemorySource source(file);
  const auto header = ReadGgufHeader(source, false, LoneContext());
  EXPECT_TRUE(header) << header.error().Text();
  return GgufHubNames(source, *header, Request());
}

const std::string kEightHeads = CountPair("llama.attention.head_count", 8);

TEST(GgufHubNames, Item43_3_LlamaHasHeads) {
  const auto names = HubNamesOf(
      "llama", {kEightHeads, CountPair("llama.attention.head_count_kv", 2)});
  ASSERT_TRUE(names);
  EXPECT_EQ(names->architecture, "llama");
  const auto q = names->find("blk.12.attn_q.weight", "model.");
  ASSERT_TRUE(q);
  EXPECT_EQ(q->name, "model.layers.12.self_attn.q_proj.weight");
  EXPECT_EQ(q->heads, 8U);
  EXPECT_EQ(names->find("blk.0.attn_k.bias", "model.")->heads, 2U);
  EXPECT_EQ(names->find("blk.0.attn_v.weight", "model.")->heads, 0U);
  EXPECT_EQ(names->find("output.weight", "model.")->name, "lm_head.weight");
  EXPECT_EQ(names->find("output.weight", "language_model.model.")->name,
            "language_model.lm_head.weight");
  EXPECT_EQ(names->find("output.weight", "model.language_model.")->name,
            "lm_head.weight");
  EXPECT_EQ(names->find("blk.0.ffn_norm.weight", "")->name,
            "layers.0.post_attention_layernorm.weight");
  for (const char* const other :
       {"", "weight", "blk.weight", "blk..attn_q.weight", "blk.x.attn_q.weight",
        "blk.0.attn_q_norm.weight", "blk.0.ffn_gate_exps.weight", "blk.0",
        "blk.0123456789.attn_q.weight", "rope_freqs.weight"}) {
    EXPECT_FALSE(names->find(other, "model.")) << other;
  }
}

TEST(GgufHubNames, Item43_3_WithoutHeadsLlamaIsUnknown) {
  EXPECT_TRUE(HubNamesOf("llama", {kEightHeads}));
  EXPECT_FALSE(HubNamesOf("llama", {}));
  EXPECT_FALSE(
      HubNamesOf("llama", {CountPair("llama.attention.head_count", 0)}));
  EXPECT_FALSE(HubNamesOf(
      "llama",
      {kEightHeads, Lengthy("llama.attention.head_count_kv") +
                        Number(kGgufArray, 4) + Number(kGgufUint32, 4) +
                        Number(1, 8) + Number(2, 4)}));
  EXPECT_FALSE(HubNamesOf(std::string(100, 'x'), {}));
  EXPECT_FALSE(HubNamesOf("rwkv7", {}));
}

TEST(GgufHubNames, Item43_3_GemmaHasOneMoreAndOtherNorms) {
  const auto gemma = HubNamesOf("gemma", {});
  const auto gemma3 = HubNamesOf("gemma3", {});
  ASSERT_TRUE(gemma && gemma3);
  const auto norm = gemma->find("blk.0.ffn_norm.weight", "model.");
  EXPECT_EQ(norm->name, "model.layers.0.post_attention_layernorm.weight");
  EXPECT_EQ(norm->added, 1);
  EXPECT_EQ(gemma3->find("blk.0.ffn_norm.weight", "model.")->name,
            "model.layers.0.pre_feedforward_layernorm.weight");
  EXPECT_EQ(gemma3->find("blk.0.attn_k_norm.weight", "model.")->added, 1);
  EXPECT_EQ(gemma3->find("output_norm.weight", "model.")->added, 1);
  EXPECT_EQ(gemma->find("token_embd.weight", "model.")->added, 0);
  EXPECT_EQ(gemma->find("blk.0.attn_q.weight", "model.")->heads, 0U);
  EXPECT_FALSE(gemma->find("blk.0.post_ffw_norm.weight", "model."));
}

}  // namespace
}  // namespace ctxfs::gguf

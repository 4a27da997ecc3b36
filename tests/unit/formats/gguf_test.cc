// SPDX-License-Identifier: Apache-2.0
//
// What golden/gguf has no file for: limits, interrupts, failing reads, long
// strings.
#include "core/formats/gguf/gguf.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "core/base/limits.h"
#include "core/base/sanitized.h"
#include "core/formats/gguf/limits.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/vector_targets.h"

namespace ctxfs::gguf {
namespace {

void Put(std::string& bytes, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    bytes += static_cast<char>(value >> (8 * i) & 0xFFU);
  }
}

std::string Text(const std::string& text) {
  std::string bytes;
  Put(bytes, text.size(), 8);
  return bytes + text;
}

std::string Pair(const std::string& key, uint32_t type,
                 const std::string& value) {
  std::string bytes = Text(key);
  Put(bytes, type, 4);
  return bytes + value;
}

std::string Array(uint32_t type, uint64_t count, const std::string& items) {
  std::string bytes;
  Put(bytes, type, 4);
  Put(bytes, count, 8);
  return bytes + items;
}

std::string Head(uint64_t tensors, uint64_t pairs) {
  std::string bytes = "GGUF";
  Put(bytes, 3, 4);
  Put(bytes, tensors, 8);
  Put(bytes, pairs, 8);
  return bytes;
}

std::string Record(const std::string& name, const std::vector<uint64_t>& dims,
                   uint32_t type, uint64_t offset) {
  std::string bytes = Text(name);
  Put(bytes, dims.size(), 4);
  for (const uint64_t dim : dims) Put(bytes, dim, 8);
  Put(bytes, type, 4);
  Put(bytes, offset, 8);
  return bytes;
}

Result<std::shared_ptr<GgufContainer>> Load(
    std::shared_ptr<const Source> source,
    const ReadContext& context = LoneContext(), bool salvage = false) {
  OpenOptions options;
  options.salvage = salvage;
  auto model = std::make_shared<GgufContainer>(std::move(source), options);
  if (Status loaded = model->Load(context); !loaded) return loaded.error();
  return model;
}

Result<std::shared_ptr<GgufContainer>> LoadBytes(const std::string& bytes) {
  return Load(std::make_shared<MemorySource>(bytes));
}

/// metadata.json, or nothing.
std::string MetadataOf(const GgufContainer& model, BlockCache& cache) {
  const std::optional<FoundFile> file = FindFile(model, "metadata.json");
  EXPECT_TRUE(file);
  const Result<Content> content = file->Open(cache);
  EXPECT_TRUE(content) << content.error().Text();
  return *ReadAll(*content, cache);
}

TEST(Gguf, LimitsPairsAndTensors) {
  const uint64_t size = 100'000'000;
  for (const auto& [tensors, pairs] :
       {std::pair<uint64_t, uint64_t>{0, kMaxPairs + 1},
        {kMaxTensors + 1, 0}}) {
    const auto model =
        Load(std::make_shared<SparseSource>(Head(tensors, pairs), size));
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, Code::kLimit);
  }
}

TEST(Gguf, StopsWalkingWhenInterrupted) {
  // An array of a hundred million empty strings.
  const std::string head =
      Head(0, 1) + Pair("k", kGgufArray, Array(kGgufString, 90'000'000, ""));
  BlockCache cache(0);
  InterruptAfter interrupt(3);
  const auto model = Load(std::make_shared<SparseSource>(head, 800'000'000),
                          ReadContext(cache, interrupt));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, Code::kInterrupted);
  EXPECT_EQ(interrupt.asked(), 4U);
}

TEST(Gguf, SkipsLongArraysOfNumbersWithoutReadingThem) {
  const std::string head =
      Head(0, 1) + Pair("k", kGgufArray, Array(kGgufFloat64, 1U << 30, ""));
  const auto model = Load(
      std::make_shared<SparseSource>(head, head.size() + (uint64_t{8} << 30)));
  EXPECT_TRUE(model) << model.error().Text();
}

TEST(Gguf, AFailedReadIsNotDamage) {
  auto source =
      std::make_shared<FaultySource>(Head(0, 1) + Pair("k", kGgufUint8, "x"));
  for (uint64_t calls = 0; calls < 2; ++calls) {
    source->FailAfter(calls);
    const auto model = Load(source);
    ASSERT_FALSE(model) << calls;
    EXPECT_EQ(model.error().code, Code::kIo);
  }
  source->Heal();
  EXPECT_TRUE(Load(source));
}

TEST(Gguf, MetadataInAnyWindow) {
  // Strings that are written in parts: characters of two bytes that the parts
  // would cut, bytes that are no UTF-8 at their very end, and many items.
  std::string accents;
  for (int i = 0; i < 100'000; ++i) accents += "\xC3\xA9";
  std::string broken = "a" + accents + "\xFF";
  std::string numbers;
  for (int i = 0; i < 50'000; ++i) Put(numbers, static_cast<uint64_t>(i), 2);
  std::string lists;
  for (int i = 0; i < 5'000; ++i) lists += Array(kGgufInt8, 2, "\x01\xFF");
  const auto model = LoadBytes(
      Head(0, 5) + Pair("odd", kGgufString, Text("x" + accents)) +
      Pair("broken", kGgufString, Text(broken)) +
      Pair("numbers", kGgufArray, Array(kGgufUint16, 50'000, numbers)) +
      Pair("lists", kGgufArray, Array(kGgufArray, 5'000, lists)) +
      Pair("last\n\"", kGgufBool, "\x02"));
  ASSERT_TRUE(model) << model.error().Text();
  BlockCache cache(limits::kMiB);
  const std::string text = MetadataOf(**model, cache);
  const Json shown = Json::parse(text);
  EXPECT_EQ(shown["odd"]["value"], "x" + accents);
  EXPECT_EQ(shown["broken"]["value"]["hex"].get<std::string>().size(),
            2 * broken.size());
  EXPECT_EQ(shown["numbers"]["value"].size(), 50'000U);
  EXPECT_EQ(shown["numbers"]["value"][49'999], 49'999);
  EXPECT_EQ(shown["lists"]["value"].size(), 5'000U);
  EXPECT_EQ(shown["lists"]["value"][4'999],
            Json::parse("{\"items\": \"int8\", \"value\": [1, -1]}"));
  EXPECT_EQ(shown["last\n\""]["value"], true);

  const Content content = *FindFile(**model, "metadata.json")->Open(cache);
  EXPECT_EQ(content.size(), text.size());
  std::mt19937 random(3);
  Window window;
  for (int i = 0; i < 200; ++i) {
    const size_t at = random() % text.size();
    const size_t length =
        1 + random() % (text.size() / (static_cast<size_t>(i) % 10 + 1));
    window.Clear();
    ASSERT_TRUE(content.Read(at, length, cache, window));
    std::string part;
    for (const Bytes slice : window.slices()) part += AsText(slice);
    ASSERT_EQ(part, text.substr(at, length)) << at << " " << length;
  }
}

TEST(Gguf, FloatsAreTheShortestDecimalsOfTheirOwnType) {
  const auto shown = [](float value) {
    std::string bytes(sizeof(value), '\0');
    std::memcpy(bytes.data(), &value, sizeof(value));
    const auto model = LoadBytes(Head(0, 1) + Pair("k", kGgufFloat32, bytes));
    EXPECT_TRUE(model);
    BlockCache cache(limits::kMiB);
    return Json::parse(MetadataOf(**model, cache))["k"]["value"].get<double>();
  };
  EXPECT_EQ(shown(0.1F), 0.1);
  EXPECT_EQ(shown(-3.0F), -3.0);
  EXPECT_EQ(shown(10'000'000.0F), 1e7);
  EXPECT_EQ(shown(16'777'216.0F), 16'777'216.0);
  EXPECT_EQ(shown(1e10F), 1e10);
  // Not 5429059072 and 211865370624, which are the same numbers as float32.
  EXPECT_EQ(shown(5.429059e9F), 5.429059e9);
  EXPECT_EQ(shown(-2.1186537e11F), -2.1186537e11);
  EXPECT_EQ(shown(3.4028235e38F), 3.4028235e38);
}

TEST(Gguf, MetadataIsStaleWithItsFile) {
  auto source =
      std::make_shared<FaultySource>(Head(0, 1) + Pair("k", kGgufUint8, "x"));
  const auto model = Load(source);
  ASSERT_TRUE(model);
  BlockCache cache(limits::kMiB);
  EXPECT_EQ(Json::parse(MetadataOf(**model, cache))["k"]["value"], 'x');
  source->GoStaleAfter(0);
  const auto opened = FindFile(**model, "metadata.json")->Open(cache);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kStale);
}

TEST(Gguf, SizesCannotWrap) {
  // 2^62 elements of 8 bytes: more bytes than 2^64.
  const auto model =
      LoadBytes(Head(1, 0) + Record("w", {uint64_t{1} << 62}, 28, 0) +
                std::string(64, '\0'));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, Code::kCorrupt);
}

TEST(Gguf, ModelSafetensorsHasTheScalars) {
  std::string f32;
  Put(f32, 0x3DCCCCCD, 4);
  const auto model =
      LoadBytes(Head(1, 3) + Pair("name", kGgufString, Text("tiny")) +
                Pair("rate", kGgufFloat32, f32) +
                Pair("list", kGgufArray, Array(kGgufUint8, 2, "\x01\x02")) +
                Record("w", {1}, 0, 0) + std::string(64, '\0'));
  ASSERT_TRUE(model) << model.error().Text();
  const Json metadata = (*model)->Metadata(Request());
  EXPECT_EQ(metadata["name"], "tiny");
  EXPECT_EQ(metadata["rate"], "0.1");
  EXPECT_FALSE(metadata.contains("list"));
  EXPECT_EQ(Json::parse(metadata["metadata.json"].get<std::string>())["list"],
            Json::parse("{\"type\": \"array\", \"items\": \"uint8\", "
                        "\"value\": [1, 2]}"));
}

TEST(Gguf, TokenizerFiles) {
  std::string types;
  for (const uint64_t type : {3U, 1U, 4U}) Put(types, type, 4);
  std::string bos;
  Put(bos, 0, 4);
  const auto model = LoadBytes(
      Head(0, 6) + Pair("tokenizer.ggml.model", kGgufString, Text("gpt2")) +
      Pair("tokenizer.ggml.tokens", kGgufArray,
           Array(kGgufString, 3, Text("<s>") + Text("a") + Text("<x>"))) +
      Pair("tokenizer.ggml.token_type", kGgufArray,
           Array(kGgufInt32, 3, types)) +
      Pair("tokenizer.ggml.merges", kGgufArray,
           Array(kGgufString, 1, Text("a b"))) +
      Pair("tokenizer.ggml.bos_token_id", kGgufUint32, bos) +
      Pair("tokenizer.chat_template", kGgufString, Text("{{ x }}")));
  ASSERT_TRUE(model) << model.error().Text();
  BlockCache cache(limits::kMiB);
  const auto read = [&](const char* name) {
    const auto file = FindFile(**model, std::string("views/tokenizer/") + name);
    EXPECT_TRUE(file) << name;
    return *ReadAll(*file->Open(cache), cache);
  };
  const Json shown = Json::parse(read("tokenizer.json"));
  EXPECT_EQ(shown["model"]["type"], "BPE");
  EXPECT_EQ(shown["model"]["vocab"], Json::parse(R"({"<s>":0,"a":1,"<x>":2})"));
  EXPECT_EQ(shown["model"]["merges"], Json::parse(R"(["a b"])"));
  EXPECT_EQ(shown["added_tokens"], Json::parse(R"([
      {"id":0,"content":"<s>","special":true},
      {"id":2,"content":"<x>","special":false}])"));
  EXPECT_EQ(Json::parse(read("tokenizer_config.json")),
            Json::parse(R"({"bos_token":"<s>","chat_template":"{{ x }}"})"));
  EXPECT_EQ(read("chat_template.jinja"), "{{ x }}");
}

/// A model of `kind` whose tokenizer has `count` tokens "\1\1...", each
/// `length` bytes long. JSON needs six bytes for each of theirs.
std::string Tokenizer(const std::string& kind, uint64_t count, size_t length) {
  std::string tokens;
  for (uint64_t i = 0; i < count; ++i) tokens += Text(std::string(length, 1));
  std::string types;
  for (uint64_t i = 0; i < count; ++i) Put(types, 3, 4);
  return Head(0, 4) + Pair("tokenizer.ggml.model", kGgufString, Text(kind)) +
         Pair("tokenizer.ggml.tokens", kGgufArray,
              Array(kGgufString, count, tokens)) +
         Pair("tokenizer.ggml.token_type", kGgufArray,
              Array(kGgufInt32, count, types)) +
         Pair("tokenizer.ggml.merges", kGgufArray,
              Array(kGgufString, count, tokens));
}

Result<std::string> TokenizerJson(const std::string& bytes,
                                  const ReadContext& context) {
  const auto model = LoadBytes(bytes);
  EXPECT_TRUE(model);
  const auto file = FindFile(**model, "views/tokenizer/tokenizer.json");
  EXPECT_TRUE(file);
  const Result<Content> content = file->Open(context);
  if (!content) return content.error();
  return ReadAll(*content, context);
}

TEST(Gguf, ALongTokenizerIsRefused) {
  if (CTXFS_SANITIZED != 0) GTEST_SKIP() << "takes half a minute there";
  for (const char* kind : {"gpt2", "llama", "bert"}) {
    SCOPED_TRACE(kind);
    BlockCache cache(limits::kMiB);
    const auto text = TokenizerJson(Tokenizer(kind, 100, 1 << 17), cache);
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().code, Code::kLimit);
    EXPECT_EQ(text.error().sys_errno, EFBIG);
  }
}

TEST(Gguf, ATokenizerCountsAsWork) {
  BlockCache cache(limits::kMiB);
  const std::string bytes = Tokenizer("gpt2", 1000, 1000);
  Work little(12 * 1000 * 1000, bytes.size());  // added tokens and vocabulary
  const auto text = TokenizerJson(bytes, ReadContext(cache).With(little));
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, Code::kLimit);
}

TEST(Gguf, ATokenizerCanBeInterrupted) {
  const std::string bytes = Tokenizer("gpt2", 100'000, 1);
  BlockCache cache(limits::kMiB);
  const InterruptAfter never(UINT64_MAX);
  const auto whole = TokenizerJson(bytes, ReadContext(cache).With(never));
  ASSERT_TRUE(whole);
  // At least every 16,384 items: tokens twice, merges and types.
  constexpr uint64_t kLeast = 3 * (100'000 / 16'384);
  EXPECT_GE(never.asked(), kLeast);
  for (uint64_t answers = 0; answers < kLeast; answers += 6) {
    BlockCache fresh(limits::kMiB);
    const InterruptAfter soon(answers);
    const auto text = TokenizerJson(bytes, ReadContext(fresh).With(soon));
    ASSERT_FALSE(text) << answers;
    EXPECT_EQ(text.error().code, Code::kInterrupted);
  }
}

TEST(Gguf, Item43_16_AllDequantizersAgree) {
  std::mt19937 random(11);
  unsigned kinds = 0;
  for (uint32_t code = 0; code < 64; ++code) {
    const GgufType* quant = GgufQuantOf(code);
    if (quant == nullptr) continue;
    ++kinds;
    SCOPED_TRACE(GgufTypeName(code));
    constexpr size_t kCount = 2000;
    std::string blocks(kCount * quant->bytes, '\0');
    for (char& c : blocks) c = static_cast<char>(random());
    std::string scalar(kCount * quant->block * sizeof(float), '\0');
    std::string vectors = scalar;
    const auto bytes = [](std::string& text) {
      return reinterpret_cast<std::byte*>(text.data());
    };
    GgufDequantizeBy(kScalarDequant, *quant, bytes(blocks), kCount,
                     bytes(scalar));
    WithEachVectorTarget([&] {
      GgufDequantizeBy(FastestDequant(), *quant, bytes(blocks), kCount,
                       bytes(vectors));
      EXPECT_TRUE(scalar == vectors);
    });
  }
  EXPECT_EQ(kinds, 26U);
}

}  // namespace
}  // namespace ctxfs::gguf

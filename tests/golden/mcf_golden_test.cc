// SPDX-License-Identifier: Apache-2.0
//
// Every container of golden/mcf against its JSON, by the library alone; the
// same through a real mount is tests/mount/test_golden_mcf.py.
#include <bit>
#include <cstring>
#include <map>
#include <random>

#include "core/base/limits.h"
#include "core/codec/half.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/io/source.h"
#include "core/tree/container_tree.h"
#include "tests/golden/golden.h"
#include "tests/unit/testing/files.h"

namespace ctxfs {
namespace {

std::string StoredName(const Json& tensor) {
  if (!tensor.contains("name_hex")) return tensor["name"].get<std::string>();
  std::string name;
  const std::string hex = tensor["name_hex"];
  for (size_t i = 0; i < hex.size(); i += 2) {
    name += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return name;
}

uint32_t WordAt(const std::string& bytes, size_t i) {
  return LoadLe<uint32_t>(AsBytes(bytes).data() + 4 * i);
}

bool IsNan(uint32_t bits) { return (bits & 0x7FFFFFFFU) > 0x7F800000U; }

/// `bytes` with every NaN as `nan`; counts them.
std::string WithNans(std::string bytes, uint32_t nan, size_t* count = nullptr) {
  for (size_t i = 0; i < bytes.size() / 4; ++i) {
    if (!IsNan(WordAt(bytes, i))) continue;
    if (count != nullptr) ++*count;
    for (size_t k = 0; k < 4; ++k) {
      bytes[4 * i + k] = static_cast<char>(nan >> (8 * k) & 0xFFU);
    }
  }
  return bytes;
}

/// Plain f16, bf16 and f32 as float32.
std::string Widen(const std::string& bytes, const std::string& dtype) {
  if (dtype == "f32") return bytes;
  std::string wide;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    const auto half = LoadLe<uint16_t>(AsBytes(bytes).data() + i);
    const uint32_t bits =
        dtype == "f16" ? HalfToFloatBits(half) : uint32_t{half} << 16;
    for (size_t k = 0; k < 4; ++k) {
      wide += static_cast<char>(bits >> (8 * k) & 0xFFU);
    }
  }
  return wide;
}

class McfGolden : public testing::TestWithParam<std::string> {
 protected:
  Result<std::shared_ptr<const Container>> Open(bool salvage) {
    Result<std::shared_ptr<const FileSource>> source =
        FileSource::Open(golden::PathOf(GetParam() + ".mcf"));
    EXPECT_TRUE(source);
    OpenOptions options;
    options.salvage = salvage;
    return OpenContainer(*source, options);
  }

  /// The code a refusal must have, from the file's own header.
  Code ExpectedRefusal() const {
    const std::string bytes =
        golden::ReadFile(golden::PathOf(GetParam() + ".mcf"));
    if (!bytes.starts_with(std::string("MCF\0", 4))) return Code::kNotContainer;
    if (answer_["open"]["error"] == "unsupported MCF major version") {
      return Code::kVersion;
    }
    return Code::kCorrupt;
  }

  std::string Read(const Content& content) {
    Result<std::string> bytes = ReadAll(content, cache_);
    EXPECT_TRUE(bytes) << bytes.error().Text();
    return bytes ? *bytes : "";
  }

  void CheckValues(const std::string& values, const Json& tensor);
  void CheckWindows(const Content& content, const std::string& whole);
  void CheckTensors(const Container& container);
  void CheckArrays(const Container& container);
  void CheckFiles(std::shared_ptr<const Container> container);

  const Json answer_ = golden::AnswerOf(GetParam());
  BlockCache cache_{limits::kGiB};
};

/// The hash that the values must have: IEEE's where the reference, which reads
/// subnormal scales as zero, has another.
Json ExpectedValues(const Json& tensor) {
  for (const char* key : {"dequant_ieee_f32", "dequant_py_f32",
                          "dequant_doc_f32", "dequant_f32"}) {
    if (tensor.contains(key) && tensor[key].contains("sha256")) {
      return tensor[key]["sha256"];
    }
  }
  return nullptr;
}

void McfGolden::CheckValues(const std::string& values, const Json& tensor) {
  const Json reference = tensor.value("dequant_f32", Json::object());
  size_t nans = 0;
  WithNans(values, 0, &nans);
  EXPECT_EQ(nans, reference.value("nan_count", 0U));
  if (reference.contains("file") && !tensor.contains("dequant_ieee_f32")) {
    const std::string truth = golden::ReadFile(
        golden::PathOf("mcf/") / reference["file"].get<std::string>());
    EXPECT_EQ(golden::Sha256(WithNans(values, 1)),
              golden::Sha256(WithNans(truth, 1)));
  }
  if (tensor["dtype"] == "k4" && nans > 0) return;  // two kinds of NaN there
  const Json expected = ExpectedValues(tensor);
  ASSERT_FALSE(expected.is_null()) << "values where there are none to be had";
  // Of quantised values the reference's NaNs are its processor's.
  const bool plain = tensor["dtype_code"] < 0x10;
  EXPECT_EQ(golden::Sha256(plain ? values : WithNans(values, 0xFFC00000)),
            expected);
  for (size_t i = 0; i < values.size() / 4 && !plain; ++i) {
    if (IsNan(WordAt(values, i))) {
      EXPECT_EQ(WordAt(values, i), 0x7FC00000U);
    }
  }
}

void McfGolden::CheckWindows(const Content& content, const std::string& whole) {
  std::mt19937 random(5);
  Window window;
  for (int i = 0; i < 200 && !whole.empty(); ++i) {
    const size_t at = random() % whole.size();
    const size_t length = 1 + random() % (i % 2 == 0 ? 40 : whole.size());
    ASSERT_TRUE(content.Read(at, length, cache_, window));
    std::string part;
    for (const Bytes slice : window.slices()) part += AsText(slice);
    ASSERT_EQ(part, whole.substr(at, length)) << at << " " << length;
  }
}

void McfGolden::CheckTensors(const Container& container) {
  const Json tensors = answer_.value("tensors", Json::array());
  const Json index = answer_.value("tensor_index", Json::object());
  // The one fault that the reference misses: names that wrap.
  const bool wraps = GetParam() == "mcf/idx_strings_wrap";
  const bool readable = index.value("ok", false) && !wraps;
  ASSERT_EQ(EntryCount(container), readable ? tensors.size() : 0);
  if (!readable && !index.empty()) {
    EXPECT_NE(
        container.Info(LoneContext())["warnings"].dump().find("no tensors"),
        std::string::npos);
  }
  for (uint32_t i = 0; i < EntryCount(container); ++i) {
    const Json& tensor = tensors[i];
    SCOPED_TRACE("tensor " + std::to_string(i));
    const EntryInfo info = DescribeEntry(container, i);
    EXPECT_EQ(info.name, StoredName(tensor));
    EXPECT_EQ(info.dtype, tensor["dtype"]);
    EXPECT_EQ(info.extra["dtype_code"], tensor["dtype_code"]);
    EXPECT_EQ(Json(*info.shape), tensor["shape"]);
    EXPECT_EQ(info.offset, tensor["offset"]);
    EXPECT_EQ(info.stored_size, tensor["size"]);
    const Result<Content> content = OpenEntry(container, i);
    if (!tensor["raw"]["ok"].get<bool>()) {
      ASSERT_FALSE(content);
      EXPECT_NE(content.error().offset, kNoOffset);
      EXPECT_EQ(info.size, 0U);
      EXPECT_EQ(info.note, content.error().what);
      continue;
    }
    ASSERT_TRUE(content) << content.error().Text();
    EXPECT_EQ(info.size, tensor["size"]);
    const std::string bytes = Read(*content);
    EXPECT_EQ(golden::Sha256(bytes), tensor["raw"]["sha256"]);
    const std::string dtype = tensor["dtype"];
    const bool widens = dtype == "f32" || dtype == "f16" || dtype == "bf16";
    if (widens &&
        tensor.value("dequant_f32", Json::object()).value("ok", false)) {
      CheckValues(Widen(bytes, dtype), tensor);
    }
    // Whatever cannot be read as what it says it is says so.
    const bool as_it_says =
        tensor.value("store_read_raw", Json::object()).value("ok", false);
    if (!as_it_says) {
      EXPECT_NE(info.note, "");
    }
  }
}

void McfGolden::CheckArrays(const Container& container) {
  std::multimap<std::string, Json> answers;
  for (const Json& tensor : answer_.value("tensors", Json::array())) {
    answers.emplace(StoredName(tensor), tensor);
  }
  size_t values = 0;
  for (const ArrayInfo& array : ArraysOf(container)) {
    SCOPED_TRACE(array.name);
    const Result<Content> content = array.open(cache_);
    ASSERT_TRUE(content);
    uint64_t size = DTypeSize(array.dtype);
    for (const uint64_t dim : array.shape) size *= dim;
    ASSERT_EQ(content->size(), size);
    const std::string bytes = Read(*content);
    ASSERT_EQ(bytes.size(), size);
    const Json& tensor = answers.find(array.name)->second;
    if (tensor["dtype_code"] < 0x10) continue;
    CheckWindows(*content, bytes);
    if (array.dtype != DType::kF32) {
      EXPECT_EQ(array.dtype, DType::kI8);
      EXPECT_TRUE(ExpectedValues(tensor).is_null());
      continue;
    }
    CheckValues(bytes, tensor);
    ++values;
  }
  // All that somebody could decode, we can.
  for (const auto& [name, tensor] : answers) {
    if (tensor["dtype_code"] < 0x10 || ExpectedValues(tensor).is_null()) {
      continue;
    }
    ASSERT_GT(values, 0U) << name;
    --values;
  }
  EXPECT_EQ(values, 0U);
}

/// Whether `shown` says everything that `answer` does.
void ExpectSays(const Json& shown, const Json& answer) {
  for (const auto& [key, value] : answer.items()) {
    if (key != "ok") {
      EXPECT_EQ(shown.value(key, Json()), value) << key;
    }
  }
}

void McfGolden::CheckFiles(std::shared_ptr<const Container> container) {
  std::map<std::string, std::string> files;
  for (const FoundFile& file : FilesOf(*container)) {
    SCOPED_TRACE(file.path);
    const Result<Content> content = file.Open(cache_);
    ASSERT_TRUE(content);
    if (const auto size = file.known_size()) {
      EXPECT_EQ(content->size(), *size);
    }
    const std::string bytes = Read(*content);
    if (file.path.starts_with("views/dequantized/"))
      CheckWindows(*content, bytes);
    files.emplace(file.path, bytes);  // the first of a name
  }
  std::map<uint32_t, Json> sections;
  for (const Json& section : answer_["sections"]) {
    char path[48];
    std::snprintf(path, sizeof(path), ".ctxfs/raw/sections/0x%04x.bin",
                  section["type"].get<uint32_t>());
    ASSERT_TRUE(files.contains(path)) << path;
    if (sections.emplace(section["type"], section).second) {
      EXPECT_EQ(golden::Sha256(files[path]), section["sha256"]);
    }
  }
  const std::map<uint32_t, std::string> known = {
      {0x100, "config.json"},    {0x101, "generation_config.json"},
      {0x102, "tokenizer.json"}, {0x103, "tokenizer_config.json"},
      {0x104, "vocab.json"},     {0x105, "merges.txt"}};
  for (const auto& [type, name] : known) {
    ASSERT_EQ(files.contains(name), sections.contains(type)) << name;
    if (sections.contains(type)) {
      EXPECT_EQ(golden::Sha256(files[name]), sections[type]["sha256"]);
    }
  }
  const Json info = container->Info(LoneContext());
  ASSERT_EQ(info["sections"].size(), answer_["sections"].size());
  for (size_t i = 0; i < info["sections"].size(); ++i) {
    Json section = answer_["sections"][i];
    section.erase("sha256");
    EXPECT_EQ(info["sections"][i], section);
  }
  const std::string warnings = info["warnings"].dump();
  for (const char* what : {"model_info", "quant_info"}) {
    const std::string path = std::string(what) + ".json";
    const Json answer = answer_.value(what, Json::object());
    ASSERT_EQ(files.contains(path), answer.value("ok", false)) << path;
    if (files.contains(path)) {
      const Json shown = Json::parse(files[path]);
      if (answer.contains("records")) {
        const Json& records = answer["records"];
        ASSERT_EQ(shown["records"].size(), records.size());
        for (size_t i = 0; i < records.size(); ++i) {
          ExpectSays(shown["records"][i], records[i]);
        }
      } else {
        ExpectSays(shown, answer);
      }
    } else if (!answer.empty()) {
      EXPECT_NE(warnings.find("no " + path), std::string::npos);
    }
  }
  if (EntryCount(*container) > 0) {
    const Json shown = Json::parse(files["tensors.json"]);
    ExpectSays(shown, answer_["tensor_index"]);
    for (size_t i = 0; i < answer_["tensors"].size(); ++i) {
      const Json& tensor = answer_["tensors"][i];
      for (const char* key :
           {"index", "dtype", "dtype_code", "shape", "offset", "size"}) {
        EXPECT_EQ(shown["tensors"][i][key], tensor[key]);
      }
      EXPECT_EQ(StoredName(shown["tensors"][i]), StoredName(tensor));
    }
  }
}

TEST_P(McfGolden, BehavesAsItsJsonSays) {
  const Result<std::shared_ptr<const Container>> container = Open(false);
  if (answer_["kind"] == "open_error") {
    ASSERT_FALSE(container);
    EXPECT_EQ(container.error().code, ExpectedRefusal());
    EXPECT_NE(container.error().offset, kNoOffset);
    EXPECT_FALSE(container.error().what.empty());
    return;
  }
  ASSERT_TRUE(container) << container.error().Text();
  const Json info = (*container)->Info(LoneContext());
  EXPECT_EQ(info["version"], answer_["header"]["major"]);
  EXPECT_EQ(info["minor_version"], answer_["header"]["minor"]);
  EXPECT_EQ(info["flags"], answer_["header"]["flags"]);
  CheckTensors(**container);
  CheckArrays(**container);
  CheckFiles(*container);
}

// A damaged file mounted as far as it can be read: nothing may crash.
TEST_P(McfGolden, SalvagesWithoutInventing) {
  const Result<std::shared_ptr<const Container>> container = Open(true);
  if (!container) {
    EXPECT_EQ(answer_["kind"], "open_error") << container.error().Text();
    return;
  }
  const ContainerTree branch(*container);
  for (NodeId node = 0; node < branch.tree().node_count(); ++node) {
    if (branch.tree().IsDirectory(node)) continue;
    const Result<uint64_t> size = branch.Size(node, cache_);
    ASSERT_TRUE(size);
    const Result<Content> content = branch.Open(node, cache_);
    if (!content) continue;
    EXPECT_EQ(content->size(), *size);
    if (const Result<std::string> bytes = ReadAll(*content, cache_)) {
      EXPECT_EQ(bytes->size(), *size);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, McfGolden,
                         testing::ValuesIn(golden::Containers("mcf")),
                         golden::TestName);

}  // namespace
}  // namespace ctxfs

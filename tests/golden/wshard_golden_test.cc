// SPDX-License-Identifier: Apache-2.0
//
// Every episode and manifest of golden/wshard against its JSON, by the library
// alone; the same through a real mount is tests/mount/test_golden_wshard.py.
#include <map>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/io/source.h"
#include "core/tree/container_tree.h"
#include "tests/golden/golden.h"
#include "tests/unit/testing/files.h"

namespace ctxfs {
namespace {

std::vector<std::string> AllContainers() {
  std::vector<std::string> names;
  for (const char* folder :
       {"wshard", "wshard/chunked", "wshard/chunked_bad", "wshard/corrupt",
        "wshard/partial", "wshard/residual", "wshard/stream", "wshard/ts"}) {
    for (std::string& name : golden::Containers(folder)) {
      const bool partial = std::string_view(folder).ends_with("partial");
      names.push_back(name + (partial ? ".wshard.partial" : ".wshard"));
    }
  }
  return names;
}

std::string AnswerName(std::string container) {
  return container.substr(0, container.find(".wshard"));
}

Result<std::string> Read(const Result<Content>& content) {
  if (!content) return content.error();
  BlockCache cache(limits::kGiB);
  return ReadAll(*content, cache);
}

class WShardGolden : public testing::TestWithParam<std::string> {
 protected:
  Result<std::shared_ptr<const Container>> Open(bool salvage) const {
    Result<std::shared_ptr<const FileSource>> source =
        FileSource::Open(golden::PathOf(GetParam()));
    EXPECT_TRUE(source);
    OpenOptions options;
    options.salvage = salvage;
    return OpenContainer(*source, options);
  }

  std::string bytes() const {
    return golden::ReadFile(golden::PathOf(GetParam()));
  }

  /// The code that opening it without salvage must fail with, if it must.
  std::optional<Code> ExpectedRefusal() const {
    const std::string all = bytes();
    if (all.substr(0, 4) != "SHRD") return Code::kNotContainer;
    if (answer_.contains("header")) {
      const Json& header = answer_["header"];
      if (header["version"] != 2) return Code::kVersion;
      if (header["entry_count"] > limits::kEntries) return Code::kLimit;
    }
    if (!answer_.value("mountable", true)) return Code::kCorrupt;
    if (answer_["header"]["total_file_size"] != all.size()) {
      return Code::kCorrupt;
    }
    for (const Json& entry : answer_["entries"]) {
      if (entry.value("error", "") == "extent past end of file") {
        return Code::kCorrupt;
      }
    }
    return std::nullopt;
  }

  const Json answer_ = golden::AnswerOf(AnswerName(GetParam()));
};

void CheckShape(const EntryInfo& info, const Json& answer) {
  const Json none;
  const Json dtype = answer.value("dtype", none);
  if (!answer.contains("shape")) {
    EXPECT_EQ(info.dtype, "") << dtype;
    EXPECT_FALSE(info.shape);
    return;
  }
  EXPECT_EQ(Json(info.dtype), dtype);
  ASSERT_TRUE(info.shape);
  EXPECT_EQ(Json(*info.shape), answer["shape"]);
  EXPECT_EQ(info.extra["dtype_source"], answer["dtype_source"]);
  const std::string source = answer["dtype_source"];
  const bool sure = source == "meta/channels" || source == "implied";
  EXPECT_EQ(info.note.find("guess") == std::string::npos, sure) << info.note;
}

void CheckEntry(const Container& container, uint32_t i, const Json& answer,
                const Json& repaired) {
  SCOPED_TRACE("entry " + std::to_string(i) + " " + answer["name"].dump());
  const EntryInfo info = DescribeEntry(container, i);
  EXPECT_EQ(info.name.value_or(""), golden::StoredName(answer));
  EXPECT_EQ(info.offset, answer["offset"]);
  EXPECT_EQ(info.stored_size, answer["disk_size"]);
  EXPECT_EQ(info.extra["flags"], answer["flags"]);
  EXPECT_EQ(info.codec, answer["codec"]);
  const Result<std::string> bytes = Read(OpenEntry(container, i));
  if (answer.contains("error")) {
    EXPECT_FALSE(bytes) << "must not be readable: " << answer["error"];
    return;
  }
  CheckShape(info, answer);
  ASSERT_TRUE(bytes) << bytes.error().Text();
  const std::string name = answer["name"];
  const Json& expected = repaired.contains(name) ? repaired[name] : answer;
  EXPECT_EQ(golden::Sha256(*bytes), expected["sha256"]);
  EXPECT_EQ(EntrySize(container, i), bytes->size());
  if (answer.contains("npy_size") && answer["dtype"] != "json") {
    EXPECT_LT(bytes->size(), answer["npy_size"]);
  }
}

TEST_P(WShardGolden, IsRefusedOnlyForItsStructure) {
  const std::optional<Code> refusal = ExpectedRefusal();
  const Result<std::shared_ptr<const Container>> container = Open(false);
  if (!refusal) {
    EXPECT_TRUE(container) << container.error().Text();
    return;
  }
  ASSERT_FALSE(container);
  EXPECT_EQ(container.error().code, *refusal) << container.error().Text();
  EXPECT_NE(container.error().offset, kNoOffset);
}

// The JSON shows the salvaged view; where nothing is damaged, both are one.
TEST_P(WShardGolden, ShowsWhatItsJsonSays) {
  const std::optional<Code> refusal = ExpectedRefusal();
  const Result<std::shared_ptr<const Container>> container =
      Open(refusal.has_value());
  const Json none = Json::array();
  const Json entries = answer_.value("entries", none);
  const bool index_cut =
      !entries.empty() && entries[0].value("error", "") == "index truncated";
  if (!answer_.value("mountable", !entries.empty()) || index_cut) {
    EXPECT_FALSE(container);
    return;
  }
  ASSERT_TRUE(container) << container.error().Text();
  ASSERT_EQ(EntryCount(**container), entries.size());
  const Json no_entries = Json::object();
  const Json repaired = answer_.contains("repaired")
                            ? answer_["repaired"]["entries"]
                            : no_entries;
  for (uint32_t i = 0; i < entries.size(); ++i) {
    CheckEntry(**container, i, entries[i], repaired);
  }

  const Json info = (*container)->Info(LoneContext());
  if (answer_.contains("episode") && !answer_["episode"].is_null()) {
    for (const auto& [key, value] : answer_["episode"].items()) {
      EXPECT_EQ(info["episode"][key], value) << key;
    }
  }
  if (answer_.contains("repaired")) {
    EXPECT_EQ(info["repaired"]["flush_interval"],
              answer_["repaired"]["flush_interval"]);
    EXPECT_EQ(info["repaired"]["entries"].size(), repaired.size());
  }
  const bool trouble = !answer_.value("warnings", none).empty() ||
                       !answer_.value("errors", none).empty();
  if (trouble && GetParam().find("flip_raw") == std::string::npos &&
      GetParam().find("orig_size") == std::string::npos) {
    EXPECT_FALSE(info["warnings"].empty());
  }
}

// What views are made of has as many bytes as dtype and shape make.
TEST_P(WShardGolden, ArraysAreWhole) {
  const Result<std::shared_ptr<const Container>> container = Open(true);
  if (!container) return;
  BlockCache cache(limits::kGiB);
  for (const ArrayInfo& array : ArraysOf(**container)) {
    SCOPED_TRACE(array.name);
    uint64_t size = DTypeSize(array.dtype);
    for (const uint64_t n : array.shape) size *= n;
    const Result<Content> content = array.open(cache);
    ASSERT_TRUE(content) << content.error().Text();
    EXPECT_EQ(content->size(), size);
  }
}

TEST_P(WShardGolden, DecodesResidualSigns) {
  if (!answer_.contains("residual")) return;
  const Result<std::shared_ptr<const Container>> container = Open(false);
  ASSERT_TRUE(container);
  BlockCache cache(limits::kGiB);
  for (const auto& [name, residual] : answer_["residual"].items()) {
    SCOPED_TRACE(name);
    const std::string signal = name.substr(9, name.size() - 9 - 12);
    const auto file = FindFile(**container, "views/residual_signs/" + signal);
    ASSERT_TRUE(file);
    const EntryInfo info = file->Describe();
    EXPECT_EQ(Json(info.dtype), residual["decoded_dtype"]);
    EXPECT_EQ(Json(*info.shape), residual["decoded_shape"]);
    EXPECT_EQ(info.extra["residual_layout"], residual["layout"]);
    const Result<std::string> bytes = Read(file->Open(cache));
    ASSERT_TRUE(bytes) << bytes.error().Text();
    EXPECT_EQ(bytes->size(), file->known_size());
    EXPECT_EQ(golden::Sha256(*bytes), residual["decoded_sha256"]);
  }
}

/// The JSON of the joined lane `name`.
Json ConcatenatedAt(const Json& answer, const std::string& name) {
  const Json& lanes = answer["concatenated"];
  const char* global = "time/ticks + timestep_range[0]";
  return name == "time/ticks" ? lanes[global] : lanes[name];
}

TEST_P(WShardGolden, JoinsChunks) {
  if (!answer_.contains("continuity")) return;
  const Result<std::shared_ptr<const Container>> container = Open(false);
  ASSERT_TRUE(container) << container.error().Text();
  const Json info = (*container)->Info(LoneContext());
  EXPECT_EQ(info["continuity"], answer_["continuity"]);
  EXPECT_EQ(info["warnings"].empty(), answer_["continuity"] == "ok");

  std::vector<std::string> joined;
  BlockCache cache(limits::kGiB);
  for (const ArrayInfo& array : ArraysOf(**container)) {
    joined.push_back(array.name);
  }
  if (!answer_.contains("concatenated")) {
    // A wrong sha256 is found only when someone asks.
    const bool digest = GetParam().find("sha_manifest") != std::string::npos;
    EXPECT_EQ(joined.empty(), !digest);
    return;
  }
  // "time/ticks" is there as it is in the chunks, and counted through.
  EXPECT_EQ(joined.size() + 1, answer_["concatenated"].size());
  for (const ArrayInfo& array : ArraysOf(**container)) {
    SCOPED_TRACE(array.name);
    const Json expected = ConcatenatedAt(answer_, array.name);
    EXPECT_EQ(Json(DTypeName(array.dtype)), expected["dtype"]);
    EXPECT_EQ(Json(array.shape), expected["shape"]);
    const Result<std::string> bytes = Read(array.open(cache));
    ASSERT_TRUE(bytes) << bytes.error().Text();
    EXPECT_EQ(bytes->size(), expected["size"]);
    EXPECT_EQ(golden::Sha256(*bytes), expected["sha256"]);
  }
}

// Any window is what the whole has there: of every file, computed ones too.
TEST_P(WShardGolden, WindowsAreOfOnePiece) {
  const Result<std::shared_ptr<const Container>> container = Open(true);
  if (!container) return;
  const ContainerTree branch(*container);
  BlockCache cache(limits::kGiB);
  uint32_t random = 1;
  for (NodeId node = 0; node < branch.tree().node_count(); ++node) {
    if (branch.tree().IsDirectory(node)) continue;
    SCOPED_TRACE(branch.tree().Path(node));
    const Result<uint64_t> size = branch.Size(node, cache);
    ASSERT_TRUE(size);
    const Result<Content> content = branch.Open(node, cache);
    if (!content) continue;
    EXPECT_EQ(content->size(), *size);
    const Result<std::string> whole = ReadAll(*content, cache);
    if (!whole || whole->empty()) continue;
    for (int i = 0; i < 50; ++i) {
      random = random * 1664525 + 1013904223;
      const uint64_t at = (random >> 8) % whole->size();
      random = random * 1664525 + 1013904223;
      const size_t length = (random >> 8) % whole->size();
      Window window;
      ASSERT_TRUE(content->Read(at, length, cache, window));
      std::string part;
      for (const Bytes slice : window.slices()) part += AsText(slice);
      ASSERT_EQ(part, whole->substr(at, length));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, WShardGolden,
                         testing::ValuesIn(AllContainers()), golden::TestName);

}  // namespace
}  // namespace ctxfs

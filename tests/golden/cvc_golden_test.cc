// SPDX-License-Identifier: Apache-2.0
//
// Every container of golden/cvc against its JSON, by the library alone; the
// same through a real mount is tests/mount/test_golden_cvc.py.
#include <map>
#include <random>
#include <set>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/io/source.h"
#include "core/tree/container_tree.h"
#include "tests/golden/golden.h"
#include "tests/unit/testing/files.h"

namespace ctxfs {
namespace {

using ContainerPtr = std::shared_ptr<const Container>;

std::string DTypeText(const std::string& numpy) {
  const std::map<std::string, std::string> names = {
      {"float32", "f32"}, {"float16", "f16"}, {"int32", "i32"},
      {"int64", "i64"},   {"int8", "i8"},     {"uint8", "u8"}};
  const auto found = names.find(numpy);
  return found == names.end() ? "" : found->second;
}

class CvcGolden : public testing::TestWithParam<std::string> {
 protected:
  Result<ContainerPtr> Open() {
    Result<std::shared_ptr<const FileSource>> source =
        FileSource::Open(golden::PathOf(GetParam() + ".cvc"));
    EXPECT_TRUE(source);
    return OpenContainer(*source, {});
  }

  Code ExpectedRefusal() const {
    const std::string bytes =
        golden::ReadFile(golden::PathOf(GetParam() + ".cvc"));
    if (bytes.substr(0, 4) != "CVCF") return Code::kNotContainer;
    const std::string code = reader_.value("code", "");
    if (code == "unsupported_version") return Code::kVersion;
    if (code == "header_too_deep") return Code::kLimit;
    return Code::kCorrupt;
  }

  Result<std::string> ReadWindow(const Content& content, uint64_t offset,
                                 uint64_t size) {
    Window window;
    if (Status read =
            content.Read(offset, static_cast<size_t>(size), cache_, window);
        !read) {
      return std::move(read).error();
    }
    std::string bytes;
    for (const Bytes slice : window.slices()) bytes += AsText(slice);
    return bytes;
  }

  void CheckWindows(const Content& content, const std::string& whole) {
    std::mt19937 random(1);
    for (int i = 0; i < 40 && !whole.empty(); ++i) {
      const size_t at = random() % whole.size();
      const size_t size = random() % (whole.size() - at + 1);
      const Result<std::string> part = ReadWindow(content, at, size);
      ASSERT_TRUE(part);
      ASSERT_TRUE(*part == whole.substr(at, size)) << at << "+" << size;
    }
  }

  void CheckColumn(const Container& container, uint32_t i, const Json& answer);
  void CheckChunkColumn(const Container& container, const Json& chunk,
                        const Json& column, const Json& answer, uint32_t i);
  void CheckSections(const Container& container);

  static Json AnswerOf(const std::string& name) {
    const std::string text = golden::ReadFile(golden::PathOf(name + ".json"));
    return std::move(ParseJson(text, JsonDialect::kPython)->value);
  }

  const Json reader_ = AnswerOf(GetParam())["reader"];
  BlockCache cache_{limits::kMiB};
  std::map<std::string, FoundFile> derived_;
  std::vector<std::string> decoded_;  // the columns that can be read
  uint64_t row_ = 0;
};

void CvcGolden::CheckColumn(const Container& container, uint32_t i,
                            const Json& answer) {
  SCOPED_TRACE("column " + std::to_string(i));
  EXPECT_EQ(EntryName(container, i), answer["name"].get<std::string>());
  const EntryInfo info = DescribeEntry(container, i);
  EXPECT_EQ(info.size, EntrySize(container, i));
  EXPECT_EQ(info.codec, answer["compression"]);
  EXPECT_EQ(info.extra["stored_dtype"], answer["dtype"]);
  // As the package gives it, where the answer was written down by another.
  Json shape = {answer["rows"], answer["dimension"]};
  const bool columnar = reader_["layout"]["format_type"] == "columnar";
  if (columnar && answer["dimension"] == 1) shape.erase(1);
  EXPECT_EQ(Json(*info.shape), shape);
  if (answer.contains("decoded_dtype")) {
    EXPECT_EQ(info.dtype, DTypeText(answer["decoded_dtype"]));
    EXPECT_EQ(info.note.ends_with("is unknown"), info.dtype.empty());
  }
  if (answer.contains("nbytes")) {
    EXPECT_EQ(info.dtype, DTypeText(answer["decoded_dtype"]));
    EXPECT_EQ(info.size, answer["nbytes"]);
  }
  const Result<Content> content = OpenEntry(container, i);
  const Result<std::string> bytes = content
                                        ? ReadAll(*content, cache_)
                                        : Result<std::string>(content.error());
  decoded_.push_back(bytes ? *bytes : "");
  if (!answer.contains("sha256_decoded") && answer["rows"] != 0) {
    EXPECT_FALSE(bytes);
    return;
  }
  ASSERT_TRUE(bytes) << bytes.error().Text();
  EXPECT_EQ(bytes->size(), info.size);
  if (answer.contains("sha256_decoded")) {
    EXPECT_EQ(golden::Sha256(*bytes), answer["sha256_decoded"]);
  }
  EXPECT_TRUE(content->Verify(cache_));
  CheckWindows(*content, *bytes);
}

void CvcGolden::CheckChunkColumn(const Container& container, const Json& chunk,
                                 const Json& column, const Json& answer,
                                 uint32_t i) {
  SCOPED_TRACE("column " + std::to_string(i));
  char directory[32];
  std::snprintf(directory, sizeof(directory), ".ctxfs/raw/chunks/%05d/",
                chunk["index"].get<int>());
  const auto stored =
      derived_.find(directory + column["name"].get<std::string>());
  if (answer.contains("sha256_stored")) {
    ASSERT_NE(stored, derived_.end());
    const EntryInfo info = stored->second.Describe();
    EXPECT_EQ(info.size, answer["size"]);
    const std::set<std::string> codecs = {"fp16", "int8", "none", "lossless"};
    const std::string codec = answer["compression"];
    EXPECT_EQ(info.codec, codecs.contains(codec) ? codec : "unknown");
    const uint64_t payload = chunk["payload_offset"];
    EXPECT_EQ(info.offset, payload + answer["offset"].get<uint64_t>());
    EXPECT_EQ(info.checksum, chunk.contains("crc32")
                                 ? "crc32:" + chunk["crc32"].get<std::string>()
                                 : "");
    const Result<Content> content = stored->second.Open(cache_);
    ASSERT_TRUE(content);
    const Result<std::string> bytes = ReadAll(*content, cache_);
    ASSERT_TRUE(bytes) << bytes.error().Text();
    EXPECT_EQ(golden::Sha256(*bytes), answer["sha256_stored"]);
    CheckWindows(*content, *bytes);
  } else if (!chunk["errors"].empty() && stored != derived_.end()) {
    const Result<Content> content = stored->second.Open(cache_);
    EXPECT_FALSE(content && ReadAll(*content, cache_));
  }
  const Result<Content> whole = OpenEntry(container, i);
  if (!whole) {
    EXPECT_TRUE(answer.contains("error"));
    return;
  }
  const uint64_t rows = chunk["rows"];
  if (rows == 0) return;
  const uint64_t row_bytes = whole->size() / column["rows"].get<uint64_t>();
  const Result<std::string> decoded =
      ReadWindow(*whole, row_ * row_bytes, rows * row_bytes);
  EXPECT_EQ(decoded.has_value(), !answer.contains("error"));
  if (decoded && answer.contains("sha256_decoded")) {
    EXPECT_EQ(golden::Sha256(*decoded), answer["sha256_decoded"]);
  }
  // Not a byte of a bad chunk, and all of those before and after it.
  if (!decoded) {
    EXPECT_FALSE(ReadWindow(*whole, row_ * row_bytes, 1));
    EXPECT_FALSE(ReadWindow(*whole, (row_ + rows) * row_bytes - 1, 1));
  }
}

void CvcGolden::CheckSections(const Container& container) {
  std::map<std::string, std::string> expected;  // by path
  for (const Json& section : reader_["sections"]) {
    const uint64_t begin = section["start_index"];
    const uint64_t end = section["end_index"];
    for (uint32_t i = 0; i < EntryCount(container); ++i) {
      const std::string name(*EntryName(container, i));
      const uint64_t rows = reader_["columns"][i]["rows"];
      const uint64_t row_bytes = decoded_[i].size() / rows;
      const std::string part =
          decoded_[i].substr(begin * row_bytes, (end - begin) * row_bytes);
      EXPECT_EQ(golden::Sha256(part), section["columns"][name]);
      for (const auto& [key, value] : section["metadata"].items()) {
        const std::string text =
            value.is_string() ? value.get<std::string>() : value.dump();
        expected["views/sections/" + key + "=" + text + "/" + name] += part;
      }
    }
  }
  for (const auto& [path, bytes] : expected) {
    SCOPED_TRACE(path);
    ASSERT_TRUE(derived_.contains(path));
    const FoundFile& file = derived_.at(path);
    EXPECT_EQ(file.Describe().size, bytes.size());
    const Result<Content> content = file.Open(cache_);
    ASSERT_TRUE(content);
    const Result<std::string> read = ReadAll(*content, cache_);
    ASSERT_TRUE(read);
    EXPECT_TRUE(*read == bytes);
    CheckWindows(*content, bytes);
  }
}

TEST_P(CvcGolden, BehavesAsItsJsonSays) {
  const std::string verdict = reader_["verdict"];
  const Result<ContainerPtr> opened = Open();
  if (verdict == "reject" || (verdict == "either" && !opened)) {
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ExpectedRefusal());
    EXPECT_NE(opened.error().offset, kNoOffset);
    EXPECT_FALSE(opened.error().what.empty());
    return;
  }
  ASSERT_TRUE(opened) << opened.error().Text();
  if (!reader_.contains("columns")) return;  // either, and we accept
  const Container& container = **opened;
  const Json info = container.Info(LoneContext());
  const Json& layout = reader_["layout"];
  EXPECT_EQ(info["version"],
            std::to_string(layout["version"][0].get<int>()) + "." +
                std::to_string(layout["version"][1].get<int>()));
  EXPECT_EQ(info["layout"], layout["format_type"]);
  EXPECT_EQ(info["chunks_by_file_offset"], layout["mmap_offsets"]);
  EXPECT_EQ(info["rows"], layout["num_vectors"]);
  EXPECT_EQ(info["header_size"], layout["header_len"]);
  for (const FoundFile& file : FilesOf(container)) derived_[file.path] = file;
  const Json& columns = reader_["columns"];
  ASSERT_EQ(EntryCount(container), columns.size());
  size_t complete = 0;
  for (uint32_t i = 0; i < columns.size(); ++i) {
    CheckColumn(container, i, columns[i]);
    if (columns[i].contains("sha256_decoded")) ++complete;
  }
  EXPECT_GE(ArraysOf(container).size(), complete);
  for (const Json& chunk : reader_["chunks"]) {
    if (!chunk.contains("index")) continue;  // left out of the answer
    SCOPED_TRACE("chunk " + chunk["index"].dump());
    for (uint32_t i = 0; i < columns.size(); ++i) {
      const std::string name = columns[i]["name"];
      CheckChunkColumn(container, chunk, columns[i], chunk["columns"][name], i);
    }
    row_ += chunk["rows"].get<uint64_t>();
  }
  if (reader_.contains("sections")) CheckSections(container);
}

// Every file of the tree, whatever its container is worth.
TEST_P(CvcGolden, ServesWhatItSaysItServes) {
  const Result<ContainerPtr> container = Open();
  if (!container) return;
  const ContainerTree branch(*container);
  for (NodeId node = 0; node < branch.tree().node_count(); ++node) {
    if (branch.tree().IsDirectory(node)) continue;
    const Result<uint64_t> size = branch.Size(node, cache_);
    ASSERT_TRUE(size);
    const Result<Content> content = branch.Open(node, cache_);
    if (!content) {
      EXPECT_EQ(*size, 0U);
      continue;
    }
    EXPECT_EQ(content->size(), *size) << branch.tree().Path(node);
    const Result<std::string> bytes = ReadAll(*content, cache_);
    if (bytes) {
      EXPECT_EQ(bytes->size(), *size);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, CvcGolden,
                         testing::ValuesIn(golden::Containers("cvc")),
                         golden::TestName);

}  // namespace
}  // namespace ctxfs

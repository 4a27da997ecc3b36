// SPDX-License-Identifier: Apache-2.0
#include "tests/mutation/corpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/io/directory.h"

namespace ctxfs {
namespace {

namespace stdfs = std::filesystem;

std::shared_ptr<const std::string> ReadWhole(const stdfs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::make_shared<const std::string>(std::istreambuf_iterator<char>(in),
                                             std::istreambuf_iterator<char>());
}

/// Answers and descriptions, which are no containers.
bool IsAnswer(const stdfs::path& path) {
  return path.extension() == ".json" || path.extension() == ".md" ||
         path.extension() == ".f32";
}

MemoryFolder::Bytes AllFiles(const stdfs::path& directory) {
  MemoryFolder::Bytes files;
  for (const auto& file : stdfs::recursive_directory_iterator(directory)) {
    if (!file.is_regular_file()) continue;
    files[stdfs::relative(file.path(), directory).string()] =
        ReadWhole(file.path());
  }
  return files;
}

bool IsDirectoryContainer(const stdfs::path& path) {
  const auto source = DirectorySource::Open(path.string());
  return source &&
         (IsContainerDirectory(**source) || ResemblesContainer(**source));
}

/// Adds the containers of `directory`, which `name` calls.
void AddDirectory(const stdfs::path& directory, const std::string& name,
                  std::vector<GoldenCase>& cases) {
  if (IsDirectoryContainer(directory)) {
    GoldenCase whole{name, "", AllFiles(directory), {}};
    for (const auto& [path, bytes] : whole.files) {
      whole.damageable.push_back(path);
    }
    if (!whole.files.empty()) cases.push_back(std::move(whole));
    return;
  }
  MemoryFolder::Bytes beside;
  std::vector<stdfs::path> below;
  for (const auto& file : stdfs::directory_iterator(directory)) {
    if (file.is_directory()) below.push_back(file.path());
    if (!file.is_regular_file() || IsAnswer(file.path())) continue;
    beside[file.path().filename().string()] = ReadWhole(file.path());
  }
  for (const auto& [file, bytes] : beside) {
    cases.push_back({name + "/" + file, file, beside, {file}});
  }
  for (const stdfs::path& path : below) {
    AddDirectory(path, name + "/" + path.filename().string(), cases);
  }
}

}  // namespace

const std::vector<std::string>& CorpusNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> folders;
    for (const Format* format : Formats()) {
      for (const std::string_view folder : WordsOf(format->golden)) {
        if (std::ranges::find(folders, folder) == folders.end()) {
          folders.emplace_back(folder);
        }
      }
    }
    return folders;
  }();
  return names;
}

std::vector<GoldenCase> LoadCorpus(const std::string& corpus) {
  std::vector<GoldenCase> cases;
  if (std::ranges::find(CorpusNames(), corpus) == CorpusNames().end()) {
    return cases;
  }
  AddDirectory(stdfs::path(CTXFS_GOLDEN_DIR) / corpus, corpus, cases);
  std::sort(
      cases.begin(), cases.end(),
      [](const GoldenCase& a, const GoldenCase& b) { return a.name < b.name; });
  return cases;
}

MemoryFolder::Bytes FilesOf(const std::string& folder) {
  return AllFiles(stdfs::path(CTXFS_GOLDEN_DIR) / folder);
}

OpenOptions StrictOptions() {
  static const auto key = [] {
    std::byte bytes[MasterKey::kBytes];
    for (size_t i = 0; i < sizeof(bytes); ++i) bytes[i] = std::byte(i);
    return std::make_shared<const MasterKey>(bytes);
  }();
  OpenOptions options;
  options.key = key;
  return options;
}

std::optional<GoldenCase> FindGolden(const std::string& name) {
  for (const std::string& corpus : CorpusNames()) {
    for (GoldenCase& golden : LoadCorpus(corpus)) {
      if (golden.name == name) return std::move(golden);
    }
  }
  return std::nullopt;
}

}  // namespace ctxfs

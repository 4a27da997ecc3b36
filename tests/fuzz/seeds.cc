// SPDX-License-Identifier: Apache-2.0
//
// `fuzz_seeds DIRECTORY` writes what the targets begin with, a folder for each:
// golden containers to the format that recognises them, with the files that
// they name where there are such, and pieces of them to the parsers.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/formats/cowrie/cowrie.h"
#include "core/io/source.h"
#include "tests/fuzz/archive.h"
#include "tests/fuzz/target.h"
#include "tests/mutation/corpus.h"
#include "tests/unit/testing/files.h"

namespace ctxfs::fuzz {
namespace {

namespace stdfs = std::filesystem;

// What is larger is slow, and has nothing that a smaller one has not.
constexpr size_t kMaxBytes = 64 << 10;

class Seeds {
 public:
  explicit Seeds(stdfs::path directory) : directory_(std::move(directory)) {}

  void AddCase(const std::string& corpus, const GoldenCase& golden) {
    if (golden.target.empty()) {
      Write(corpus + "_folder", golden.name, Pack({golden.files, ""}));
      for (const auto& [path, bytes] : golden.files) {
        if (path.ends_with(".ctx")) {
          Write("megacontext", golden.name + "/" + path, *bytes);
        }
      }
      return;
    }
    const std::string& bytes = *golden.files.at(golden.target);
    const std::string format = FormatOf(corpus, golden.target, bytes);
    Write(format, golden.name, bytes);
    Write("any", golden.name, bytes);
    Write("api", golden.name, bytes);
    // Profiles are Shards, too.
    if (bytes.starts_with("SHRD")) Write("shard", golden.name, bytes);
    MemoryFolder::Bytes needed = Needed(golden);
    if (FindTarget(format + "_folder") != nullptr && needed.size() > 1) {
      Write(format + "_folder", golden.name,
            Pack({std::move(needed), golden.target}));
    }
    auto source = std::make_shared<const MemorySource>(bytes);
    auto container = OpenContainer(std::move(source), StrictOptions());
    if (container) AddPieces(golden.name, bytes, **container);
  }

  size_t count() const { return count_; }

 private:
  static std::string FormatOf(const std::string& corpus,
                              const std::string& file,
                              const std::string& bytes) {
    for (const Format* format : Formats()) {
      if (format->probe(AsBytes(bytes).first(
              std::min<size_t>(bytes.size(), limits::kProbeBytes)))) {
        return std::string(format->name);
      }
    }
    // Of those that no probe tells.
    if (file.ends_with(".m8a")) return "m8a";
    if (file.ends_with(".cowrie")) return "cowrie";
    return FindTarget(corpus) != nullptr ? corpus : "shard";
  }

  /// The target, and the files whose names are in it or in those.
  static MemoryFolder::Bytes Needed(const GoldenCase& golden) {
    MemoryFolder::Bytes needed{{golden.target, golden.files.at(golden.target)}};
    for (bool grown = true; grown;) {
      grown = false;
      for (const auto& [path, bytes] : golden.files) {
        const bool named = std::any_of(
            needed.begin(), needed.end(), [&path = path](const auto& file) {
              return file.second->find(path) != std::string::npos;
            });
        if (named && needed.emplace(path, bytes).second) grown = true;
      }
    }
    return needed;
  }

  /// Compressed entries, cowrie values and records for their decoders, and
  /// names.
  void AddPieces(const std::string& name, const std::string& bytes,
                 const Container& container) {
    std::string names;
    const auto entries = container.Entries();
    for (uint32_t i = 0; i < std::min(entries->count(), 8U); ++i) {
      const EntryInfo info =
          entries->Describe(i, LoneContext()).value_or(EntryInfo{});
      if (info.name) names += *info.name + "\n";
      if (!InBounds(info.offset, info.stored_size, bytes.size())) continue;
      const std::string stored = bytes.substr(info.offset, info.stored_size);
      const std::string piece = name + "." + std::to_string(i);
      if (info.codec == "lz4" || info.codec == "zstd") {
        const std::string room{static_cast<char>(info.size & 255),
                               static_cast<char>(info.size >> 8 & 255)};
        Write(info.codec, piece, room + stored);
      }
      if (info.kind == "record") Write("example", piece, stored);
      if (cowrie::LooksLikeCowrie(AsBytes(stored)))
        Write("cowrie", piece, stored);
    }
    if (!names.empty()) Write("names", name, names);
    const std::string metadata = container.Metadata(Request()).dump(
        -1, ' ', true, Json::error_handler_t::replace);
    if (metadata != "null") Write("json", name, metadata);
  }

  void Write(const std::string& target, std::string name,
             const std::string& bytes) {
    if (bytes.size() > kMaxBytes) return;
    std::replace(name.begin(), name.end(), '/', '_');
    stdfs::create_directories(directory_ / target);
    std::ofstream(directory_ / target / name, std::ios::binary) << bytes;
    ++count_;
  }

  stdfs::path directory_;
  size_t count_ = 0;
};

}  // namespace
}  // namespace ctxfs::fuzz

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  ctxfs::fuzz::Seeds seeds(argv[1]);
  for (const std::string& corpus : ctxfs::CorpusNames()) {
    for (const ctxfs::GoldenCase& golden : ctxfs::LoadCorpus(corpus)) {
      seeds.AddCase(corpus, golden);
    }
  }
  std::printf("%zu seeds\n", seeds.count());
  return seeds.count() == 0 ? 1 : 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// Runs targets over files without libFuzzer: `fuzz_replay CORPUS GOLDEN...`
// gives each target its folder of CORPUS, and the target "any" all that is in
// the other folders; `fuzz_replay --target NAME FILE...` runs the one, and
// `fuzz_replay --list` names them.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include "tests/fuzz/target.h"

namespace ctxfs::fuzz {
namespace {

namespace stdfs = std::filesystem;

size_t RunFile(const Target& target, const stdfs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  // Exactly as long as the input, so that a sanitizer sees one byte too far.
  const auto exact = std::make_unique<std::byte[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(exact.get()));
  target.run({exact.get(), bytes.size()});
  return 1;
}

size_t RunAll(const Target& target, const stdfs::path& path) {
  if (!stdfs::is_directory(path)) return RunFile(target, path);
  size_t count = 0;
  for (const auto& file : stdfs::recursive_directory_iterator(path)) {
    if (file.is_regular_file()) count += RunFile(target, file.path());
  }
  return count;
}

/// Each target over its folder; one that has none fails the run.
bool RunCorpus(const stdfs::path& corpus, size_t& inputs) {
  for (const Target& target : AllTargets()) {
    const stdfs::path folder = corpus / target.name;
    const size_t count =
        stdfs::is_directory(folder) ? RunAll(target, folder) : 0;
    if (count == 0) std::printf("%s has no inputs\n", folder.c_str());
    if (count == 0) return false;
    inputs += count;
  }
  return true;
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments == std::vector<std::string>{"--list"}) {
    for (const Target& target : AllTargets()) {
      std::printf("%s\n", target.name.c_str());
    }
    return 0;
  }
  size_t inputs = 0;
  if (arguments.size() > 2 && arguments[0] == "--target") {
    const Target* target = FindTarget(arguments[1]);
    if (target == nullptr) return 1;
    for (size_t i = 2; i < arguments.size(); ++i) {
      inputs += RunAll(*target, arguments[i]);
    }
  } else {
    if (arguments.empty() || !RunCorpus(arguments[0], inputs)) return 1;
    for (size_t i = 1; i < arguments.size(); ++i) {
      inputs += RunAll(*FindTarget("any"), arguments[i]);
    }
  }
  std::printf("%zu inputs replayed\n", inputs);
  return inputs == 0 ? 1 : 0;
}

}  // namespace
}  // namespace ctxfs::fuzz

int main(int argc, char** argv) {
  return ctxfs::fuzz::Main({argv + 1, argv + argc});
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/container/format.h"
#include "tests/mutation/memory_folder.h"

namespace ctxfs {

/// A golden container: what is opened, and the files it is made of.
struct GoldenCase {
  std::string name;    // below golden/
  std::string target;  // what is opened, in `files`; "" for the directory
  MemoryFolder::Bytes files;
  std::vector<std::string> damageable;  // which of them are damaged
};

/// The names of the corpora: the folders of golden/ that formats name.
const std::vector<std::string>& CorpusNames();

/// All golden containers of a corpus, sorted by name; empty for no such one.
std::vector<GoldenCase> LoadCorpus(const std::string& corpus);

/// The golden container of that name, of whichever corpus.
std::optional<GoldenCase> FindGolden(const std::string& name);

/// All files of a folder of golden/.
MemoryFolder::Bytes FilesOf(const std::string& folder);

/// How containers are opened: with the key that golden/conventions has.
OpenOptions StrictOptions();

}  // namespace ctxfs

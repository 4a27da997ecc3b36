// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tests/mutation/memory_folder.h"

namespace ctxfs::fuzz {

/// Several files in one input, so that containers of several files can be
/// fuzzed: each as kFileMark, its path, a newline, and its bytes up to the next
/// mark. There are no lengths, so that an input that grows in the middle is
/// still one. What is opened is the first file, or the directory of all of them
/// when the first path is ".".
struct Archive {
  MemoryFolder::Bytes files;
  std::string target;  // in `files`; empty for the directory
};

/// Any bytes are an archive: what comes before the first mark is passed over.
Archive Unpack(std::string_view input);

std::string Pack(const Archive& archive);

}  // namespace ctxfs::fuzz

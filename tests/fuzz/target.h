// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/bytes.h"

namespace ctxfs::fuzz {

/// What takes any bytes whatsoever: it may refuse them, and must neither crash,
/// hang, nor take more memory than the limits allow.
struct Target {
  std::string name;  // of corpus/NAME.tar.xz and dict/NAME.dict
  std::function<void(Bytes input)> run;
};

/// Every target: each container format by itself, formats of several files with
/// the files beside them, and the parsers that can be reached directly.
const std::vector<Target>& AllTargets();

/// The target of that name; null for none.
const Target* FindTarget(const std::string& name);

void AddContainerTargets(std::vector<Target>& targets);
void AddApiTarget(std::vector<Target>& targets);
void AddParserTargets(std::vector<Target>& targets);
/// Adds none in a build without FUSE.
void AddOptionsTarget(std::vector<Target>& targets);
/// Adds none in a build without CTXFS_REMOTE.
void AddRemoteTarget(std::vector<Target>& targets);

}  // namespace ctxfs::fuzz

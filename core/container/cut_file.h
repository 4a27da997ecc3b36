// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/container/container.h"

namespace ctxfs {

/// A file that is shorter than its index requires, such as an unfinished copy.
struct CutFile {
  uint64_t needs = 0;    // bytes; a lower bound if a part of the index is lost
  uint64_t has = 0;      // bytes
  uint64_t whole = 0;    // entries that can be read
  uint64_t entries = 0;  // those, and the damaged ones in the index
  std::string lost;      // see Container::LostPart
  std::string kind = "entry";  // of entry, such as "tensor"

  /// "cut: needs 253.0 MiB and has 100.0 MiB; 39 of 236 tensors are whole", or
  /// "cut: the central directory is missing; needs at least 101.0 MiB and has
  /// 100.0 MiB; 39 members are whole".
  std::string Text() const;

 private:
  std::string Whole() const;
};

/// Returns how much of the file of `container` is left; nullopt if it was not
/// cut. Takes time in proportion to the entries.
std::optional<CutFile> CutOf(const Container& container);

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/container/container.h"

namespace ctxfs {

/// A file that is shorter than its index requires, such as an unfinished copy.
struct CutFile {
  uint64_t needs = 0;    // bytes; a lower bound if a part of the index is lost
  uint64_t has = 0;      // bytes
  uint64_t whole = 0;    // readable entries
  uint64_t entries = 0;  // readable entries plus damaged ones in the index
  std::string lost;      // see Container::LostPart
  std::string kind = "entry";  // kind of the entries, such as "tensor"

  /// "cut: needs 253.0 MiB and has 100.0 MiB; 39 of 236 tensors are whole", or
  /// "cut: the central directory is missing; needs at least 101.0 MiB and has
  /// 100.0 MiB; 39 members are whole".
  std::string Text() const;

  /// Whether truncation explains a fault of the container: the fault's offset
  /// is at the end of the file, or past it.
  bool Caused(const Error& fault) const {
    return fault.offset != kNoOffset && fault.offset >= has;
  }

 private:
  std::string Whole() const;
};

/// Describes the truncated file of `container`; nullopt if the file was not
/// truncated. Takes O(entries) time.
std::optional<CutFile> CutOf(const Container& container);

}  // namespace ctxfs

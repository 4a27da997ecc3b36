// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/container/entry.h"
#include "core/report/sections/array_statistics.h"
#include "fs/commands/arguments.h"

namespace ctxfs {

class SpillFile;

/// The description of a file of a container.
struct FileDescription {
  std::string source;
  std::string path;  // in the source
  EntryInfo info;    // its size is that of the file
  /// The dtype of the elements, which may differ from the stored one; empty for
  /// a file that is no array.
  std::string values;
  /// The statistics of all elements; nullopt for an array without statistics.
  std::optional<ArrayStatistics> statistics;

  /// Describes SOURCE//PATH. Reads and verifies all elements of an array, piece
  /// by piece. Fails with kNotContainer if PATH is no file of a container.
  static Result<FileDescription> Of(const std::string& operand,
                                    const OpenOptions& options,
                                    const std::shared_ptr<SpillFile>& spill);

  void Print() const;
  /// index.json's object of the file, with "source" and "statistics".
  Json AsJson() const;
};

}  // namespace ctxfs

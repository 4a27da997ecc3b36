// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/container/container.h"
#include "core/report/container_summary.h"
#include "core/report/counted_once.h"
#include "core/report/index_verdict.h"
#include "fs/common/terminal.h"

namespace ctxfs {

/// Returns dtypes such as "bf16, f32", those of the most bytes first: at most
/// `most`, followed by an ellipsis if there are more.
std::string DtypesText(const ContainerSummary& summary, size_t most);

/// Red for damage, yellow for a container that lacks something.
Colour ColourOf(const IndexVerdict& verdict);

/// Prints the containers of directories, a line each, and sums them.
class InfoRows {
 public:
  /// Starts the containers of another directory. The name of the directory is
  /// printed before its first container.
  void Start(const std::string& directory);

  /// Adds a line about `container`, whose path in the directory is `name`.
  /// Reads only the index.
  void Add(const std::string& name, const Container& container);

  /// Counts a container that has no line.
  void Count(const Container& container, const ContainerSummary& summary);

  /// Prints an empty line, but not before the first page or table.
  void Separate();

  /// Prints the lines that wait for alignment.
  void Flush();

  /// Returns the sums over all containers, such as "3 containers, 1,024
  /// parameters, 4.1 KiB".
  std::string Totals() const;

  uint64_t count() const { return count_; }

 private:
  static TextTable Header();

  // Maximum number of lines that are aligned together. A directory may have
  // millions of containers.
  static constexpr size_t kMaxHeld = 1000;

  const Terminal terminal_ = Terminal::Of(stdout);
  std::string directory_;
  bool titled_ = false;   // whether the title and the header were printed
  bool printed_ = false;  // whether a page or table was printed
  TextTable table_ = Header();
  size_t held_ = 0;
  CountedOnce counted_;
  uint64_t count_ = 0;
  uint64_t parameters_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace ctxfs

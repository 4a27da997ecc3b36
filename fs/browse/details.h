// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/content/read_context.h"
#include "core/vfs/source_tree.h"
#include "fs/common/terminal.h"

namespace ctxfs {

/// A printable line without line end.
struct DetailLine {
  std::string text;
  Colour colour = Colour::kNone;
};

/// 8-bit RGB pixels, top row first.
struct Pixels {
  uint32_t width = 0;  // 0: no picture
  uint32_t height = 0;
  std::vector<std::array<uint8_t, 3>> rgb;
};

/// The details of the selected file, beside the list of files.
struct Details {
  std::vector<DetailLine> lines;
  Pixels picture = {};  // below the lines
};

/// The space for Details, in characters and lines.
struct DetailRoom {
  size_t columns = 40;
  size_t lines = 20;
  bool utf8 = true;  // whether the terminal shows block characters
  /// Whether the whole window shows the details and scrolls: they may take more
  /// lines, and have the first values of an array, too.
  bool whole = false;
  /// Whether directories are listed. In a store, listing one takes many
  /// requests.
  bool listings = true;
};

/// Describes a file or directory, or the target of a link: the number of files,
/// metadata of the container or entry, then statistics and a histogram of an
/// array, its first picture, or the beginning of the text or bytes. Reads only
/// verified bytes, and of an array only a sample (StatisticsOf). Errors become
/// red lines.
Details DetailsOf(SourceTree& tree, const SourceTree::File& file,
                  const DetailRoom& room, const ReadContext& context);

}  // namespace ctxfs

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

/// A line for people: printable, without line ends.
struct DetailLine {
  std::string text;
  Colour colour = Colour::kNone;
};

/// A picture of 8-bit RGB pixels, rows from the top.
struct Pixels {
  uint32_t width = 0;  // 0: there is no picture
  uint32_t height = 0;
  std::vector<std::array<uint8_t, 3>> rgb;
};

/// The pane beside the list of files: details of the selected one.
struct Details {
  std::vector<DetailLine> lines;
  Pixels picture = {};  // below the lines
};

/// Room for Details: characters and lines of the terminal.
struct DetailRoom {
  size_t columns = 40;
  size_t lines = 20;
  bool utf8 = true;  // whether it shows block characters
};

/// Describes a file or directory: what the container says of itself or of the
/// entry, then statistics and a histogram of an array, its first picture, or
/// the beginning of the text or bytes. Reads only verified bytes, and of an
/// array a sample (StatisticsOf). What cannot be read is a red line.
Details DetailsOf(SourceTree& tree, const SourceTree::File& file,
                  const DetailRoom& room, const ReadContext& context);

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#include "fs/browse/help.h"

namespace ctxfs {

const Details& HelpLines() {
  static const Details kHelp{
      {{"Keys", Colour::kBold},
       {""},
       {"Up, Down, k, j          select the file above or below"},
       {"Page Up, Page Down      one page; Space: down"},
       {"Home, End, g, G         the first or last file"},
       {"Enter, Right, l         open a directory or container; describe a "
        "file"},
       {"i                       describe the selected one in the whole "
        "window"},
       {"Left, Backspace, h      go back"},
       {"/                       search for a name that contains a text, "
        "here, then"},
       {"                        below"},
       {"n                       search again"},
       {"e                       write the file, verified, into the working "
        "directory"},
       {"?                       this help"},
       {"Ctrl-L                  draw the screen again"},
       {"Ctrl-C                  end what takes long, or the program"},
       {"q                       end; of a description or this help: go back"},
       {""},
       {"List", Colour::kBold},
       {""},
       {"NAME/                   a directory or a container"},
       {"NAME@                   a link"},
       {"1.5G                    the size, unless it is known only by decoding "
        "the file"},
       {""},
       {"A selected name stands in full below the list. At the right is what "
        "it "
        "is: facts"},
       {"of a container, dtype, shape, statistics and a histogram of an array "
        "(of a sample"},
       {"if it is large), the first picture, the beginning of a text or of "
        "bytes. The"},
       {"description in the whole window has the first 1,000 values, too."}}};
  return kHelp;
}

}  // namespace ctxfs

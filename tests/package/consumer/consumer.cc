// SPDX-License-Identifier: Apache-2.0
//
// Prints the info.json of a container, by an installed libctxfs.
#include <cstdio>

#include "core/container/format.h"
#include "core/io/source.h"

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  const auto source = ctxfs::FileSource::Open(argv[1]);
  if (!source) return 2;
  const auto container = ctxfs::OpenContainer(*source, {});
  if (!container) return 3;
  std::puts((*container)->Info(LoneContext()).dump().c_str());
  return 0;
}

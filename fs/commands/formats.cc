// SPDX-License-Identifier: Apache-2.0
//
// ctxfs formats: the formats that can be mounted, and those that are only
// recognised.
#include <cstdio>
#include <set>
#include <string>

#include "core/container/foreign_formats.h"
#include "core/container/format.h"
#include "fs/commands/command.h"
#include "fs/common/terminal.h"

namespace ctxfs {
namespace {

int RunFormats(const Arguments& /*arguments*/) {
  const Terminal terminal = Terminal::Of(stdout);
  TextTable mounted({"format", "suffixes", "contents"}, {});
  for (const Format* const format : Formats()) {
    mounted.Add({std::string(format->name), std::string(format->extensions),
                 std::string(format->contents)});
  }
  if (!terminal.is_terminal()) {
    std::fputs(mounted.Separated().c_str(), stdout);
    return 0;
  }
  TextTable foreign({"recognised, not mounted", "instead"}, {});
  std::set<std::string_view> seen;  // some have several signatures
  for (const ForeignFormat& one : ForeignFormats()) {
    if (!seen.insert(one.name).second) continue;
    foreign.Add({std::string(one.name), std::string(one.advice)});
  }
  std::fputs(mounted.Aligned(terminal, "").c_str(), stdout);
  std::printf("\n%s", foreign.Aligned(terminal, "").c_str());
  return 0;
}

}  // namespace

const Command kFormatsCommand{
    .name = "formats",
    .operands = "",
    .summary = "Lists the formats that ctxfs mounts, and those it recognises",
    .run = &RunFormats,
    .max_operands = 0};

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs formats`: lists the formats that can be mounted, and those that are
// only recognised.
#include <cstdio>
#include <set>
#include <string>

#include "core/base/json/json.h"
#include "core/container/foreign/foreign_formats.h"
#include "core/container/format.h"
#include "fs/commands/arguments.h"
#include "fs/commands/command.h"
#include "fs/common/terminal.h"

namespace ctxfs {
namespace {

Json Words(std::string_view list) {
  Json words = Json::array();
  for (const std::string_view word : WordsOf(list)) words.push_back(word);
  return words;
}

Json TraitsOf(const Format& format) {
  Json traits = Json::array();
  if (format.traits.stays_file) traits.push_back("stays_file");
  if (format.traits.opens_neighbours) traits.push_back("opens_neighbours");
  if (format.traits.optional_checksums) traits.push_back("optional_checksums");
  if (format.reads_directories()) traits.push_back("reads_directories");
  return traits;
}

template <typename Visit>
void ForEachForeign(const Visit& visit) {
  std::set<std::string_view> seen;  // some formats have several signatures
  for (const ForeignFormat& one : ForeignFormats()) {
    if (seen.insert(one.name).second) visit(one);
  }
}

void PrintJson() {
  Json formats = Json::array();
  for (const Format* const format : Formats()) {
    formats.push_back({{"name", format->name},
                       {"contents", format->contents},
                       {"extensions", Words(format->extensions)},
                       {"mounted", true},
                       {"traits", TraitsOf(*format)}});
  }
  ForEachForeign([&formats](const ForeignFormat& one) {
    formats.push_back(
        {{"name", one.name}, {"mounted", false}, {"advice", one.advice}});
  });
  std::printf("%s\n", formats.dump(2).c_str());
}

int RunFormats(const Arguments& arguments) {
  if (arguments.json) {
    PrintJson();
    return 0;
  }
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
  ForEachForeign([&foreign](const ForeignFormat& one) {
    foreign.Add({std::string(one.name), std::string(one.advice)});
  });
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
    .options = "J",
    .max_operands = 0,
    .exit_codes = kPlainCodes};

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/command.h"

#include <algorithm>

namespace ctxfs {
namespace {

constexpr OptionInfo kOptions[] = {
    {'a', 'a', "all", "", "include views/ and .ctxfs/, which are unlisted"},
    {'l', 'l', "long", "",
     "show dtype, shape, size, codec and checksum of each file"},
    {'R', 'R', "recursive", "", "list directories and everything below them"},
    {'j', 'j', "jobs", "N", "use N threads, 1 to 1024 (default: one per core)"},
    {'J', 0, "json", "", "print JSON"},
    {'W', 0, "raw", "",
     "print lines of NAME, KEY and VALUE with tabs between them and sizes in "
     "bytes"},
    {'C', 0, "checksums", "sha256",
     "print a line for sha256sum --check for each file, the report to standard "
     "error"},
    {'o', 'o', "output", "FILE",
     "write FILE (default: the name of SOURCE and .html, in the current "
     "directory)"},
    {'E', 0, "exact", "",
     "read all elements of every array for its statistics, not a sample"},
    {'F', 0, "replace", "", "replace files that exist"},
    {'S', 0, "salvage", "",
     "read a container that breaks a structural rule as far as possible"},
    {'V', 0, "views", "LIST",
     "show these views: all, none, or names separated by commas"},
    {'K', 0, "keyfile", "PATH", "read the key of encrypted entries from PATH"},
    {'I', 0, "insecure-keyfile", "",
     "accept a key file that others may access"},
    {'h', 'h', "help", "", "print this help"},
};

/// "  -j, --jobs=N".
std::string LeftColumn(const OptionInfo& option) {
  std::string text = option.short_name != 0
                         ? std::string("  -") + option.short_name + ", "
                         : "      ";
  text += "--" + std::string(option.name);
  if (!option.value.empty()) text += "=" + std::string(option.value);
  return text;
}

/// Appends `text` in lines of at most 80 columns, the first one after `left`
/// and the others below its start.
void AppendWrapped(const std::string& left, std::string_view text,
                   std::string& to) {
  constexpr size_t kIndent = 26;
  constexpr size_t kWidth = 80 - kIndent;
  std::string line = left;
  line.resize(std::max(kIndent, left.size() + 2), ' ');
  while (text.size() > kWidth) {
    const size_t cut = text.rfind(' ', kWidth);
    to += line + std::string(text.substr(0, cut)) + "\n";
    line.assign(kIndent, ' ');
    text.remove_prefix(cut + 1);
  }
  to += line + std::string(text) + "\n";
}

}  // namespace

std::vector<std::string> OptionInfo::Spellings() const {
  std::vector<std::string> all;
  if (short_name != 0) all.push_back(std::string("-") + short_name);
  all.push_back("--" + std::string(name));
  return all;
}

std::string Command::Program() const {
  return program.empty() ? "ctxfs " + std::string(name) : std::string(program);
}

std::span<const OptionInfo> AllOptions() { return kOptions; }

std::vector<OptionInfo> OptionsOf(const Command& command) {
  std::vector<OptionInfo> taken;
  for (const OptionInfo& option : kOptions) {
    if (option.letter == 'h' ||
        command.options.find(option.letter) != std::string_view::npos) {
      taken.push_back(option);
    }
  }
  return taken;
}

const Command* FindCommand(std::span<const Command* const> commands,
                           std::string_view name) {
  const auto found = std::find_if(
      commands.begin(), commands.end(),
      [name](const Command* command) { return command->name == name; });
  return found == commands.end() ? nullptr : *found;
}

std::string HelpOf(const Command& command) {
  std::string text = "usage: " + command.Program() + " [OPTION]...";
  if (!command.operands.empty()) text += " " + std::string(command.operands);
  text += "\n" + std::string(command.summary) + "\n\n";
  for (const OptionInfo& option : OptionsOf(command)) {
    AppendWrapped(LeftColumn(option), option.help, text);
  }
  if (!command.examples.empty()) {
    text += "\nexamples:\n" + std::string(command.examples);
  }
  return text;
}

}  // namespace ctxfs

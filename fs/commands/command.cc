// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/command.h"

#include <algorithm>

namespace ctxfs {
namespace {

constexpr OptionInfo kOptions[] = {
    {'a', 'a', "all", "", "include views/ and .ctxfs/, which are unlisted"},
    {'A', 0, "all", "", "print every fault and warning, not the first 10"},
    {'l', 'l', "long", "",
     "show type, shape, size, codec, checksum and time of each file, and on a "
     "terminal totals; the type is a dtype, or the format of a container"},
    {'g', 'l', "long", "",
     "describe each container of a directory in full, not in a line"},
    {'y', 0, "layers", "", "show the sizes of layers and modules"},
    {'H', 'h', "human-readable", "", "print sizes as 3.8K or 1.2G"},
    {'0', '0', "zero", "",
     "end names with NUL instead of a newline, and escape nothing in them"},
    {'R', 'R', "recursive", "", "list directories and everything below them"},
    {'j', 'j', "jobs", "N", "use N threads, 1 to 1024 (default: one per core)"},
    {'q', 'q', "quiet", "", "print faults and the last line alone"},
    {'J', 0, "json", "", "print JSON"},
    {'W', 0, "raw", "",
     "print lines of NAME, KEY and VALUE with tabs between them and sizes in "
     "bytes"},
    {'B', 0, "diff", "",
     "compare two SOURCEs, as ctxfs diff does, and show what differs"},
    {'U', 0, "values", "",
     "also compare the values of changed arrays: greatest differences, cosine "
     "and a histogram"},
    {'T', 0, "stat", "", "print counts and bytes alone, with bars"},
    {'C', 0, "checksums", "sha256",
     "print a line for sha256sum --check for each file, the report to standard "
     "error"},
    {'D', 0, "sha256", "HEX|FILE|auto",
     "compare files with the digests that somebody has published: digits, a "
     "list or manifest, or what names and the files beside them say"},
    {'Y', 0, "identity", "HEX",
     "fail unless the container is sealed and has this identity, 64 hex "
     "digits"},
    {'P', 0, "signed-by", "KEY",
     "believe only digests that the private key of KEY has signed, a public "
     "key in PEM"},
    {'G', 0, "against", "FILE",
     "compare the files of the container with FILE, which ctxfs digest wrote"},
    {'M', 0, "missing", "",
     "report files of a commit of the hub that were never downloaded as "
     "faults"},
    {'o', 'o', "output", "FILE",
     "write FILE, - for standard output (default: the name of SOURCE and "
     ".html, in the current directory)"},
    {'E', 0, "exact", "",
     "read all elements of every array for its statistics, not a sample"},
    {'L', 0, "paths", "", "show the paths of the containers, not their names"},
    {'F', 0, "replace", "", "replace files that exist"},
    {'S', 0, "salvage", "",
     "read a container that breaks a structural rule as far as possible"},
    {'V', 0, "views", "LIST",
     "show these views: all, none, or names separated by commas"},
    {'K', 0, "keyfile", "PATH", "read the key of encrypted entries from PATH"},
    {'I', 0, "insecure-keyfile", "",
     "accept a key file that others may access"},
    {'N', 0, "offline", "",
     "of URLs, read what the cache on disk has, and fetch nothing"},
    {'h', 'h', "help", "", "print this help"},
};

/// Returns the spellings of an option, such as "  -j, --jobs=N".
std::string LeftColumn(const OptionInfo& option) {
  std::string text = option.short_name != 0
                         ? std::string("  -") + option.short_name + ", "
                         : "      ";
  text += "--" + std::string(option.name);
  if (!option.value.empty()) text += "=" + std::string(option.value);
  return text;
}

/// Appends `text` in lines of at most 80 columns: the first line after `left`,
/// the others indented to the same column.
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

std::vector<OptionInfo> OptionsOf(const Command& command) {
  const auto takes = [&command](char letter) {
    return letter == 'h' ||
           command.options.find(letter) != std::string_view::npos;
  };
  std::vector<OptionInfo> taken;
  for (const OptionInfo& option : kOptions) {
    if (takes(option.letter)) taken.push_back(option);
  }
  // -h is --human-readable where that option exists, as in ls(1).
  if (takes('H')) taken.back().short_name = 0;
  return taken;
}

const Command* FindCommand(std::span<const Command* const> commands,
                           std::string_view name) {
  const auto found = std::find_if(
      commands.begin(), commands.end(), [name](const Command* command) {
        return command->name == name ||
               (!name.empty() && command->alias == name);
      });
  return found == commands.end() ? nullptr : *found;
}

std::string HelpOf(const Command& command) {
  std::string text = "usage: " + command.Program() + " [OPTION]...";
  if (!command.operands.empty()) text += " " + std::string(command.operands);
  text += "\n" + std::string(command.summary);
  if (!command.alias.empty()) {
    text += " (also: ctxfs " + std::string(command.alias) + ")";
  }
  text += "\n\n";
  for (const OptionInfo& option : OptionsOf(command)) {
    AppendWrapped(LeftColumn(option), option.help, text);
  }
  if (!command.actions.empty()) text += "\n";
  for (const Command* const action : command.actions) {
    AppendWrapped("  " + std::string(action->name), action->summary, text);
  }
  if (!command.examples.empty()) {
    text += "\nexamples:\n" + std::string(command.examples);
  }
  return text + "\nexit codes:\n" + std::string(command.exit_codes);
}

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/compare/diff_printer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "core/base/text/human_size.h"
#include "fs/common/shown_text.h"

namespace ctxfs {
namespace {

constexpr size_t kIndent = 4;
constexpr size_t kBar = 20;
constexpr size_t kMaxIncomplete = 20;  // lines
constexpr size_t kMaxStatName = 60;    // columns, in a pipe
constexpr size_t kMinStatName = 10;

struct Mark {
  char sign;
  Colour colour;
};

/// Indexed by DiffKind.
constexpr Mark kMarks[kDiffKinds] = {
    {' ', Colour::kNone}, {'~', Colour::kYellow}, {'>', Colour::kBlue},
    {'-', Colour::kRed},  {'+', Colour::kGreen},  {'!', Colour::kRed}};

const Mark& MarkOf(DiffKind kind) { return kMarks[static_cast<size_t>(kind)]; }

/// Returns the path of an entry with escaped braces, because braces would make
/// it look like a pattern. The operand itself has the path "".
std::string NameOf(const DiffEntry& entry) {
  if (entry.path.empty()) return "(the file)";
  std::string shown;
  for (const char c : ShownName(entry.path)) {
    shown += c == '{' ? "\\x7b" : c == '}' ? "\\x7d" : std::string(1, c);
  }
  return shown;
}

std::string NameOf(const DiffGroup& group) {
  if (!group.pattern.empty()) return group.pattern;
  const EntryDifference& one = group.front();
  if (one.kind != DiffKind::kRenamed) return NameOf(one.any());
  return NameOf(*one.first) + " -> " + NameOf(*one.second);
}

/// Returns `value` with at most four digits, such as "1e-10" or "0.05".
std::string Digits(double value) { return fmt::format("{:.4g}", value); }

/// Returns `value` with an exponent if it needs one: "1.2e-2", "1.2", "0" or
/// "inf".
std::string Scientific(double value) {
  if (value == 0 || !std::isfinite(value)) return fmt::format("{}", value);
  const std::string text = fmt::format("{:.1e}", value);
  const size_t e = text.find('e');
  const int exponent = std::stoi(text.substr(e + 1));
  const std::string digits = text.substr(0, e);
  return exponent == 0 ? digits : fmt::format("{}e{}", digits, exponent);
}

std::string CountText(const DiffGroup& group) {
  const char* const kind = DiffKindName(group.kind());
  return group.entries.size() == 1
             ? kind
             : fmt::format("{} {}", group.entries.size(), kind);
}

/// How the entries of a group have changed.
std::string Change(const DiffGroup& group) {
  if (group.values) {
    return "relative L2 " + Scientific(group.values->relative_l2);
  }
  std::string text;
  if (group.first_bytes != group.second_bytes) {
    text =
        HumanSize(group.first_bytes) + " -> " + HumanSize(group.second_bytes);
  }
  const EntryDifference& one = group.front();
  if (group.entries.size() > 1 || one.type_changed) return text;
  if (!text.empty()) text += "  ";
  if (one.offset)
    return text + fmt::format("differs from byte {}", *one.offset);
  return text + (one.first->file.link ? "target differs" : "checksum differs");
}

/// Returns the part of a group's line that follows the name.
std::string Described(const DiffGroup& group) {
  std::string text = TypeText(group);
  const auto add = [&text](const std::string& more) {
    if (!more.empty()) text += (text.empty() ? "" : "  ") + more;
  };
  if (group.kind() == DiffKind::kRenamed) return CountText(group);
  add(CountText(group));
  if (group.kind() == DiffKind::kChanged) {
    add(Change(group));
  } else if (group.kind() == DiffKind::kFailed) {
    add(group.front().error->Text());
  } else {
    add(HumanSize(group.bytes()));
  }
  return text;
}

std::string Bar(double value, double most, size_t width, char sign) {
  if (!(value > 0) || width == 0) return {};
  const double part = std::isfinite(value) ? value / most : 1;
  const double length = std::round(part * static_cast<double>(width));
  return std::string(static_cast<size_t>(std::clamp<double>(
                         length, 1, static_cast<double>(width))),
                     sign);
}

/// The bytes of the character that starts at `at`.
size_t CharacterBytes(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() &&
         (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    ++end;
  }
  return end - at;
}

/// The first `width` columns of `text`.
std::string_view Columns(std::string_view text, size_t width) {
  size_t end = 0;
  while (end < text.size() && width-- > 0) end += CharacterBytes(text, end);
  return text.substr(0, end);
}

/// The lines of --stat, in columns.
class StatLines {
 public:
  void Add(const DiffGroup& group) {
    names_.push_back(NameOf(group));
    texts_.push_back(CountText(group) + "  " + HumanSize(group.bytes()));
    name_width_ = std::max(name_width_, DisplayWidth(names_.back()));
    text_width_ = std::max(text_width_, DisplayWidth(texts_.back()));
    most_ = std::max(most_, static_cast<double>(group.bytes()));
  }

  /// Returns line `i`; `group` must be the one that was added as number `i`.
  std::string Text(size_t i, const DiffGroup& group,
                   const Terminal& terminal) const {
    const Widths widths = WidthsOn(terminal);
    const std::string name = terminal.is_terminal()
                                 ? ShortenedInMiddle(names_[i], widths.name)
                                 : names_[i];
    const size_t used = std::min(DisplayWidth(name), widths.name);
    const Mark& mark = MarkOf(group.kind());
    const std::string bar =
        Bar(static_cast<double>(group.bytes()), most_, widths.bar, mark.sign);
    return fmt::format(" {}{} | {:>{}} {}", name,
                       std::string(widths.name - used, ' '), texts_[i],
                       text_width_, terminal.Paint(mark.colour, bar));
  }

 private:
  struct Widths {
    size_t name;
    size_t bar;
  };

  Widths WidthsOn(const Terminal& terminal) const {
    constexpr size_t kBetween = 6;  // columns
    if (!terminal.is_terminal()) {
      return {std::min(name_width_, kMaxStatName), kBar};
    }
    const size_t used = text_width_ + kBetween;
    const size_t room = terminal.width() > used ? terminal.width() - used : 0;
    const size_t bar =
        std::min(kBar, room > kMinStatName ? room - kMinStatName : 0);
    return {std::min(name_width_, room - bar), bar};
  }

  std::vector<std::string> names_;
  std::vector<std::string> texts_;
  size_t name_width_ = 0;
  size_t text_width_ = 0;
  double most_ = 0;
};

}  // namespace

std::string ShortenedInMiddle(const std::string& text, size_t width) {
  constexpr std::string_view kGap = "...";
  const size_t all = DisplayWidth(text);
  if (all <= width) return text;
  if (width <= kGap.size()) return std::string(Columns(text, width));
  const size_t shown = width - kGap.size();
  const size_t tail = shown / 2;
  const std::string_view before = Columns(text, shown - tail);
  const std::string_view but_tail = Columns(text, all - tail);
  return std::string(before) + std::string(kGap) + text.substr(but_tail.size());
}

std::vector<std::string> WrappedLines(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  while (DisplayWidth(text) > width) {
    std::string_view line = Columns(text, width);
    const bool between = text[line.size()] == ' ';
    const size_t space = line.rfind(' ');
    if (!between && space != std::string_view::npos && space > 0) {
      line = line.substr(0, space);
    }
    text.remove_prefix(line.size());
    if (text.starts_with(' ')) text.remove_prefix(1);
    lines.emplace_back(line.substr(0, line.find_last_not_of(' ') + 1));
  }
  lines.emplace_back(text);
  return lines;
}

void DiffPrinter::Line(Colour colour, char mark, const std::string& name,
                       const std::string& text, const std::string& bar) const {
  const std::string shown = ShownText(text);
  const std::string line = fmt::format("{} {}  {}", mark, name, shown);
  const size_t bar_width = bar.empty() ? 0 : kBar + 2;
  const std::string after = bar.empty() ? "" : "  " + bar;
  if (!terminal_.is_terminal() ||
      DisplayWidth(line) + bar_width <= terminal_.width()) {
    std::puts(terminal_.Paint(colour, line + after).c_str());
    return;
  }
  const size_t room = std::max<size_t>(terminal_.width(), 2) - 2;
  std::puts(terminal_
                .Paint(colour, fmt::format("{} {}", mark,
                                           ShortenedInMiddle(name, room)))
                .c_str());
  Below(shown + after);
}

void DiffPrinter::Below(const std::string& text) const {
  const std::string indent(kIndent, ' ');
  const std::string shown = ShownText(text);
  if (!terminal_.is_terminal()) {
    std::puts((indent + shown).c_str());
    return;
  }
  const size_t room =
      std::max<size_t>(terminal_.width(), kIndent + kIndent) - kIndent;
  for (const std::string& line : WrappedLines(shown, room)) {
    std::puts((indent + line).c_str());
  }
}

void DiffPrinter::PrintIncomplete(const DiffResult& result) const {
  const Mark& mark = MarkOf(DiffKind::kFailed);
  size_t shown = 0;
  for (const auto& [source, container] : result.incomplete) {
    if (shown++ == kMaxIncomplete) {
      const size_t more = result.incomplete.size() - kMaxIncomplete;
      Line(mark.colour, mark.sign, fmt::format("and {} more", more),
           "incomplete");
      return;
    }
    const std::string path =
        container.path.empty() ? source : source + "//" + container.path;
    Line(mark.colour, mark.sign, ShownName(path),
         "incomplete  " + container.error.Text());
  }
}

void DiffPrinter::Print(const std::vector<DiffGroup>& groups) const {
  double most = 0;
  for (const DiffGroup& group : groups) {
    if (group.values && std::isfinite(group.values->relative_l2)) {
      most = std::max(most, group.values->relative_l2);
    }
  }
  for (const DiffGroup& group : groups) PrintGroup(group, most);
}

void DiffPrinter::PrintGroup(const DiffGroup& group, double most) const {
  const Mark& mark = MarkOf(group.kind());
  const double value = group.values ? group.values->relative_l2 : 0;
  Line(mark.colour, mark.sign, NameOf(group), Described(group),
       Bar(value, most, kBar, '#'));
  const EntryDifference& one = group.front();
  for (const std::string& key : one.keys) Below(key);
  if (one.no_values) Below("no values: " + *one.no_values);
  if (group.values) PrintValues(*group.values);
}

void DiffPrinter::PrintValues(const ValueDifference& values) const {
  Below(
      fmt::format("{} of {} values differ; max {}, relative {}; mean {}; "
                  "cosine {:.6g}",
                  values.different, values.elements,
                  Digits(values.max_absolute), Digits(values.max_relative),
                  Digits(values.mean_absolute), values.cosine));
  if (values.unlike > 0) {
    Below(fmt::format("{} differ in NaN or infinity", values.unlike));
  }
  std::string bins;
  for (size_t i = 0; i < values.bins.size(); ++i) {
    if (values.bins[i] == 0) continue;
    const std::optional<double> end = BinEnd(i);
    bins += (bins.empty() ? "" : ", ") +
            (end ? "below " + Digits(*end) : std::string("more")) + ": " +
            std::to_string(values.bins[i]);
  }
  if (!bins.empty()) Below("differences " + bins);
}

void DiffPrinter::PrintStat(const std::vector<DiffGroup>& groups) const {
  StatLines lines;
  for (const DiffGroup& group : groups) lines.Add(group);
  for (size_t i = 0; i < groups.size(); ++i) {
    std::puts(lines.Text(i, groups[i], terminal_).c_str());
  }
}

}  // namespace ctxfs

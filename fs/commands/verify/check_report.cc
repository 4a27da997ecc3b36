// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/verify/check_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/base/causes.h"
#include "core/base/text/count_of.h"
#include "core/base/text/human_size.h"
#include "core/base/text/text.h"
#include "core/container/format.h"
#include "core/vfs/sources.h"
#include "fs/common/shown_text.h"
#include "fs/common/terminal.h"

namespace ctxfs {
namespace {

/// How many faults and how many warnings are printed without --all.
constexpr size_t kMaxPrinted = 10;

/// The names of the values of Code, in their order.
constexpr std::array kCodeNames = {"missing",
                                   "no container",
                                   "version",
                                   "unsupported",
                                   "corrupt",
                                   "checksum",
                                   "limit",
                                   "read failed",
                                   "changed",
                                   "memory",
                                   "too many open files",
                                   "locked",
                                   "interrupted"};
static_assert(kCodeNames.size() == static_cast<size_t>(Code::kInterrupted) + 1);

const char* KindOf(const Fault& fault) {
  if (fault.partial) return "partial";
  return kCodeNames[static_cast<size_t>(fault.error.code)];
}

CheckOutcome OutcomeOf(const Fault& fault) {
  if (fault.partial) return CheckOutcome::kPartial;
  return fault.IsDamage() ? CheckOutcome::kDamaged : CheckOutcome::kUnchecked;
}

Json FaultJson(const Fault& fault) {
  Json json = {{"path", fault.path},
               {"entry", nullptr},
               {"offset", nullptr},
               {"kind", KindOf(fault)},
               {"reason", fault.error.what}};
  if (fault.entry) {
    json["entry"] = *fault.entry;
    if (!IsUtf8(*fault.entry)) json["entry_hex"] = Hex(*fault.entry);
  }
  if (fault.error.offset != kNoOffset) json["offset"] = fault.error.offset;
  return json;
}

Json CutJson(const CutFile& cut) {
  return {{"needed_size", cut.needs},
          {"at_least", !cut.lost.empty()},
          {"size", cut.has},
          {"whole", cut.whole},
          {"entries", cut.entries}};
}

/// Returns the faults to print. Omits faults of entries that repeat a fault of
/// a container, such as the faults of tensors whose common file is missing.
/// Unless `all` is set, also omits the faults that the line of a cut file
/// counts.
std::vector<const Fault*> NamedOnce(const std::vector<Fault>& faults,
                                    bool all) {
  Causes causes;  // faults of containers
  for (const Fault& fault : faults) {
    if (!fault.entry) causes.Add(fault.error);
  }
  const bool summed_up = std::ranges::any_of(faults, &Fault::partial);
  const auto repeats = [&](const Fault& fault) {
    if (fault.of_cut && !all) return true;
    // The fault about the part that is not shown covers all such entries.
    if (summed_up && (fault.error.code == Code::kUnsupported ||
                      fault.error.code == Code::kLocked)) {
      return true;
    }
    return causes.Explain(fault.error);
  };
  std::vector<const Fault*> named;
  for (const Fault& fault : faults) {
    if (!fault.entry || !repeats(fault)) named.push_back(&fault);
  }
  return named;
}

/// A file that was compared; "signature" is null for a digest without one.
Json ComparedJson(const ComparedFile& file) {
  const ExpectedDigest& expected = file.expected;
  const bool sha256 = expected.digest.kind == PublishedKind::kSha256;
  Json json = {
      {"file", file.path},     {"kind", sha256 ? "sha256" : "git-sha1"},
      {"found", file.found},   {"expected", expected.digest.hex},
      {"from", expected.from}, {"signature", nullptr}};
  if (expected.signature != SignatureState::kNone) {
    json["signature"] = expected.signature == SignatureState::kVerified
                            ? "verified"
                            : "not verified";
  }
  return json;
}

/// Prints the lines of one report.
class Printer {
 public:
  Printer(std::FILE* to, const std::string& path, const ReportStyle& style)
      : to_(to),
        path_(path),
        source_(ShownName(style.name)),
        style_(style),
        most_(style.all ? SIZE_MAX : kMaxPrinted) {}

  void Print(const CheckReport& report) const {
    if (report.cut) Line(Paint(Colour::kRed, report.cut->Text()));
    const std::vector<const Fault*> faults =
        NamedOnce(report.faults, style_.all);
    PrintFaults(faults);
    if (!style_.quiet) {
      PrintIncomplete(report);
      PrintTexts(report.warnings, "warning");
      for (const ComparedFile& file : report.compared) PrintCompared(file);
    }
    if (!style_.outcome) return;
    Line(CountOf(report.files, "file") + ", " + HumanSize(report.bytes) + ": " +
         Verdict(report, faults.size() + (HidesFaultsOfCut(report) ? 1 : 0)));
  }

  void PrintNotes(const CheckReport& report) const {
    PrintFaults(NamedOnce(report.faults, style_.all));
    if (!style_.quiet) PrintTexts(report.warnings, "note");
  }

 private:
  void Line(const std::string& text) const {
    std::fprintf(to_, "%s: %s\n", source_.c_str(), text.c_str());
  }
  std::string Paint(Colour colour, const std::string& text) const {
    return terminal_.Paint(colour, text);
  }

  /// Whether the line of a cut file stands for faults that are not printed.
  bool HidesFaultsOfCut(const CheckReport& report) const {
    return !style_.all && std::ranges::any_of(report.faults, &Fault::of_cut);
  }

  void PrintFaults(const std::vector<const Fault*>& faults) const {
    for (size_t i = 0; i < std::min(faults.size(), most_); ++i) {
      PrintFault(*faults[i]);
    }
    PrintMore(faults.size(), "fault");
  }

  /// Prints which view is missing, and the reason unless there are faults.
  void PrintIncomplete(const CheckReport& report) const {
    if (report.incomplete.empty()) return;
    const size_t end = report.faults.empty() ? std::string::npos
                                             : report.incomplete.find(": ");
    Line(Paint(Colour::kYellow, "incomplete:") + " " +
         ShownText(report.incomplete.substr(0, end)));
  }

  void PrintTexts(const std::vector<std::string>& texts,
                  const std::string& noun) const {
    const std::string mark = Paint(Colour::kYellow, noun + ":") + " ";
    for (size_t i = 0; i < std::min(texts.size(), most_); ++i) {
      Line(mark + ShownText(texts[i]));
    }
    PrintMore(texts.size(), noun);
  }

  void PrintFault(const Fault& fault) const {
    const std::string where =
        fault.path.empty() ? "" : ShownText(Quote(fault.path)) + ": ";
    Line(where + Paint(Colour::kRed, ShownText(fault.error.Text())));
  }

  void PrintCompared(const ComparedFile& file) const {
    if (!file.Matches()) return;  // a fault
    const ExpectedDigest& expected = file.expected;
    std::string text(NameOf(expected.digest.kind));
    if (file.path != path_) {
      text += " of " + Quote(BaseName(file.path));
    }
    text += " is as in " + ShownName(expected.from);
    if (expected.signature == SignatureState::kVerified) {
      text += ", whose signature was verified";
    } else if (expected.signature == SignatureState::kNotVerified) {
      text += "; signature not verified: --signed-by";
    }
    Line(ShownText(text));
  }

  void PrintMore(size_t count, const std::string& noun) const {
    if (count <= most_) return;
    Line("and " + CountOf(count - most_, "more " + noun) + ": --all");
  }

  std::string Verdict(const CheckReport& report, size_t faults) const {
    const std::string count = ": " + CountOf(faults, "fault");
    switch (report.Outcome()) {
      case CheckOutcome::kClean:
        return Paint(Colour::kGreen, "clean") + Uncovered(report);
      case CheckOutcome::kUnverifiable:
        return Paint(Colour::kGreen, Unverifiable(report));
      case CheckOutcome::kDamaged:
        return Paint(Colour::kRed, "damaged" + count);
      case CheckOutcome::kPartial:
        return Paint(Colour::kRed, "partial" + count);
      default:
        return Paint(Colour::kRed, "could not be checked" + count);
    }
  }

  static std::string Unverifiable(const CheckReport& report) {
    const auto formats = Formats();
    const bool optional = std::ranges::any_of(formats, [&](const Format* one) {
      return one->traits.optional_checksums && one->name == report.format;
    });
    return optional ? "readable; no entry has a checksum"
                    : "readable; this format has no checksums";
  }

  /// Returns "; verified by gzip" or "; 3 of 20 entries have no checksum", for
  /// example; empty if neither applies.
  static std::string Uncovered(const CheckReport& report) {
    if (!report.verified_by.empty())
      return "; verified by " + report.verified_by;
    if (report.unverified == 0 || report.IsAsPublished()) return {};
    return fmt::format("; {} of {} entries have no checksum", report.unverified,
                       report.unverified + report.verified);
  }

  std::FILE* const to_;
  const std::string path_;
  const std::string source_;
  const ReportStyle& style_;
  const size_t most_;
  const Terminal terminal_ = Terminal::Of(to_);
};

}  // namespace

CheckOutcome CheckReport::Outcome() const {
  const bool unverifiable = verified == 0 && files > 0 && !IsVerifiedWhole();
  CheckOutcome worst =
      unverifiable ? CheckOutcome::kUnverifiable : CheckOutcome::kClean;
  for (const Fault& fault : faults) worst = std::max(worst, OutcomeOf(fault));
  return worst;
}

const char* CheckReport::OutcomeName() const {
  constexpr std::array<const char*, kCheckOutcomes> kNames = {
      "clean", "unverifiable", "partial", "unchecked", "damaged"};
  return kNames[static_cast<size_t>(Outcome())];
}

bool CheckReport::IsAsPublished() const {
  return as_in_manifest ||
         (!compared.empty() &&
          std::ranges::all_of(compared, &ComparedFile::Matches));
}

bool CheckReport::IsVerifiedWhole() const {
  return IsAsPublished() || !verified_by.empty();
}

const char* CheckReport::Verified() const {
  if (IsVerifiedWhole()) return "all";
  if (verified == 0) return files == 0 && faults.empty() ? "all" : "none";
  return unverified == 0 ? "all" : "some";
}

Json ReportJson(const std::string& path, const CheckReport& report) {
  Json json = {{"source", path},
               {"format", report.format},
               {"outcome", report.OutcomeName()},
               {"verified", report.Verified()},
               {"files", report.files},
               {"size", report.bytes},
               {"cut", report.cut ? CutJson(*report.cut) : Json()},
               {"incomplete", nullptr},
               {"faults", Json::array()},
               {"warnings", report.warnings}};
  if (!report.incomplete.empty()) json["incomplete"] = report.incomplete;
  for (const Fault& fault : report.faults) {
    json["faults"].push_back(FaultJson(fault));
  }
  for (const ComparedFile& file : report.compared) {
    json["digests"].push_back(ComparedJson(file));
  }
  for (const FileDigest& file : report.digests) {
    json["sha256"][file.path] = file.sha256;
  }
  return json;
}

void PrintReport(std::FILE* to, const std::string& path,
                 const CheckReport& report, const ReportStyle& style) {
  Printer(to, path, style).Print(report);
}

void PrintNotes(std::FILE* to, const std::string& path,
                const CheckReport& report, const ReportStyle& style) {
  Printer(to, path, style).PrintNotes(report);
}

}  // namespace ctxfs

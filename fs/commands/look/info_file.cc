// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/look/info_file.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdio>
#include <utility>

#include "core/base/text/human_size.h"
#include "core/io/urls/url.h"
#include "core/report/identity.h"
#include "core/report/script_json.h"
#include "core/tree/index_json.h"
#include "core/vfs/file_array.h"
#include "core/vfs/source_tree.h"
#include "core/views/list/views.h"
#include "core/views/view.h"
#include "fs/common/histogram.h"
#include "fs/common/shown_text.h"
#include "fs/common/terminal.h"

namespace ctxfs {
namespace {

/// Returns a number of an array with `dtype` as text. Integers that a double
/// holds exactly have all digits.
std::string NumberText(double number, std::string_view dtype) {
  constexpr double kExact = 9007199254740992;  // 2^53
  const std::optional<DType> known = DTypeOf(dtype);
  const bool integer = known && *known <= DType::kU64;
  if (integer && std::abs(number) < kExact && number == std::trunc(number)) {
    return fmt::format("{:.0f}", number);
  }
  return fmt::format("{:.6g}", number);
}

/// Returns null for NaN and infinities, which JSON does not have.
Json NumberJson(double number) {
  return std::isfinite(number) ? Json(number) : Json();
}

/// Prints a file's description for people.
class FilePage {
 public:
  explicit FilePage(const FileDescription& file) : file_(file) {}

  void Print() const {
    const EntryInfo& info = file_.info;
    const std::string name = WithoutQuery(file_.source) + "//" + file_.path;
    std::puts(terminal_.Paint(Colour::kBold, ShownName(name)).c_str());
    Line("kind", info.kind);
    if (!info.dtype.empty()) Line("dtype", info.dtype);
    if (info.shape) Line("shape", JsonLine(*info.shape));
    Line("size", SizeText());
    if (!info.checksum.empty()) {
      Line("checksum", info.checksum + ", verified: " + info.verified);
    }
    if (!info.note.empty()) Line("note", info.note);
    PrintValues();
  }

 private:
  static void Line(const std::string& name, const std::string& value) {
    if (value.empty()) return;
    std::printf("  %-18s %s\n", name.c_str(), ShownText(value).c_str());
  }

  std::string SizeText() const {
    const EntryInfo& info = file_.info;
    const std::string size = HumanSize(info.size);
    if (info.computed || info.codec == "none" || info.codec.empty()) {
      return size;
    }
    return size + ", stored " + HumanSize(info.stored_size) + " by " +
           info.codec;
  }

  void PrintValues() const {
    if (file_.values.empty()) return;
    if (file_.values != file_.info.dtype) Line("values", "as " + file_.values);
    if (!file_.statistics) {
      Line("statistics", "none: elements are complex or take less than a byte");
      return;
    }
    const ArrayStatistics& all = *file_.statistics;
    Line("elements", Counted(all.elements));
    const auto number = [&](const char* name, double value) {
      if (!std::isnan(value)) Line(name, NumberText(value, file_.values));
    };
    number("min", all.min);
    number("max", all.max);
    number("mean", all.mean);
    number("standard deviation", all.deviation);
    Line("NaN", Grouped(all.nans));
    Line("infinities", Grouped(all.infinities));
    Line("zeros", Grouped(all.zeros));
    PrintHistogram(all);
  }

  /// Prints a histogram such as "-1 [.:#: ] 3", whose first bin starts at -1
  /// and whose last bin ends at 3.
  void PrintHistogram(const ArrayStatistics& all) const {
    constexpr size_t kColumns = 40;
    if (all.bins.empty()) return;
    const bool utf8 = LocaleCharset() == Charset::kUtf8;
    const std::string bars = BarChart(all.bins, kColumns, 1, utf8).front();
    std::printf("  %-18s %s [%s] %s\n", "histogram",
                NumberText(all.low, file_.values).c_str(), bars.c_str(),
                NumberText(all.high, file_.values).c_str());
  }

  const FileDescription& file_;
  const Terminal terminal_ = Terminal::Of(stdout);
};

/// Fails with kNotContainer unless the file is in a container.
Status CheckInContainer(SourceTree& tree, const SourceTree::File& file) {
  const SourceTree::File above =
      CTXFS_TRY(tree.Find(DirectoryOfPath(file.path)));
  CTXFS_TRY(ContainerAround(tree, above));
  return {};
}

}  // namespace

Result<FileDescription> FileDescription::Of(
    const std::string& operand, const OpenOptions& options,
    const std::shared_ptr<SpillFile>& spill) {
  const Target target = ParseTarget(operand);
  const std::unique_ptr<SourceTree> tree = CTXFS_TRY(
      SourceTree::Open(target.source, options, AllViews(), ListMode::kPrimary,
                       LeavingLinks::kRefused, {.logs_damage = false}));
  tree->cache().SpillTo(spill);
  const SourceTree::File file = CTXFS_TRY(tree->Find(target.path));
  if (file.directory) {
    return Error{Code::kNotContainer, "there is no container in it"};
  }
  CTXFS_TRY(CheckInContainer(*tree, file));
  FileDescription one{target.source, target.path, {}, {}, {}};
  std::optional<EntryInfo> info = CTXFS_TRY(tree->Describe(file));
  const OpenFile opened = CTXFS_TRY(tree->Open(file));
  if (info) one.info = *std::move(info);
  if (one.info.kind.empty()) one.info.kind = "file";
  one.info.size = opened.content.size();
  const ReadContext context = tree->context();
  const std::optional<ArrayInfo> array =
      ArrayOfFile(*tree, file, one.info, opened.content, context);
  if (!array) return one;
  one.values = DTypeName(array->dtype);
  if (!HasStatistics(array->dtype)) return one;
  one.statistics = CTXFS_TRY(StatisticsOf(*array, /*exact=*/true, context));
  // Reading has verified the checksum.
  const std::optional<EntryInfo> now = CTXFS_TRY(tree->Describe(file));
  if (now) one.info.verified = now->verified;
  return one;
}

void FileDescription::Print() const { FilePage(*this).Print(); }

Json FileDescription::AsJson() const {
  Json json = EntryJson(info, path);
  json["source"] = source;
  if (values.empty()) return json;
  json["values"] = values;
  json["statistics"] = nullptr;
  if (!statistics) return json;
  json["statistics"] = {{"elements", statistics->elements},
                        {"min", NumberJson(statistics->min)},
                        {"max", NumberJson(statistics->max)},
                        {"mean", NumberJson(statistics->mean)},
                        {"deviation", NumberJson(statistics->deviation)},
                        {"nans", statistics->nans},
                        {"infinities", statistics->infinities},
                        {"zeros", statistics->zeros},
                        {"histogram",
                         {{"low", NumberJson(statistics->low)},
                          {"high", NumberJson(statistics->high)},
                          {"counts", statistics->bins}}}};
  return json;
}

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#include "core/report/sections/value_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/container/facts/model_files.h"
#include "core/container/interfaces/has_episode.h"
#include "core/report/script_json.h"
#include "core/report/sections/array_statistics.h"
#include "core/report/sections/contact_sheet.h"
#include "core/report/sections/lane_plot.h"
#include "core/report/sections/sample_sheet.h"
#include "core/report/sections/table_preview.h"
#include "core/report/sections/tokenizer_summary.h"
#include "core/report/sections/vector_summary.h"
#include "core/views/arrays/elements.h"
#include "core/views/pictures/picture_of.h"
#include "core/views/tables/step_seconds.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

constexpr size_t kErrorBytes = 500;
constexpr size_t kTableColumns = 64;
constexpr uint64_t kShownText = 16 * limits::kKiB;
constexpr uint64_t kTokenizerBytes = 64 * limits::kMiB;

std::string ErrorText(const Error& error) {
  return CutText(error.Text(), kErrorBytes);
}

void LeaveOut(Json& report, uint64_t count, const std::string& what) {
  if (count == 0) return;
  report["left_out"].push_back(fmt::format("{} {}", count, what));
}

Json ArrayHead(const ArrayInfo& array) {
  return {{"name", CutText(array.name, kArrayNameBytes)},
          {"dtype", DTypeName(array.dtype)},
          {"shape", array.shape},
          {"elements", CountOf(array)}};
}

/// The report of an array that cannot be read.
Json WithError(const ArrayInfo& array, const Error& error) {
  Json shown = ArrayHead(array);
  shown["error"] = ErrorText(error);
  return shown;
}

/// Whether the text of a document is meant for people.
bool IsShown(DocumentRole role) {
  return role != DocumentRole::kTokenizer &&
         role != DocumentRole::kVocabulary && role != DocumentRole::kMerges &&
         role != DocumentRole::kTokenizerModel;
}

/// Bytes of a document that are read to show it.
uint64_t BytesShown(DocumentRole role) {
  if (role == DocumentRole::kTokenizer) return kTokenizerBytes;
  return IsShown(role) ? kShownText : 0;
}

/// The first `most` bytes of a file.
Result<std::string> Beginning(const Content& content, uint64_t most,
                              const ReadContext& context) {
  std::string text(static_cast<size_t>(std::min(most, content.size())), '\0');
  CTXFS_TRY(
      ReadInto(content, 0, std::as_writable_bytes(std::span(text)), context));
  return text;
}

/// The plot of a lane over `seconds`, or over its steps if there is no such
/// array or it cannot be read.
Result<Json> PlotOf(const ArrayInfo& lane,
                    const std::optional<ArrayInfo>& seconds,
                    const ReadContext& context) {
  if (seconds && seconds->shape[0] == lane.shape[0]) {
    Result<Json> plot = LanePlot(lane, &*seconds, context);
    if (plot) return plot;
  }
  return LanePlot(lane, nullptr, context);
}

}  // namespace

ValueReport::ValueReport(std::shared_ptr<const Container> container,
                         const ReportOptions& options, ReportRoom& room,
                         const ReadContext& context)
    : container_(std::move(container)),
      exports_(container_->Export()),
      options_(options),
      room_(room),
      context_(context),
      arrays_(UsualArrays(exports_, context)) {}

void ValueReport::AddAll(Json& report) {
  AddStatistics(report);
  AddLanes(report);
  AddSheets(report);
  AddSamples(report);
  AddVectors(report);
  AddTable(report);
  AddDocuments(report);
}

bool ValueReport::MayMeasure(const ArrayInfo& array) {
  if (options_.depth == ReportDepth::kExact) return true;
  constexpr uint64_t kSampled = kSampledElements * sizeof(double);
  const Result<Content> elements = array.open(context_);
  if (!elements) return true;  // Measured reports the error
  // With a checksum or a codec, reading one element reads all of them.
  const uint64_t cost =
      elements->WorkExceeds(kSampled) ? elements->size() : kSampled;
  return ReportRoom::Take(room_.read_bytes, cost);
}

uint64_t ValueReport::BytesRead(const ArrayInfo& array) const {
  const uint64_t all = BytesOf(array);
  return options_.depth == ReportDepth::kExact
             ? all
             : std::min(all, kSampledElements * DTypeSize(array.dtype));
}

Json ValueReport::Measured(const ArrayInfo& array) const {
  const Result<ArrayStatistics> measured =
      StatisticsOf(array, options_.depth == ReportDepth::kExact, context_);
  if (!measured) return WithError(array, measured.error());
  Json shown = ArrayHead(array);
  shown["read"] = measured->read;
  shown["nans"] = measured->nans;
  shown["infinities"] = measured->infinities;
  shown["zeros"] = measured->zeros;
  // NaN becomes null in the JSON text.
  shown["min"] = measured->min;
  shown["max"] = measured->max;
  if (!measured->exact_min.empty()) {
    shown["exact"] = Json::array({measured->exact_min, measured->exact_max});
  }
  shown["mean"] = measured->mean;
  shown["deviation"] = measured->deviation;
  shown["low"] = measured->low;
  shown["high"] = measured->high;
  shown["bins"] = measured->bins;
  return shown;
}

void ValueReport::AddStatistics(Json& report) {
  std::vector<const ArrayInfo*> measured;
  uint64_t unread = 0;
  uint64_t many = 0;
  uint64_t other = 0;
  for (const ArrayInfo& array : arrays_) {
    if (!context_.Check()) return;
    if (!HasStatistics(array.dtype)) {
      ++other;
    } else if (room_.arrays == 0) {
      ++many;
    } else if (!MayMeasure(array)) {
      ++unread;
    } else {
      --room_.arrays;
      measured.push_back(&array);
    }
  }
  std::vector<Json> rows(measured.size());
  for (const ArrayInfo* array : measured) {
    if (options_.expect != nullptr) options_.expect(BytesRead(*array));
  }
  const auto measure = [&](uint64_t i) {
    rows[i] = Measured(*measured[i]);
    if (options_.done != nullptr) options_.done(BytesRead(*measured[i]));
  };
  if (options_.for_each != nullptr) {
    options_.for_each(rows.size(), measure);
  } else {
    for (uint64_t i = 0; i < rows.size(); ++i) measure(i);
  }
  if (!rows.empty()) report["arrays"] = std::move(rows);
  LeaveOut(report, unread,
           "arrays have no statistics, because too much would have to be read "
           "for a sample of them; --exact reads it");
  LeaveOut(report, many, "arrays have no statistics: too many for a page");
  LeaveOut(report, other,
           "arrays of complex numbers or of elements of less than a byte have "
           "no statistics");
}

void ValueReport::AddLanes(Json& report) {
  std::optional<Episode> episode;
  if (const HasEpisode* may_be = MayBeEpisode(*container_)) {
    episode = may_be->AsEpisode(context_);
  }
  const bool all_are_lanes = exports_.bundle_name == "episode";
  if (!episode && !all_are_lanes) return;
  std::optional<ArrayInfo> seconds;
  if (episode) seconds = SecondsOf(*episode);
  uint64_t left = 0;
  Json lanes = Json::array();
  for (const ArrayInfo& array : all_are_lanes ? arrays_ : episode->signals) {
    if (!IsUsual(array) || !IsPlottable(array)) continue;
    if (!context_.Check()) return;
    if (room_.lanes == 0 ||
        !ReportRoom::Take(room_.lane_bytes, BytesOf(array))) {
      ++left;
      continue;
    }
    --room_.lanes;
    Result<Json> plot = PlotOf(array, seconds, context_);
    lanes.push_back(plot ? *std::move(plot) : WithError(array, plot.error()));
  }
  if (!lanes.empty()) report["lanes"] = std::move(lanes);
  LeaveOut(report, left, "lanes are not plotted");
}

void ValueReport::AddSheets(Json& report) {
  // Skips models, because their codes would look like noise.
  if (exports_.bundle_name == "model") return;
  uint64_t left = 0;
  Json sheets = Json::array();
  for (const ArrayInfo& array : arrays_) {
    const std::optional<Picture> picture = PictureOf(array);
    if (!picture) continue;
    if (!context_.Check()) return;
    if (room_.sheets == 0 ||
        !ReportRoom::Take(room_.picture_bytes,
                          ContactSheetBytes(array, *picture))) {
      ++left;
      continue;
    }
    --room_.sheets;
    Result<Json> sheet = ContactSheet(array, *picture, context_);
    sheets.push_back(sheet ? *std::move(sheet)
                           : WithError(array, sheet.error()));
  }
  if (!sheets.empty()) report["sheets"] = std::move(sheets);
  LeaveOut(report, left, "arrays of pictures have no contact sheet");
}

void ValueReport::AddSamples(Json& report) {
  Result<Json> samples = SampleSheet(*container_, room_.sample_bytes, context_);
  if (!samples) {
    report["left_out"].push_back("samples: " + ErrorText(samples.error()));
  } else if (!samples->empty()) {
    report["samples"] = *std::move(samples);
  }
}

void ValueReport::AddVectors(Json& report) {
  if (!exports_.vectors) return;
  const uint64_t most =
      options_.depth == ReportDepth::kExact ? UINT64_MAX : room_.vector_bytes;
  uint64_t left = 0;
  Json collections = Json::array();
  for (const ArrayInfo& array : arrays_) {
    if (!IsVectors(array)) continue;
    if (!context_.Check()) return;
    if (!ReportRoom::Take(room_.collections)) {
      ++left;
      continue;
    }
    const uint64_t bytes = VectorBytes(array, most);
    if (options_.expect != nullptr) options_.expect(bytes);
    Result<Json> summary = VectorSummary(array, most, context_);
    collections.push_back(summary ? *std::move(summary)
                                  : WithError(array, summary.error()));
    if (options_.done != nullptr) options_.done(bytes);
  }
  if (!collections.empty()) report["vectors"] = std::move(collections);
  LeaveOut(report, left, "collections of vectors are not summarised");
}

void ValueReport::AddTable(Json& report) {
  if (exports_.table == nullptr) return;
  const size_t columns =
      static_cast<size_t>(std::min<uint64_t>(room_.columns, kTableColumns));
  Result<Json> table =
      TablePreview(container_, exports_.table(), columns, context_);
  if (!table) return;  // interrupted
  room_.columns -= (*table)["columns"].size();
  LeaveOut(report, (*table)["more"].get<uint64_t>(),
           "columns are not shown in the table");
  report["table"] = *std::move(table);
}

void ValueReport::AddDocuments(Json& report) {
  Json documents = Json::array();
  uint64_t left = 0;
  for (const Document& document : exports_.documents) {
    if (!context_.Check()) return;
    if (!ReportRoom::Take(room_.documents)) {
      ++left;
      continue;
    }
    std::string name(ModelFileName(document.role));
    Json shown = {{"name", name.empty() ? "description" : name}};
    const Result<Content> content =
        document.table->Open(document.file, context_);
    Result<std::string> text =
        content ? Beginning(*content, BytesShown(document.role), context_)
                : content.error();
    if (!text) {
      shown["error"] = ErrorText(text.error());
      documents.push_back(std::move(shown));
      continue;
    }
    shown["size"] = content->size();
    if (IsShown(document.role)) {
      shown["text"] = *text;
      shown["cut"] = content->size() > text->size();
    } else if (document.role == DocumentRole::kTokenizer) {
      Result<Json> summary = TokenizerSummary(*text, context_);
      if (summary) {
        report["tokenizer"] = *std::move(summary);
      } else {
        shown["error"] = ErrorText(summary.error());
      }
    }
    documents.push_back(std::move(shown));
  }
  if (!documents.empty()) report["documents"] = std::move(documents);
  LeaveOut(report, left, "documents are not shown");
}

}  // namespace ctxfs

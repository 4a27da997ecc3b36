// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "core/base/json/json.h"
#include "core/container/container.h"
#include "core/container/exports.h"
#include "core/content/read_context.h"
#include "core/report/container_report.h"

namespace ctxfs {

/// The parts of a report with values: usual arrays, the table and documents of
/// a container. Each Add function adds a field to `report`, and a sentence to
/// its "left_out" for parts that exceed `room`.
class ValueReport {
 public:
  ValueReport(std::shared_ptr<const Container> container,
              const ReportOptions& options, ReportRoom& room,
              const ReadContext& context);

  void AddAll(Json& report);

 private:
  /// "arrays": [{"name", "dtype", "shape", "elements", and the fields of
  /// ArrayStatistics, or "error"}].
  void AddStatistics(Json& report);
  /// "lanes": the LanePlot of each plottable array of an episode.
  void AddLanes(Json& report);
  /// "sheets": the ContactSheet of each array of pictures.
  void AddSheets(Json& report);
  /// "samples": the SampleSheet of the container.
  void AddSamples(Json& report);
  /// "vectors": the VectorSummary of each collection of vectors.
  void AddVectors(Json& report);
  /// "table": the TablePreview of the container's table.
  void AddTable(Json& report);
  /// "documents": [{"name", "size", "text" or "error", "cut"?}], and
  /// "tokenizer": the TokenizerSummary.
  void AddDocuments(Json& report);

  Json Measured(const ArrayInfo& array) const;
  /// Bytes of elements that the statistics read.
  uint64_t BytesRead(const ArrayInfo& array) const;
  /// Whether the budget allows measuring the array. Opens it.
  bool MayMeasure(const ArrayInfo& array);

  const std::shared_ptr<const Container> container_;
  const Exports exports_;
  const ReportOptions& options_;
  ReportRoom& room_;
  const ReadContext context_;
  const std::vector<ArrayInfo> arrays_;  // the usual ones
};

}  // namespace ctxfs

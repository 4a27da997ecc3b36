// SPDX-License-Identifier: Apache-2.0
//
// Descriptions of a data set and of its values, and a thorough check.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/formats/mds/limits.h"
#include "core/formats/mds/mds.h"
#include "core/formats/mds/sample_reader.h"

namespace ctxfs::mds {
namespace {

// Faults after which a check examines no further lists.
constexpr size_t kMaxFaults = 2 * kMaxWarnings;
// Estimated memory of a column in info.json.
constexpr uint64_t kObjectBytes = 1024;

/// EntryInfo::verified of a joined column: "failed" if a shard failed, "yes" if
/// all shards with samples passed, "none" if none of them has a hash, else
/// "no".
std::string VerifiedTextOf(const Shards& shards) {
  bool any = false;
  bool all = true;
  for (uint32_t i = 0; i < shards.count(); ++i) {
    if (shards.record(i).samples == 0) continue;
    if (shards.verdict(i) == Verdict::kFailed) {
      return VerifiedText(Verdict::kFailed);
    }
    any = any || shards.HasHash(i);
    all = all && shards.verdict(i) == Verdict::kPassed;
  }
  if (!any) return "none";
  return VerifiedText(all ? Verdict::kPassed : Verdict::kUnknown);
}

/// The names of known hashes in the index, each once.
std::vector<std::string> HashNames(const Index& index) {
  std::vector<std::string> names;
  for (const ShardRecord& shard : index.shards) {
    for (const ExpectedHash& hash : shard.raw.hashes) {
      std::string name(HashName(hash.algorithm));
      if (std::ranges::find(names, name) == names.end()) {
        names.push_back(std::move(name));
      }
    }
  }
  return names;
}

}  // namespace

EntryInfo MdsContainer::DescribeJoined(uint32_t column) const {
  const Column& of = index().columns[column];
  EntryInfo info;
  info.name = of.name;
  info.kind = "column";
  info.size = JoinedSize(column);
  info.stored_size = info.size;
  info.offset = kNoOffset;
  info.verified = VerifiedTextOf(*shards_);
  info.dtype = DTypeName(*of.dtype);
  info.shape = ShapeOf(of);
  info.extra["encoding"] = of.encoding;
  return info;
}

EntryInfo MdsContainer::DescribeValue(uint32_t column, uint32_t sample,
                                      const ReadContext& context) const {
  const Column& of = index().columns[column];
  const uint32_t shard = shards_->ShardOf(sample);
  EntryInfo info;
  info.name = of.name;
  info.kind = "value";
  info.offset = kNoOffset;
  info.verified = shards_->VerifiedText(shard);
  info.extra["encoding"] = of.encoding;
  info.extra["sample"] = sample;
  info.extra["file"] = shards_->record(shard).raw.name;
  // A description must not decode a shard. It must not depend on whether the
  // shard has been decoded, either, or index.json would change while it is
  // read.
  if (shards_->compressed(shard)) {
    info.codec = ZipName(shards_->record(shard).zip_kind);
    return info;
  }
  Result<SampleReader> reader = SampleReader::OpenAt(*shards_, sample, context);
  if (!reader) {
    info.note = reader.error().Text();
    return info;
  }
  const Value stored = reader->ValueOf(column);
  info.size = info.stored_size = stored.size;
  info.offset = stored.offset;
  if (of.kind != ColumnKind::kArray) return info;
  const Result<ShownValue> array = reader->ShownOf(column);
  if (!array) {
    info.note = array.error().what;
    return info;
  }
  info.size = info.stored_size = array->size;
  info.offset = array->offset;
  info.dtype = DTypeName(*array->dtype);
  info.shape = array->shape;
  return info;
}

Json MdsContainer::ColumnsJson() const {
  Json columns = Json::array();
  for (const Column& column : index().columns) {
    if (!HeapAllowance::Admit(kObjectBytes)) break;
    Json one = {{"name", column.name}, {"encoding", column.encoding}};
    if (column.size != 0) one["size"] = column.size;
    if (column.kind == ColumnKind::kJoined) {
      one["dtype"] = DTypeName(*column.dtype);
      one["shape"] = column.shape;
    }
    columns.push_back(std::move(one));
  }
  return columns;
}

uint64_t MdsContainer::EntryCount() const {
  const auto numbered =
      std::ranges::count_if(index().columns, [](const Column& column) {
        return column.kind == ColumnKind::kValue ||
               column.kind == ColumnKind::kArray;
      });
  return joined_.size() +
         static_cast<uint64_t>(numbered) * uint64_t{index().samples};
}

void MdsContainer::AddInfo(Json& info, const ReadContext& context) const {
  constexpr size_t kMaxNamed = 1000;
  Json missing = Json::array();
  for (uint32_t i = 0; i < shards_->count() && context.Check(); ++i) {
    if (!shards_->IsMissing(i) || missing.size() == kMaxNamed) continue;
    missing.push_back(shards_->record(i).raw.name);
  }
  info.update({{"format", "mds"},
               {"version", 2},
               {"entries", EntryCount()},
               {"samples", index().samples},
               {"shards", shards_->count()},
               {"columns", ColumnsJson()},
               {"compression", index().compression},
               {"hashes", HashNames(index())},
               {"missing_shards", std::move(missing)},
               {"container_size", StoredSize()}});
}

Status MdsContainer::AddFacts(const ReadContext& context, Facts& facts) const {
  facts.Add("samples", index().samples);
  facts.Add("shards", shards_->count());
  facts.Add("compression", index().compression);
  std::string hashes;
  for (const std::string& name : HashNames(index())) {
    hashes += (hashes.empty() ? "" : ", ") + name;
  }
  facts.Add("hashes", hashes);
  for (const Column& column : index().columns) {
    CTXFS_TRY(context.Check());
    if (facts.full()) break;
    facts.Add("column." + column.name, column.encoding);
  }
  return {};
}

void MdsContainer::InspectLists(uint32_t shard, const ReadContext& context,
                                std::vector<Error>& faults) const {
  const ShardRecord& record = shards_->record(shard);
  Result<SampleReader> reader = SampleReader::Open(*shards_, shard, context);
  if (!reader) return;  // a check also reads the values, which fails
  for (uint32_t i = 0; i < record.samples && context.Check(); ++i) {
    if (faults.size() >= kMaxFaults) return;
    const uint32_t sample = record.first + i;
    if (Status found = reader->Find(sample); !found) {
      faults.push_back(std::move(found).error());
      continue;
    }
    for (uint32_t c = 0; c < index().columns.size(); ++c) {
      const Column& column = index().columns[c];
      if (column.kind != ColumnKind::kList) continue;
      const auto items = reader->ItemsOf(c);
      if (items) continue;
      faults.push_back(Within(PlaceOf(column, sample), items.error()));
    }
  }
}

std::vector<Error> MdsContainer::Inspect(const ReadContext& context) const {
  std::vector<Error> faults = Faults();
  const bool lists = std::ranges::any_of(
      index().columns,
      [](const Column& column) { return column.kind == ColumnKind::kList; });
  for (uint32_t i = 0; i < shards_->count() && context.Check(); ++i) {
    if (shards_->Fault(i)) continue;
    if (options_.verify) {
      if (Status same = shards_->CompareHashes(i, context); !same) {
        faults.push_back(std::move(same).error());
      }
    }
    if (lists) InspectLists(i, context, faults);
  }
  return faults;
}

}  // namespace ctxfs::mds

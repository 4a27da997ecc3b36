// SPDX-License-Identifier: Apache-2.0
//
// PILE, a format of one file (the worked example of CONTRIBUTING.md). All
// numbers are little-endian.
//
//   0  "PILE"
//   4  u32 count of entries, then as many records:
//        u16 length of the name, the name, u64 offset and u64 size of the
//        bytes in the file, u32 CRC-32C of them
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/container/container.h"
#include "core/container/open.h"
#include "core/content/checksum_guard.h"

namespace ctxfs::pile {
namespace {

constexpr std::string_view kMagic = "PILE";
constexpr uint64_t kHeaderSize = 8;
constexpr uint64_t kLeastRecord = 22;  // one whose name is empty

class Pile final : public Container {
 public:
  Pile(std::shared_ptr<const Source> source, const OpenOptions& /*options*/)
      : Container(std::move(source)) {}

  Status Load(const ReadContext& /*context*/);

  Json Info(const ReadContext& /*context*/) const override {
    return {{"format", "pile"},
            {"entries", entries_.size()},
            {"warnings", WarningTexts()}};
  }
  Tables Files() const override;

 private:
  class Entries;
  struct Entry {
    std::string name;
    uint64_t offset;
    uint64_t size;
    Checksum checksum;
    std::optional<Error> fault;
    std::shared_ptr<AtomicVerdict> verdict;  // whether the checksum matched
  };

  void AddEntry(ByteReader& in, uint64_t record);

  const uint64_t owner_ = NewOwner();  // names our verdicts in the cache
  std::vector<Entry> entries_;
};

// The index is read once, when the container is opened. Every count and size in
// it is compared with the bytes of the file before it is used.
Status Pile::Load(const ReadContext& /*context*/) {
  const uint64_t size = source()->size();
  Result<Buffer> header =
      ReadBuffer(*source(), 0, std::min(size, kHeaderSize), "header");
  if (!header) return std::move(header).error();
  ByteReader start(header->span());
  start.Skip(kMagic.size());
  const uint64_t count = start.U32();
  if (!start.ok() || count > (size - kHeaderSize) / kLeastRecord) {
    return Error{
        Code::kCorrupt,
        std::to_string(count) + " entries run past the end of the file",
        kMagic.size()};
  }
  Result<Buffer> index =
      ReadBuffer(*source(), kHeaderSize,
                 std::min(size - kHeaderSize, limits::kNameBytes), "index");
  if (!index) return std::move(index).error();
  ByteReader in(index->span(), kHeaderSize);
  entries_.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t record = in.offset();
    AddEntry(in, record);
    if (!in.ok()) {
      return Error{Code::kCorrupt,
                   "entry " + std::to_string(i) + " ends past the index",
                   record};
    }
  }
  return {};
}

// An entry that cannot be read takes none of the others with it.
void Pile::AddEntry(ByteReader& in, uint64_t record) {
  Entry entry;
  entry.name = std::string(AsText(in.Take(in.U16())));
  entry.offset = in.U64();
  entry.size = in.U64();
  entry.checksum = {ChecksumKind::kCrc32c, in.U32()};
  entry.verdict = std::make_shared<AtomicVerdict>(Verdict::kUnknown);
  if (!InBounds(entry.offset, entry.size, source()->size())) {
    entry.fault =
        Error{Code::kCorrupt, "it runs past the end of the file", record};
  }
  entries_.push_back(std::move(entry));
}

/// The files at the root: each is the bytes of an entry, as they are stored.
class Pile::Entries final : public FileTable {
 public:
  explicit Entries(std::shared_ptr<const Pile> pile)
      : FileTable({.role = Role::kEntries}), pile_(std::move(pile)) {}

  uint32_t count() const override {
    return static_cast<uint32_t>(pile_->entries_.size());
  }
  std::optional<std::string_view> Path(
      uint32_t file, std::string& /*scratch*/) const override {
    return at(file).name;
  }
  std::optional<uint64_t> KnownSize(uint32_t file) const override {
    return at(file).fault ? 0 : at(file).size;
  }
  std::optional<Error> Fault(uint32_t file) const override {
    return at(file).fault;
  }

  // No byte gets past the guard before the checksum of all has matched.
  Result<Content> Open(uint32_t file,
                       const ReadContext& /*context*/) const override {
    const Entry& entry = at(file);
    if (entry.fault) return *entry.fault;
    auto guard = std::make_shared<const ChecksumGuard>(
        Key{pile_->owner_, file},
        ChecksumGuard::Guarded{pile_->source(), entry.offset, entry.size,
                               entry.checksum},
        entry.verdict);
    return Content(Range{pile_->source(), entry.offset, std::move(guard)},
                   entry.size);
  }

  std::optional<EntryInfo> Describe(
      uint32_t file, const ReadContext& /*context*/) const override {
    const Entry& entry = at(file);
    EntryInfo info;
    info.name = entry.name;
    info.kind = "entry";
    info.size = entry.fault ? 0 : entry.size;
    info.stored_size = info.size;
    info.offset = entry.offset;
    info.checksum = entry.checksum.Text();
    if (entry.fault) info.note = entry.fault->Text();
    return info;
  }

 private:
  const Entry& at(uint32_t file) const { return pile_->entries_[file]; }

  const std::shared_ptr<const Pile> pile_;
};

Container::Tables Pile::Files() const {
  return {std::make_shared<const Entries>(Share(*this))};
}

bool Probe(Bytes head) { return AsText(head).starts_with(kMagic); }

}  // namespace
}  // namespace ctxfs::pile

namespace ctxfs {

extern const Format kPile;
const Format kPile{.name = "pile",
                   .contents = "files in a row",
                   .extensions = "pile",
                   .probe = &pile::Probe,
                   .open = &OpenAs<pile::Pile>};

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
//
// Cowrie values as containers (docs/cowrie.md): files of their own, and entries
// of a GraphShard.
//
//   "SJ", version 2, ...          generation 2 (cowrie.cc)
//   0x39, parts, parts            a graph of generation 1 (gen1.cc, graph1.cc)
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/heap_allowance.h"
#include "core/container/container.h"
#include "core/container/documents.h"
#include "core/container/facts.h"
#include "core/container/file_set.h"
#include "core/container/open.h"
#include "core/formats/cowrie/cowrie.h"
#include "core/formats/cowrie/limits.h"
#include "core/formats/cowrie/numbers.h"

namespace ctxfs::cowrie {
namespace {

/// All of `source`, which may be no larger than a decoded value.
Result<Buffer> ReadValue(const Source& source, const ReadContext& context) {
  if (source.size() > kMostBytes) {
    return Error{
        Code::kLimit,
        fmt::format("a cowrie value of {} bytes is over the limit of {}",
                    source.size(), kMostBytes),
        0};
  }
  return ReadBuffer(source, 0, source.size(), "cowrie value",
                    context.interrupt());
}

Result<std::string> ValueText(const Source& source,
                              const ReadContext& context) {
  const Buffer bytes = CTXFS_TRY(ReadValue(source, context));
  const Json value = CTXFS_TRY(DecodeCowrie(bytes.span(), context.interrupt()));
  return FormatJson(value);
}

class CowrieFile final : public Container, public SaysFacts {
 public:
  CowrieFile(std::shared_ptr<const Source> source,
             const OpenOptions& /*options*/)
      : Container(std::move(source)) {}

  Status Load(const ReadContext& context) {
    const Buffer bytes = CTXFS_TRY(ReadValue(*source(), context));
    graph1_ = LooksLikeCowrieGraph1(bytes.span());
    CowrieValue value =
        CTXFS_TRY(graph1_ ? ReadCowrieGraph1(bytes.span(), /*numbers=*/false,
                                             context.interrupt())
                          : ReadCowrie(bytes.span(), context.interrupt()));
    data_ = source();
    if (value.unpacked) {
      packed_ = true;
      data_ = std::make_shared<const UnpackedSource>(
          source(), *std::move(value.unpacked));
    }
    arrays_ = std::move(value.arrays);
    left_out_ = value.left_out;
    return {};
  }

  void AddInfo(Json& info, const ReadContext& /*context*/) const override {
    info.update({{"format", "cowrie"},
                 {"generation", graph1_ ? 1 : 2},
                 {"entries", arrays_.size()},
                 {"decoded_size", data_->size()},
                 {"warnings", Json::array()}});
    if (left_out_ > 0) {
      info["warnings"].push_back(fmt::format(
          "{} arrays are over a limit, so they are only in value.json",
          left_out_));
    }
  }

  Tables Files() const override {
    return {ArrayFiles(),
            TextDocument(
                Role::kPrimary, "value.json", {owner_, 0}, source(),
                [source = source()](const ReadContext& context) {
                  return ValueText(*source, context);
                },
                TextCost(std::max(source()->size(), data_->size())))};
  }

  Status AddFacts(const ReadContext& context, Facts& facts) const override {
    facts.Add("generation", graph1_ ? 1U : 2U);
    return ctxfs::AddArrays(*Entries(), context, facts);
  }

  Exports Export() const override {
    Exports exports;
    if (arrays_.empty()) return exports;
    exports.arrays = [self = Share(*this)](const ReadContext& /*context*/) {
      return self->AllArrays();
    };
    return exports;
  }

 private:
  /// arrays/NAME: the entries.
  std::shared_ptr<const FileTable> ArrayFiles() const {
    return MakeTable(
        {.placement = {.role = Role::kEntries,
                       .directory = "arrays",
                       .shared = true},
         .count = static_cast<uint32_t>(arrays_.size()),
         .path = [this](uint32_t array, std::string& /*scratch*/)
             -> std::string_view { return arrays_[array].name; },
         .open =
             [this](uint32_t array, const ReadContext& /*context*/) {
               return OpenArray(arrays_[array]);
             },
         .facts =
             [this](uint32_t array) {
               return FileFacts{CowrieArraySize(arrays_[array])};
             },
         .describe =
             [this](uint32_t array, const ReadContext& /*context*/) {
               return DescribeArray(arrays_[array]);
             },
         .owner = Share(*this)});
  }
  Result<Content> OpenArray(const CowrieArray& array) const {
    return CowrieElements(array, data_, {owner_, 1 + array.offset});
  }
  EntryInfo DescribeArray(const CowrieArray& array) const {
    EntryInfo info;
    info.name = array.name;
    info.kind = "array";
    info.size = CowrieArraySize(array);
    info.stored_size = array.length;
    info.offset = array.offset;
    if (array.coding != CowrieCoding::kPlain || packed_) info.codec = "cowrie";
    info.verified = "none";
    info.dtype = DTypeName(array.dtype);
    info.shape = array.shape;
    return info;
  }
  std::vector<ArrayInfo> AllArrays() const {
    std::vector<ArrayInfo> all;
    for (const CowrieArray& array : arrays_) {
      if (!AdmitGrowth(all)) break;
      all.push_back(
          {array.name, array.dtype, array.shape,
           [self = Share(*this), &array](const ReadContext& /*context*/) {
             return self->OpenArray(array);
           }});
    }
    return all;
  }

  std::shared_ptr<const Source> data_;  // the bytes that hold the arrays
  bool packed_ = false;                 // data_ is the decompressed value
  bool graph1_ = false;
  std::vector<CowrieArray> arrays_;
  uint64_t left_out_ = 0;  // arrays over a limit
  const uint64_t owner_ = NewOwner();
};

bool Probe(Bytes head) {
  constexpr size_t kHeader = 4;
  constexpr auto kVersion = std::byte{2};
  constexpr auto kUnusedFlags = std::byte{0xF0};
  return head.size() > kHeader && LooksLikeCowrie(head) &&
         head[2] == kVersion && (head[3] & kUnusedFlags) == std::byte{0};
}

}  // namespace

}  // namespace ctxfs::cowrie

namespace ctxfs {

extern const Format kCowrie{.name = "cowrie",
                            .contents = "structured values with tensors",
                            .extensions = "cowrie",
                            .golden = "shard-profiles",
                            .docs = "cowrie",
                            .probe = &cowrie::Probe,
                            .open = &OpenAs<cowrie::CowrieFile>,
                            .resembles = &cowrie::LooksLikeCowrieGraph1};

}  // namespace ctxfs

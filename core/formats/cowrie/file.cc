// SPDX-License-Identifier: Apache-2.0
//
// Cowrie values as containers (docs/cowrie.md): files of their own, and entries
// of a GraphShard.
//
//   "SJ", version 2, ...          generation 2 (cowrie.cc)
//   0x39, parts, parts            a graph of generation 1 (gen1.cc, graph1.cc)
#include <string>
#include <utility>

#include "core/container/container.h"
#include "core/container/documents.h"
#include "core/container/listed_files.h"
#include "core/container/open.h"
#include "core/formats/cowrie/cowrie.h"
#include "core/formats/cowrie/limits.h"
#include "core/formats/cowrie/numbers.h"

namespace ctxfs::cowrie {
namespace {

/// All of `source`, which may be no larger than a decoded value.
Result<Buffer> ReadValue(const Source& source, const ReadContext& context) {
  if (source.size() > kMostBytes) {
    return Error{Code::kLimit,
                 "a cowrie value of " + std::to_string(source.size()) +
                     " bytes is over the limit of " +
                     std::to_string(kMostBytes),
                 0};
  }
  return ReadBuffer(source, 0, source.size(), "cowrie value",
                    context.interrupt());
}

Result<std::string> ValueText(const Source& source,
                              const ReadContext& context) {
  const Result<Buffer> bytes = ReadValue(source, context);
  if (!bytes) return bytes.error();
  const Result<Json> value = DecodeCowrie(bytes->span(), context.interrupt());
  if (!value) return value.error();
  return FormatJson(*value);
}

class CowrieFile final : public Container {
 public:
  CowrieFile(std::shared_ptr<const Source> source,
             const OpenOptions& /*options*/)
      : Container(std::move(source)) {}

  Status Load(const ReadContext& context) {
    const Result<Buffer> bytes = ReadValue(*source(), context);
    if (!bytes) return bytes.error();
    graph1_ = LooksLikeCowrieGraph1(bytes->span());
    Result<CowrieValue> value =
        graph1_ ? ReadCowrieGraph1(bytes->span(), /*numbers=*/false,
                                   context.interrupt())
                : ReadCowrie(bytes->span(), context.interrupt());
    if (!value) return std::move(value).error();
    data_ = source();
    if (value->unpacked) {
      packed_ = true;
      data_ = std::make_shared<const UnpackedSource>(
          source(), *std::move(value->unpacked));
    }
    arrays_ = std::move(value->arrays);
    left_out_ = value->left_out;
    return {};
  }

  Json Info(const ReadContext& /*context*/) const override {
    Json info = {{"format", "cowrie"},
                 {"generation", graph1_ ? 1 : 2},
                 {"entries", arrays_.size()},
                 {"container_size", source()->size()},
                 {"decoded_size", data_->size()},
                 {"warnings", Json::array()}};
    if (left_out_ > 0) {
      info["warnings"].push_back(std::to_string(left_out_) +
                                 " arrays are over a limit, so they are only "
                                 "in value.json");
    }
    return info;
  }

  Tables Files() const override {
    const Placement arrays{
        .role = Role::kEntries, .directory = "arrays", .shared = true};
    return {ListFiles(arrays, Share(*this), Share(arrays_)),
            TextDocument(Role::kPrimary, "value.json", {owner_, 0}, source(),
                         [source = source()](const ReadContext& context) {
                           return ValueText(*source, context);
                         })};
  }

  Exports Export() const override {
    Exports exports;
    if (arrays_.empty()) return exports;
    exports.arrays = [self = Share(*this)](const ReadContext& /*context*/) {
      return self->AllArrays();
    };
    return exports;
  }

  // arrays/NAME: the entries.

  std::string_view FilePath(const CowrieArray& array) const {
    return array.name;
  }
  Result<Content> OpenFile(const CowrieArray& array,
                           const ReadContext& /*context*/) const {
    return CowrieElements(array, data_, {owner_, 1 + array.offset});
  }
  uint64_t FileSize(const CowrieArray& array) const {
    return CowrieArraySize(array);
  }
  EntryInfo DescribeFile(const CowrieArray& array) const {
    EntryInfo info;
    info.name = array.name;
    info.kind = "array";
    info.stored_size = array.length;
    info.offset = array.offset;
    if (array.coding != CowrieCoding::kPlain || packed_) info.codec = "cowrie";
    info.verified = "none";
    info.dtype = DTypeName(array.dtype);
    info.shape = array.shape;
    return info;
  }

 private:
  std::vector<ArrayInfo> AllArrays() const {
    std::vector<ArrayInfo> all;
    for (const CowrieArray& array : arrays_) {
      all.push_back({array.name, array.dtype, array.shape,
                     [self = Share(*this), &array](const ReadContext& context) {
                       return self->OpenFile(array, context);
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

extern const Format kCowrie;
const Format kCowrie{.name = "cowrie",
                     .contents = "structured values with tensors",
                     .extensions = "cowrie",
                     .probe = &cowrie::Probe,
                     .open = &OpenAs<cowrie::CowrieFile>,
                     .resembles = &cowrie::LooksLikeCowrieGraph1};

}  // namespace ctxfs

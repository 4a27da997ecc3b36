// SPDX-License-Identifier: Apache-2.0
//
// Cowrie values as containers (docs/formats/cowrie.md): files of their own, and
// entries of a GraphShard.
//
//   "SJ", version 2, ...          generation 2 (cowrie.cc)
//   a tag                         generation 1 (gen1.cc, gen1_choice.cc)
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/container/container.h"
#include "core/container/documents.h"
#include "core/container/facts/facts.h"
#include "core/container/open.h"
#include "core/formats/cowrie/array_files.h"
#include "core/formats/cowrie/cowrie.h"
#include "core/formats/cowrie/limits.h"

namespace ctxfs::cowrie {
namespace {

/// Reads all of `source`. Fails with kLimit if it is too large for a value.
Result<Buffer> ReadValue(const Source& source, const ReadContext& context) {
  if (source.size() > kMaxBytes) {
    return Error{
        Code::kLimit,
        fmt::format("a cowrie value of {} bytes is over the limit of {}",
                    source.size(), kMaxBytes),
        0};
  }
  return ReadBuffer(source, 0, source.size(), "cowrie value", context);
}

class CowrieFile final : public Container, public SaysFacts {
 public:
  CowrieFile(std::shared_ptr<const Source> source,
             const OpenOptions& /*options*/)
      : Container(std::move(source)) {}

  Status Load(const ReadContext& context) {
    const Buffer bytes = CTXFS_TRY(ReadValue(*source(), context));
    CowrieValue value = CTXFS_TRY(Read(bytes.span(), context));
    std::shared_ptr<const Source> data = source();
    const bool packed = value.unpacked.has_value();
    if (packed) {
      data = std::make_shared<const UnpackedSource>(source(),
                                                    *std::move(value.unpacked));
    }
    arrays_.emplace(std::move(value.arrays), std::move(data), packed, "none");
    if (value.left_out > 0) {
      Warn(
          {fmt::format("{} arrays are over a limit, so they are only in "
                       "value.json",
                       value.left_out)});
    }
    return {};
  }

  void AddInfo(Json& info, const ReadContext& /*context*/) const override {
    info.update({{"format", "cowrie"},
                 {"generation", dialect_ ? 1 : 2},
                 {"entries", arrays_->count()},
                 {"decoded_size", arrays_->data_size()}});
    if (!dialect_) return;
    info["tags"] = dialect_->tags == Gen1Tags::kUnified ? "unified" : "earlier";
    info["graphs"] = dialect_->graphs == Gen1Graphs::kGo ? "go" : "spec";
  }

  Tables Files() const override {
    return {arrays_->Table("arrays", Share(*this)),
            TextDocument(
                Role::kPrimary, "value.json", {owner_, 0}, source(),
                [source = source(),
                 dialect = dialect_](const ReadContext& context) {
                  return ValueText(*source, dialect, context);
                },
                TextCost(std::max(source()->size(), arrays_->data_size())))};
  }

  Status AddFacts(const ReadContext& context, Facts& facts) const override {
    facts.Add("generation", dialect_ ? 1U : 2U);
    return ctxfs::AddArrays(*Entries(), context, facts);
  }

  Exports Export() const override {
    Exports exports;
    if (arrays_->count() == 0) return exports;
    exports.arrays = [self = Share(*this)](const ReadContext& /*context*/) {
      return self->arrays_->All(self);
    };
    return exports;
  }

 private:
  /// Reads the value. In generation 1, detects the dialect, and omits array
  /// elements.
  Result<CowrieValue> Read(Bytes bytes, const ReadContext& context) {
    if (!StartsLikeCowrie1(bytes)) {
      return ReadCowrie(bytes, context.interrupt());
    }
    Gen1Choice choice = CTXFS_TRY(ChooseCowrie1(bytes, context.interrupt()));
    dialect_ = choice.dialect;
    if (!choice.doubt.empty()) Warn({std::move(choice.doubt)});
    return std::move(choice.value);
  }

  static Result<std::string> ValueText(
      const Source& source, const std::optional<Gen1Dialect>& dialect,
      const ReadContext& context) {
    const Buffer bytes = CTXFS_TRY(ReadValue(source, context));
    const CowrieValue value =
        CTXFS_TRY(dialect ? ReadCowrie1(bytes.span(), *dialect,
                                        /*numbers=*/true, context.interrupt())
                          : ReadCowrie(bytes.span(), context.interrupt()));
    return FormatJson(value.json);
  }

  std::optional<ArrayFiles> arrays_;
  std::optional<Gen1Dialect> dialect_;  // unset for generation 2
  const uint64_t owner_ = NewOwner();
};

constexpr auto kGeneration2 = std::byte{2};

bool Probe(Bytes head) {
  constexpr size_t kHeader = 4;
  constexpr auto kUnusedFlags = std::byte{0xF0};
  return head.size() > kHeader && LooksLikeCowrie(head) &&
         head[2] == kGeneration2 && (head[3] & kUnusedFlags) == std::byte{0};
}

/// Whether a file is called NAME.cowrie and starts like a value, possibly of a
/// later version. The bytes alone would not be enough: generation 1 has no
/// magic, and the magic of generation 2 is short.
bool IsNamedCowrie(const Source& source, const Request& request) {
  constexpr auto kFirstLetter = std::byte{' '};
  if (source.is_directory() || !source.name().ends_with(".cowrie")) {
    return false;
  }
  const Result<Buffer> head = ReadHead(source, request);
  if (!head) return false;
  const Bytes bytes = head->span();
  return StartsLikeCowrie1(bytes) ||
         (LooksLikeCowrie(bytes) && bytes.size() > 2 &&
          bytes[2] < kFirstLetter);
}

}  // namespace

}  // namespace ctxfs::cowrie

namespace ctxfs {

extern const Format kCowrie{.name = "cowrie",
                            .contents = "structured values with tensors",
                            .extensions = "cowrie",
                            .golden = "shard-profiles cowrie",
                            .docs = "cowrie",
                            .probe = &cowrie::Probe,
                            .open = &OpenAs<cowrie::CowrieFile>,
                            .resembles = &cowrie::LooksLikeCowrieGraph1,
                            .resembles_source = &cowrie::IsNamedCowrie};

}  // namespace ctxfs

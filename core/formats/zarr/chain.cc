// SPDX-License-Identifier: Apache-2.0
//
// Chains of codecs (docs/formats/zarr.md, section 4): how one is built, and how
// it is undone.
#include "core/formats/zarr/chain.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/base/text/text.h"
#include "core/container/elements.h"
#include "core/formats/zarr/limits.h"

namespace ctxfs::zarr {
namespace {

constexpr std::string_view kNumcodecs = "numcodecs.";

Status AddBytes(const Json& configuration, ChainBuilder& chain) {
  if (chain.type.lines()) {
    return BadCodecs("texts need vlen-utf8 or vlen-bytes");
  }
  const std::string endian = TextAt(configuration, "endian");
  if (!endian.empty() && endian != "little" && endian != "big") {
    return BadCodecs("endian is neither little nor big");
  }
  if (endian == "big") chain.AddSwap();
  return {};
}

template <ElementType::Kind kKind>
Status AddTexts(const Json& /*configuration*/, ChainBuilder& chain) {
  if (chain.type.kind == kKind) return {};
  return BadCodecs(chain.chain.names.back() + " does not follow texts");
}

using Stage = ChunkCodec::Stage;

constexpr ChunkCodec kToBytes[] = {
    {"bytes", Stage::kToBytes, &AddBytes},
    {"sharding_indexed", Stage::kToBytes, &AddShards},
    {"vlen-utf8", Stage::kTexts, &AddTexts<ElementType::Kind::kText>},
    {"vlen-bytes", Stage::kTexts, &AddTexts<ElementType::Kind::kBinary>},
};

const ChunkCodec* FindCodec(std::string_view name) {
  for (const std::span<const ChunkCodec> codecs :
       {ArrayCodecs(), std::span<const ChunkCodec>(kToBytes), ByteCodecs()}) {
    const auto found = std::ranges::find(codecs, name, &ChunkCodec::name);
    if (found != codecs.end()) return &*found;
  }
  return nullptr;
}

bool IsInNumcodecs(const ChunkCodec& codec) {
  return codec.stage != Stage::kArray && codec.stage != Stage::kToBytes;
}

}  // namespace

Error BadCodecs(const std::string& text) {
  return {Code::kCorrupt, "codecs: " + text};
}

Error UnreadCodec(std::string_view name) {
  return {Code::kUnsupported,
          "codec " + Quote(name) + " is not decoded by this version"};
}

Status CheckSize(uint64_t found, uint64_t wanted, uint64_t offset) {
  if (found == wanted) return {};
  return Error{Code::kCorrupt,
               fmt::format("{} bytes are there instead of {}", found, wanted),
               offset + std::min(found, wanted)};
}

Error Moved(Error error, uint64_t by) {
  if (error.offset != kNoOffset) error.offset += by;
  return error;
}

bool IsArrayFilter(std::string_view name) {
  const ChunkCodec* const codec = FindCodec(name);
  return codec != nullptr && IsInNumcodecs(*codec) &&
         codec->stage != Stage::kBytes;
}

bool Chain::checks() const { return std::ranges::any_of(steps, &Step::checks); }

ChainBuilder::ChainBuilder(const ElementType& elements, std::string filled,
                           Indices extents, size_t shards_around)
    : type(elements),
      fill(std::move(filled)),
      level(shards_around),
      shape(std::move(extents)),
      number(elements.number),
      width(elements.size) {
  if (!type.lines()) bytes = CheckedMul(ElementsOf(shape), width);
  chain.size = bytes;
  if (number.big) AddSwap();
}

void ChainBuilder::Push(decltype(Step::undo) undo,
                        std::optional<uint64_t> after, bool checks) {
  bytes = after;
  chain.steps.push_back({std::move(undo), after, checks});
}

Status ChainBuilder::Add(const std::string& name, const Json& configuration) {
  if (chain.names.size() == kMaxCodecs) {
    return OverLimit("codecs of a chain are", kMaxCodecs);
  }
  const bool numcodec = name.starts_with(kNumcodecs);
  const std::string plain = numcodec ? name.substr(kNumcodecs.size()) : name;
  chain.names.push_back(plain);
  const ChunkCodec* const codec = FindCodec(plain);
  if (codec == nullptr || (numcodec && !IsInNumcodecs(*codec))) {
    return UnreadCodec(plain);
  }
  if (is_array != (codec->stage != Stage::kBytes)) {
    return BadCodecs(plain +
                     (is_array ? " follows no bytes" : " follows bytes"));
  }
  if (codec->stage == Stage::kNumbers &&
      type.kind != ElementType::Kind::kNumber) {
    return BadCodecs(plain + " follows elements that are no numbers");
  }
  is_array = codec->stage == Stage::kArray || codec->stage == Stage::kNumbers;
  return codec->add(configuration, *this);
}

Status ChainBuilder::AddAll(const Json* codecs) {
  if (codecs == nullptr || !codecs->is_array()) {
    return BadCodecs("they are no list");
  }
  for (const Json& codec : *codecs) {
    const std::string name =
        codec.is_string() ? codec.get<std::string>() : TextAt(codec, "name");
    if (name.empty()) return BadCodecs("one has no name");
    const Json* const configuration = MemberAt(codec, "configuration");
    CTXFS_TRY(Add(name, configuration == nullptr ? Json() : *configuration));
  }
  return {};
}

Status ChainBuilder::EndArray() {
  if (!is_array) return {};
  is_array = false;
  return AddBytes(Json(), *this);
}

Result<Chain> ChainBuilder::Build() && {
  if (is_array) return BadCodecs("none makes bytes of the elements");
  chain.stored = bytes;
  return std::move(chain);
}

Result<Buffer> Undo(const Chain& chain, Coded coded, const ReadContext& context,
                    size_t first) {
  for (size_t i = chain.steps.size(); i-- > first;) {
    const Step& step = chain.steps[i];
    CTXFS_TRY(context.Check());
    if (step.stored) CTXFS_TRY(CheckSize(coded.bytes.size(), *step.stored));
    CTXFS_TRY(step.undo(coded, context));
  }
  if (first == 0 && chain.size) {
    CTXFS_TRY(CheckSize(coded.bytes.size(), *chain.size));
  }
  const bool is_all = coded.bytes.data() == coded.memory.data() &&
                      coded.bytes.size() == coded.memory.size();
  return is_all ? std::move(coded.memory) : BufferOf(AsText(coded.bytes));
}

}  // namespace ctxfs::zarr

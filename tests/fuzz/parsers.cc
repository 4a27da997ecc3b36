// SPDX-License-Identifier: Apache-2.0
//
// Parsers that can be reached without a container around them.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/json/json.h"
#include "core/base/limits.h"
#include "core/codec/checksum.h"
#include "core/codec/codec.h"
#include "core/codec/deflate.h"
#include "core/compressed/compressed_source.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/content/sha256_of.h"
#include "core/formats/tfrecord/header_search.h"
#include "core/formats/torch/pickle.h"
#include "core/formats/torch/value.h"
#include "core/io/source.h"
#include "core/tree/safe_name.h"
#include "fs/commands/verify/commit_tree.h"
#include "fs/commands/verify/digest_manifest.h"
#include "fs/commands/verify/published_digests.h"
#include "tests/fuzz/read_everything.h"
#include "tests/fuzz/target.h"
#include "tests/support/judge.h"

namespace ctxfs::fuzz {
namespace {

/// Passes over some of what it is told of.
class ChoosyVisitor final : public JsonVisitor {
 public:
  bool Enter(const Path& path, bool /*is_array*/) override {
    return path.empty() || path.back().size() % 2 == 0;
  }
  void Leave(const Path& /*path*/) override {}
  void Scalar(const Path& /*path*/, Json /*value*/) override {}
};

void TryJson(Bytes input) {
  const std::string_view text = AsText(input);
  const auto standard = ParseJson(text);
  const auto python = ParseJson(text, JsonDialect::kPython);
  if (python) {
    Require(python->length <= text.size(), "a value lies within its text");
    (void)FormatJson(python->value);
  }
  ChoosyVisitor visitor;
  const Result<size_t> walked = WalkJson(text, JsonDialect::kPython, visitor);
  Require(walked.has_value() == python.has_value() &&
              (!walked || *walked == python->length),
          "what is passed over is read all the same");
  if (!standard) {
    Require(standard.error().code != Code::kCorrupt || !Json::accept(text),
            "what the JSON library accepts is JSON");
    return;
  }
  Require(standard->value ==
              Json::parse(text.substr(0, standard->length), nullptr, false),
          "the JSON library reads the same");
  Require(python && python->value == standard->value &&
              python->length == standard->length,
          "what is JSON is Python's JSON, and means the same");
  const auto again = ParseJson(FormatJson(standard->value));
  Require(again && again->value == standard->value,
          "what is written is what was read");
}

/// The room to decode into, as the first two bytes have it; it is just that
/// large.
struct Room {
  explicit Room(Bytes& input) {
    if (input.size() < 2) return;
    size = LoadLe<uint16_t>(input.data());
    input = input.subspan(2);
    bytes = std::make_unique<std::byte[]>(size);
  }
  MutableBytes span() { return {bytes.get(), size}; }

  size_t size = 0;
  std::unique_ptr<std::byte[]> bytes = std::make_unique<std::byte[]>(0);
};

void TryLz4(Bytes input) {
  Room room(input);
  const Status decoded = DecodeLz4(input, room.span());
  const std::string whole(AsText(room.span()));
  const Status lenient = DecodeLz4Lenient(input, room.span());
  if (decoded) {
    Require(lenient.has_value() && AsText(room.span()) == whole,
            "both decoders make the same of it");
  }
  std::fill(room.span().begin(), room.span().end(), std::byte{});
  const size_t prefix = DecodeLz4Prefix(input, room.span());
  Require(prefix <= room.size, "a prefix fits");
  if (decoded) {
    Require(prefix == room.size && AsText(room.span()) == whole,
            "the prefix of all is all");
  }
}

void TryZstd(Bytes input) {
  constexpr uint64_t kMax = 1 << 20;
  Room room(input);
  const Result<ZstdFrame> frame = DecodeZstdFrame(input, kMax);
  if (frame) {
    Require(frame->bytes.size() <= kMax && frame->stored_size <= input.size(),
            "a frame keeps to its limits");
  }
  const Status decoded = DecodeZstd(input, room.span());
  const std::string whole(AsText(room.span()));
  const size_t prefix = DecodeZstdPrefix(input, room.span());
  Require(prefix <= room.size, "a prefix fits");
  if (decoded) {
    Require(AsText(room.span()).substr(0, prefix) == whole.substr(0, prefix),
            "a prefix is the beginning");
  }
}

void TryGzip(Bytes input) {
  Room room(input);
  (void)DecodeGzip(input, room.span());
}

/// A file that is compressed as a whole: windows of it are parts of the whole.
void TryCompressed(Bytes input) {
  std::array<std::byte, limits::kProbeBytes> head{};
  const size_t size = DecodeHead(input, head);
  const Compression compression = CompressionOf(input);
  Require(size == 0 || compression != Compression::kNone,
          "only what is compressed is decoded");
  if (compression == Compression::kNone) return;
  const Result<SourcePtr> opened = OpenCompressed(
      std::make_shared<const MemorySource>(std::string(AsText(input))),
      compression, nullptr, LoneContext());
  if (!opened) {
    Require(!opened.error().what.empty(), "a refusal says why");
    return;
  }
  const Source& source = **opened;
  Require(
      source.size() <= limits::kWorkBytes + input.size() * limits::kWorkFactor,
      "a bomb is refused");
  Buffer whole(static_cast<size_t>(source.size()));
  Require(source.ReadAt(0, whole.span(), Request()).has_value(),
          "what was verified can be read");
  Require(
      std::equal(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(size),
                 whole.data()),
      "the head is the beginning");
  for (uint64_t at = source.size(); at > 0;) {
    at -= std::min<uint64_t>(at, 700'001);
    Buffer window(
        static_cast<size_t>(std::min<uint64_t>(1000, source.size() - at)));
    Require(
        source.ReadAt(at, window.span(), Request()).has_value() &&
            std::equal(window.span().begin(), window.span().end(),
                       whole.span().begin() + static_cast<std::ptrdiff_t>(at)),
        "a window is a part of the whole");
  }
}

/// `input` in pieces of `size` bytes.
NextBytes InPieces(Bytes input, size_t size) {
  return [input, size]() mutable -> Result<Bytes> {
    const Bytes piece = input.first(std::min(size, input.size()));
    input = input.subspan(piece.size());
    return piece;
  };
}

/// Deflate64, in pieces and as a whole.
void TryDeflate64(Bytes input) {
  const Room room(input);
  std::string decoded[2];
  bool sound[2];
  for (const size_t i : {size_t{0}, size_t{1}}) {
    sound[i] = DecodeDeflate64Stream(
                   InPieces(input, i == 0 ? input.size() : 3),
                   {room.size, kMaxStreamMemory},
                   [&text = decoded[i]](Bytes piece) {
                     text += AsText(piece);
                     return Status();
                   },
                   NeverInterrupted())
                   .has_value();
    Require(decoded[i].size() <= room.size, "a stream keeps to its size");
    Require(!sound[i] || decoded[i].size() == room.size, "it has all of it");
  }
  Require(sound[0] == sound[1] && decoded[0] == decoded[1],
          "pieces change nothing");
}

/// Raw deflate, in pieces and as a whole.
void TryDeflate(Bytes input) {
  Room room(input);
  const Status decoded =
      DecodeDeflate(InPieces(input, input.size()), room.span());
  const std::string whole(AsText(room.span()));
  const Status again = DecodeDeflate(InPieces(input, 3), room.span());
  Require(decoded.has_value() == again.has_value() &&
              (!decoded || AsText(room.span()) == whole),
          "pieces change nothing");
  std::fill(room.span().begin(), room.span().end(), std::byte{});
  const size_t prefix = DecodeDeflatePrefix(input, room.span());
  Require(prefix <= room.size, "a prefix fits");
  if (decoded) {
    Require(prefix == room.size && AsText(room.span()) == whole,
            "the prefix of all is all");
  }
}

/// A pickle is read as data, whatever it would do.
void TryPickle(Bytes input) {
  const Content content = LiteralContent(std::string(AsText(input)));
  LoneContext context;
  uint64_t end = 0;
  const auto pickle = torch::ReadPickle(content, 0, context, end);
  if (!pickle) {
    Require(!pickle.error().what.empty(), "a refusal says why");
    return;
  }
  Require(end <= input.size(), "a pickle ends within its bytes");
  std::vector<torch::FoundTensor> found;
  const Status walked = torch::FindTensors(*pickle, "", context, found);
  size_t shown = 0;
  const std::string path = "t";
  const auto text = torch::ValueText(
      *pickle,
      [&](size_t number) -> const std::string& {
        Require(number == shown++, "tensors are shown in order");
        return path;
      },
      context);
  if (!walked || !text) return;
  Require(shown == found.size(), "both walks find the same tensors");
  Require(Json::accept(*text), "a value is JSON");
}

/// The data of a record of a TFRecord whose checksums are right: a fuzzer does
/// not find these.
void TryExample(Bytes input) {
  std::string record;
  const auto append_masked = [&record](Bytes bytes) {
    AppendLe(tfrecord::Mask(Crc32c(bytes)), record);
  };
  AppendLe(uint64_t{input.size()}, record);
  append_masked(AsBytes(record));
  record += AsText(input);
  append_masked(input);
  const auto container = OpenContainer(
      std::make_shared<MemorySource>(std::move(record)), OpenOptions());
  Require(container.has_value(), "a record with right checksums is opened");
  ReadEverything(*container, OpenOptions(), Depth{.levels = 1, .each = 1});
}

void RequireComponent(std::string_view component) {
  Require(!component.empty() && component != "." && component != ".." &&
              component.size() <= limits::kComponentBytes &&
              component.find('/') == std::string_view::npos &&
              component.find('\0') == std::string_view::npos,
          "a component is a file's name");
}

std::vector<std::string> Components(std::string_view name) {
  SafePath path;
  std::vector<std::string> components;
  for (const std::string_view component : path.Split(name)) {
    RequireComponent(component);
    components.emplace_back(component);
  }
  Require(!components.empty() && components.size() <= limits::kComponents + 1,
          "a name has components, and not too many");
  return components;
}

/// Two names, one a line.
void TryNames(Bytes input) {
  const std::string_view text = AsText(input);
  const size_t line = std::min(text.find('\n'), text.size());
  const std::string_view one = text.substr(0, line);
  const std::string_view other = text.substr(std::min(line + 1, text.size()));
  Require((one == other) == (Components(one) == Components(other)),
          "different names have different paths");
  for (const std::string_view name : {one, other}) {
    const std::string safe = SafeComponent(name);
    RequireComponent(safe);
    for (const bool before_extension : {false, true}) {
      const std::string marked = MarkedComponent(safe, "~2", before_extension);
      RequireComponent(marked);
      Require(marked != safe, "a marked name is another");
    }
  }
}

/// What somebody has published about files, and manifests of ctxfs digest.
void TryDigests(Bytes input) {
  const std::string_view text = AsText(input);
  if (const auto published = ParseDigests(text)) {
    Require(!published->digests.empty() || !published->manifests.empty(),
            "a text without digests is refused");
    for (const PublishedDigest& digest : published->digests) {
      const size_t digits = digest.kind == PublishedKind::kSha256 ? 64 : 40;
      Require(digest.hex.size() == digits && LowerHex(digest.hex) == digest.hex,
              "a digest has its digits");
    }
    for (const std::string& manifest : published->manifests) {
      Require(AsSha256(manifest) == manifest, "a manifest is named by digits");
    }
  } else {
    Require(!published.error().what.empty(), "a refusal says why");
  }
  if (const auto tree = ParseCommitTree(text)) {
    for (const auto& [path, file] : *tree) {
      if (!file.digest) continue;
      const bool sha1 = file.digest->kind == PublishedKind::kGitSha1;
      Require(file.digest->hex.size() == (sha1 ? 40 : 64),
              "a digest of a commit has its digits");
    }
  }
  if (const auto digest = DigestInPath(text)) {
    const std::string_view name = text.substr(text.rfind('/') + 1);
    Require(LowerHex(std::string(name)).ends_with(digest->hex),
            "the digest is in the name");
  }
  Buffer copy(input.size());
  std::ranges::copy(input, copy.data());
  if (auto manifest = DigestManifest::Parse(std::move(copy))) {
    CheckReport report;
    manifest->AddMissing(report);
    Require(report.faults.size() == manifest->size(),
            "without a container all files are missing");
  }
}

}  // namespace

void AddParserTargets(std::vector<Target>& targets) {
  targets.push_back({"json", &TryJson});
  targets.push_back({"lz4", &TryLz4});
  targets.push_back({"zstd", &TryZstd});
  targets.push_back({"gzip", &TryGzip});
  targets.push_back({"compressed", &TryCompressed});
  targets.push_back({"deflate", &TryDeflate});
  targets.push_back({"deflate64", &TryDeflate64});
  targets.push_back({"pickle", &TryPickle});
  targets.push_back({"example", &TryExample});
  targets.push_back({"names", &TryNames});
  targets.push_back({"digests", &TryDigests});
}

}  // namespace ctxfs::fuzz

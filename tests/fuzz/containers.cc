// SPDX-License-Identifier: Apache-2.0
//
// Formats by themselves, the magic not being asked for: a mutation of it is
// then no input that says nothing.
#include <array>
#include <cstring>
#include <utility>

#include "core/container/format.h"
#include "core/io/source.h"
#include "tests/fuzz/archive.h"
#include "tests/fuzz/read_everything.h"
#include "tests/fuzz/target.h"
#include "tests/support/judge.h"

namespace ctxfs::fuzz {
namespace {

/// The input itself, which libFuzzer has put where a sanitizer sees one byte
/// too far.
class InputSource final : public Source {
 public:
  explicit InputSource(Bytes bytes) : bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& /*request*/) const override {
    if (!InBounds(offset, out.size(), bytes_.size())) {
      return Error{Code::kCorrupt, "read past the end", offset};
    }
    if (!out.empty()) {
      std::memcpy(out.data(), bytes_.data() + offset, out.size());
    }
    return {};
  }

 private:
  Bytes bytes_;
};

/// As it is, with the key of golden/conventions; and salvaged and unverified,
/// since few mutations have the checksum that they need to be decoded at all.
std::array<OpenOptions, 2> WaysToOpen() {
  static const auto key = [] {
    std::array<std::byte, MasterKey::kBytes> bytes{};
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i);
    return std::make_shared<const MasterKey>(bytes);
  }();
  OpenOptions strict;
  strict.key = key;
  OpenOptions salvage;
  salvage.salvage = true;
  salvage.verify = false;
  return {strict, salvage};
}

using OpenFunction = decltype(Format::open);

void OpenAndRead(const std::shared_ptr<const Source>& source, OpenFunction open,
                 Depth depth) {
  for (const OpenOptions& options : WaysToOpen()) {
    auto container = open(source, options, LoneContext());
    if (container) {
      ReadEverything(std::move(*container), options, depth);
    } else {
      Require(!container.error().what.empty(), "a refusal says why");
    }
  }
}

Target FileTarget(std::string name, OpenFunction open) {
  return {
      std::move(name), [open](Bytes input) {
        OpenAndRead(std::make_shared<const InputSource>(input), open, {2, 8});
      }};
}

Target FolderTarget(const std::string& name, OpenFunction open) {
  return {name + "_folder", [open](Bytes input) {
            Archive archive = Unpack(AsText(input));
            const auto folder =
                std::make_shared<const MemoryFolder>(std::move(archive.files));
            auto source = folder->Open(archive.target);
            // What is in the parts is for the targets of their formats.
            if (source) OpenAndRead(*source, open, {1, 1});
          }};
}

}  // namespace

void AddContainerTargets(std::vector<Target>& targets) {
  for (const Format* format : Formats()) {
    const std::string name(format->name);
    targets.push_back(FileTarget(name, format->open));
    if (format->traits.opens_neighbours || format->reads_directories()) {
      targets.push_back(FolderTarget(name, format->open));
    }
  }
  // The probes, and who takes what resembles a container.
  targets.push_back(FileTarget("any", &OpenContainer));
}

}  // namespace ctxfs::fuzz

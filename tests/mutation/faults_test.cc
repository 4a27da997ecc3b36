// SPDX-License-Identifier: Apache-2.0
//
// The store, and the heap, fail at the Nth call, for every N of opening,
// listing and reading a container: nothing crashes, nothing false is served,
// and what failed once works the next time.
#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <new>
#include <optional>

#include "core/container/complete.h"
#include "core/content/content.h"
#include "core/tree/container_tree.h"
#include "tests/mutation/judge.h"
#include "tests/unit/testing/heap.h"

namespace ctxfs {
namespace {

enum class Fault { kIo, kStale, kShort, kLie };

/// Does harm at one call, counted from 0.
class OneFault final : public Tamper {
 public:
  OneFault(Fault fault, uint64_t at) : fault_(fault), at_(at) {}

  Status OnRead(uint64_t /*offset*/, MutableBytes out) override {
    if (calls_++ != at_) return {};
    fired_ = true;
    if (fault_ == Fault::kIo) return Failed();
    if (fault_ == Fault::kLie) {
      if (!out.empty()) out[out.size() / 2] ^= std::byte{0x10};
      return {};
    }
    if (fault_ == Fault::kShort) {
      // What is left of the buffer is whatever was in it.
      std::fill(out.begin() + static_cast<ptrdiff_t>(out.size() / 2), out.end(),
                std::byte{0xEE});
    }
    return Error{Code::kStale, "changed on demand"};
  }
  Status OnCheck() override { return Fail(); }
  Status OnOpen() override {
    Status fault = Fail();
    at_open_ = at_open_ || !fault;
    return fault;
  }

  bool fired() const { return fired_; }
  /// Whether it was a file that could not be opened: that may well be for good.
  bool at_open() const { return at_open_; }

 private:
  Status Fail() {
    if (fault_ == Fault::kLie || calls_++ != at_) return {};
    fired_ = true;
    if (fault_ == Fault::kIo) return Failed();
    return Error{Code::kStale, "changed on demand"};
  }
  static Error Failed() {
    return {Code::kIo, "fails on demand", kNoOffset, EIO};
  }

  Fault fault_;
  uint64_t at_;
  uint64_t calls_ = 0;
  bool fired_ = false;
  bool at_open_ = false;
};

struct Seen {
  std::optional<std::string> bytes;  // nothing for what could not be read
  EntryInfo info;
  bool covered = false;
  bool trusted = false;  // its checksum had matched before
};

void ReadTree(const ContainerTree& container_tree, BlockCache& cache,
              const std::string& prefix, int depth,
              std::map<std::string, Seen>& files) {
  for (NodeId node = 0; node < container_tree.tree().node_count(); ++node) {
    if (container_tree.IsDirectory(node)) continue;
    const std::string path = prefix + container_tree.Path(node);
    const Result<bool> exists =
        container_tree.Exists(node, Cost::kDecode, cache);
    if (exists && !*exists) continue;
    Seen& seen = files[path];
    const std::optional<EntryInfo> info =
        container_tree.Describe(node, LoneContext());
    seen.covered = info && IsCovered(*info);
    if (seen.covered) seen.info = *info;
    const Result<uint64_t> size = container_tree.Size(node, cache);
    const Result<Content> content = container_tree.Open(node, cache);
    if (!exists || !size || !content) continue;
    seen.trusted =
        seen.covered &&
        container_tree.Describe(node, LoneContext())->verified == "yes";
    Result<std::string> bytes = ReadAll(*content, cache);
    if (bytes) seen.bytes = std::move(*bytes);
  }
  if (depth == 0) return;
  for (const ChildContainer& within : container_tree.sub_containers()) {
    if (!within.open_source) continue;  // has no bytes of its own
    auto source = within.open_source(cache);
    if (!source) continue;
    auto container = OpenContainer(std::move(*source), StrictOptions());
    if (!container) continue;
    const ContainerTree inner(std::move(*container));
    ReadTree(inner, cache, prefix + within.path + "/", depth - 1, files);
  }
}

class Faults : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    golden_ = FindGolden(GetParam());
    ASSERT_TRUE(golden_) << "no golden container " << GetParam();
  }

  /// Everything, read from the store that `tamper` makes; twice, as the same
  /// container, into `again` if that is wanted.
  std::map<std::string, Seen> ReadEverything(
      std::shared_ptr<Tamper> tamper,
      std::map<std::string, Seen>* again) const {
    std::map<std::string, Seen> files;
    const auto folder =
        std::make_shared<const MemoryFolder>(golden_->files, std::move(tamper));
    auto source = folder->Open(golden_->target);
    if (!source) return files;
    auto container = OpenContainer(std::move(*source), StrictOptions());
    if (!container) return files;
    const ContainerTree container_tree(std::move(*container));
    BlockCache cache(kCacheBytes);
    ReadTree(container_tree, cache, "", 1, files);
    if (again != nullptr) ReadTree(container_tree, cache, "", 1, *again);
    return files;
  }

  /// Whether the file tells of the container what was found out at open, the
  /// faults of its store among it, and not bytes of it alone.
  static bool IsAccount(const std::string& path) {
    if (path.ends_with("tree.json")) return true;
    const size_t about = path.rfind(".ctxfs/");
    if (about == std::string::npos) return false;
    const std::string name = path.substr(about + std::strlen(".ctxfs/"));
    return !name.starts_with("raw/") && name != "model.json" &&
           name != "dataset.json" && name != "summary.json";
  }

  std::optional<GoldenCase> golden_;
};

TEST_P(Faults, OfTheStore) {
  const auto right = ReadEverything(nullptr, nullptr);
  ASSERT_FALSE(right.empty());
  const Reference reference = MakeReference({*golden_});
  for (const Fault fault :
       {Fault::kIo, Fault::kStale, Fault::kShort, Fault::kLie}) {
    uint64_t n = 0;
    while (true) {
      SCOPED_TRACE("fault " + std::to_string(static_cast<int>(fault)) +
                   " at call " + std::to_string(n));
      const auto one = std::make_shared<OneFault>(fault, n);
      std::map<std::string, Seen> again;
      const auto files = ReadEverything(one, &again);
      if (!one->fired()) break;
      for (const auto& seen : {files, again}) {
        for (const auto& [path, file] : seen) {
          const auto truth = right.find(path);
          if (!file.bytes || truth == right.end() || IsAccount(path)) continue;
          if (fault == Fault::kLie) {
            // What was verified once is believed from then on.
            if (!file.covered || file.trusted) continue;
            ASSERT_TRUE(reference.Holds(file.info, *file.bytes))
                << path << " of " << file.bytes->size() << " bytes, "
                << file.info.codec << ", " << file.info.checksum;
            continue;
          }
          ASSERT_TRUE(truth->second.bytes) << path << " is not to be read";
          ASSERT_EQ(*file.bytes, *truth->second.bytes) << path;
        }
      }
      // An I/O error is tried again: the second reading has all that the first
      // has opened.
      if (fault == Fault::kIo && !one->at_open()) {
        for (const auto& [path, file] : again) {
          const auto truth = right.find(path);
          if (truth == right.end() || !truth->second.bytes) continue;
          const auto first = files.find(path);
          if (first == files.end() || first->second.bytes) continue;
          EXPECT_TRUE(file.bytes) << path << " stays unreadable";
        }
      }
      ++n;
      ASSERT_LT(n, 100'000U);
    }
    EXPECT_GT(n, 2U);
    std::printf("%s: fault %d at each of %llu calls\n", GetParam(),
                static_cast<int>(fault), static_cast<unsigned long long>(n));
  }
}

/// Whether the JSON library is allocating. nlohmann/json 3.11.2 does not
/// survive being refused: its destructor allocates, and an object that could
/// not be made is a null pointer (docs/robustness.md, section 3).
uint64_t g_spared = 0;
bool InJsonLibrary() {
  void* frames[12];
  const int depth = ::backtrace(frames, 12);
  for (int i = 0; i < depth; ++i) {
    Dl_info symbol{};
    if (::dladdr(frames[i], &symbol) == 0 || symbol.dli_sname == nullptr) {
      continue;
    }
    if (std::string_view(symbol.dli_sname).find("basic_json") !=
        std::string_view::npos) {
      ++g_spared;
      return true;
    }
  }
  return false;
}

// Each allocation up to kEvery, and then ever fewer of them.
TEST_P(Faults, OfTheHeap) {
  const auto run = [&] {
    const auto folder = std::make_shared<const MemoryFolder>(golden_->files);
    Tally tally;
    ReadThrough(
        folder->Open(golden_->target), StrictOptions(), nullptr,
        [](const std::string&) {}, tally);
    return tally;
  };
  // Whether the nth allocation was reached; it failed.
  const auto fail = [&](int64_t n, uint64_t most_files) {
    try {
      const FailingNew failing(n, &InJsonLibrary);
      const Tally tally = run();
      EXPECT_LE(tally.files, most_files);
      return failing.fired();
    } catch (const std::bad_alloc&) {
      return true;
    }
  };
  const Tally right = run();
  ASSERT_EQ(right.opened, 1U);
  g_spared = 0;
  int64_t tried = 0;
  constexpr int64_t kEvery = 400;
  for (int64_t n = 0;; n += 1 + std::max<int64_t>(0, n - kEvery) / 40) {
    if (!fail(n, right.files)) break;
    ++tried;
  }
  EXPECT_EQ(run().files, right.files);
  EXPECT_GT(tried, 50);
  EXPECT_LT(g_spared, static_cast<uint64_t>(tried));
  std::printf("%s: %lld allocations failed, %llu in the JSON library spared\n",
              GetParam(), static_cast<long long>(tried),
              static_cast<unsigned long long>(g_spared));
}

/// A container of several files: the folder in golden/, and the file that names
/// the others.
struct Whole {
  const char* folder;
  const char* file;
};

class FilesBeside : public testing::TestWithParam<Whole> {};

TEST_P(FilesBeside, Item43_1_AreNotMissingAfterAPassingError) {
  const MemoryFolder::Bytes files = FilesOf(GetParam().folder);
  const auto open = [&](std::shared_ptr<Tamper> tamper)
      -> Result<std::shared_ptr<const Container>> {
    const auto folder =
        std::make_shared<const MemoryFolder>(files, std::move(tamper));
    return OpenContainer(CTXFS_TRY(folder->Open(GetParam().file)),
                         StrictOptions());
  };
  const auto sound = open(nullptr);
  ASSERT_TRUE(sound);
  ASSERT_TRUE(CheckComplete(**sound, LoneContext()));
  uint64_t n = 0;
  for (;; ++n) {
    SCOPED_TRACE("call " + std::to_string(n));
    ASSERT_LT(n, 100'000U);
    const auto one = std::make_shared<OneFault>(Fault::kIo, n);
    const auto made = open(one);
    if (!made) {
      ASSERT_TRUE(one->fired());
      EXPECT_TRUE(made.error().Passing()) << made.error().Text();
      continue;
    }
    (void)CheckComplete(**made, LoneContext());  // may meet the error
    EXPECT_TRUE(CheckComplete(**made, LoneContext()));
    EXPECT_EQ((*made)->StoredSize(), (*sound)->StoredSize());
    EXPECT_EQ((*made)->warnings().size(), (*sound)->warnings().size());
    if (!one->fired()) break;
  }
  EXPECT_GT(n, 2U);
}

INSTANTIATE_TEST_SUITE_P(
    Golden, FilesBeside,
    testing::Values(Whole{"safetensors/sharded",
                          "model.safetensors.index.json"},
                    Whole{"gguf/split", "tiny-00001-of-00003.gguf"},
                    Whole{"torch-distributed/sound", ".metadata"},
                    Whole{"mds/shards", "index.json"},
                    Whole{"wshard/chunked", "ep_long_manifest.wshard"},
                    Whole{"shard-profiles", "model.manifest"}),
    [](const auto& instance) {
      std::string name = instance.param.folder;
      std::ranges::replace_if(
          name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

INSTANTIATE_TEST_SUITE_P(
    Golden, Faults,
    testing::Values(
        "shard/comp_mixed.shard", "wshard/mixed_codecs.wshard",
        "wshard/stream/py_150_interleaved.wshard", "conventions/encrypted.mosh",
        "conventions/tiles.gemm", "conventions/json.tshard",
        "shard-profiles/golden_inputs.smpl",
        "shard-profiles/one_row_groups.cshard", "shard-profiles/model.manifest",
        "shard-profiles/role6.umsh", "mcf/basic.mcf", "mcf/q4_no_records.mcf",
        "cvc/v1_mixed.cvc", "cvc/v2_mixed.cvc", "mem8/full.mem8",
        "mem8/archive.m8a", "megacontext/snapshots"),
    [](const auto& instance) {
      std::string name = instance.param;
      std::replace_if(
          name.begin(), name.end(),
          [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

}  // namespace
}  // namespace ctxfs

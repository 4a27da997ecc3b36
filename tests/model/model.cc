// SPDX-License-Identifier: Apache-2.0
//
// Model-based test of core/vfs. Changes a source directory and uses a Namespace
// over it, both at random, and compares every answer with a model of what the
// directory holds and held.
//
//   model [--steps N] [--seed N] [--threads N] [--dir DIR] [--trace]
//         [--tame]
//
// Each thread has a directory, a model and a sequence of its own; they share
// the namespace and its cache. The same seed makes the same sequence. After a
// wrong answer the last steps are printed, and the command that repeats them.
// --tame: no file gets other bytes with its old size and time.
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/vfs/log.h"
#include "core/vfs/mirror/system_directory.h"
#include "core/vfs/namespace.h"
#include "core/views/list/views.h"
#include "core/views/view.h"
#include "tests/model/kernel.h"
#include "tests/model/samples.h"
#include "tests/model/world.h"
#include "tests/mutation/corpus.h"

namespace ctxfs::model {
namespace {

namespace stdfs = std::filesystem;

constexpr size_t kRemembered = 60;  // steps that are printed
constexpr uint64_t kCacheBytes = 256 << 10;

struct Options {
  uint64_t seed = 1;
  uint64_t steps = 100'000;  // of all threads together
  unsigned threads = 1;
  std::string directory = "/tmp";
  bool trace = false;
  bool tame = false;
};

size_t OpenDescriptors() {
  const stdfs::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

/// One thread's part of a run.
class Player {
 public:
  Player(Namespace& files, BlockCache& cache, const std::string& directory,
         Inode root, const Samples& samples, uint64_t seed,
         const Options& options)
      : random_(seed),
        world_(directory, samples, seed + 1, options.tame,
               options.threads == 1),
        kernel_(files, cache, world_, root, seed + 2),
        trace_(options.trace) {}

  /// Whether every answer was right.
  bool Play(uint64_t steps) {
    for (step_ = 0; step_ < steps && !kernel_.complaint(); ++step_) PlayOne();
    if (kernel_.complaint()) return false;
    kernel_.DropAll();
    return true;
  }

  void PrintFailure() const {
    for (const std::string& line : last_) std::printf("%s\n", line.c_str());
    std::printf("WRONG: %s\n", kernel_.complaint()->c_str());
  }

  uint64_t steps() const { return step_; }
  uint64_t changes() const { return world_.changes(); }
  const Kernel& kernel() const { return kernel_; }

 private:
  void PlayOne() {
    std::string what;
    if (random_.OneIn(15)) {
      what = world_.Mutate();
      kernel_.ObserveChange();
    } else if (random_.OneIn(3000)) {
      what = "drop all";
      kernel_.DropAll();
    } else {
      what = kernel_.Step();
    }
    what = std::to_string(step_) + ": " + what;
    if (trace_) std::printf("%s\n", what.c_str());
    last_.push_back(std::move(what));
    if (last_.size() > kRemembered) last_.pop_front();
  }

  Random random_;
  World world_;
  Kernel kernel_;
  const bool trace_;
  uint64_t step_ = 0;
  std::deque<std::string> last_;
};

std::vector<ChildContainer> AllViewsOf(
    const std::shared_ptr<const Container>& container) {
  return AttachedViews(container, AllViews());
}

/// As a mount opens containers.
OpenOptions MountOptions() {
  OpenOptions options = StrictOptions();
  options.watch_ctime = true;
  return options;
}

class Run {
 public:
  Run(const Options& options, const std::string& folder)
      : options_(options),
        source_(folder + "/source"),
        samples_(MakeFolder(folder + "/samples")),
        cache_(kCacheBytes),
        files_({.mirror = std::make_unique<Mirror>(
                    std::make_unique<SystemDirectory>(
                        MakeFolder(source_), SystemDirectory::Options{}),
                    Mirror::Options{}),
                .open = MountOptions(),
                .list_mode = ListMode::kAll,
                .extras = &AllViewsOf}) {
    for (unsigned i = 0; i < options.threads; ++i) {
      const std::string name = "t" + std::to_string(i);
      const std::string directory = MakeFolder(source_ + "/" + name);
      const auto found = files_.Lookup(kRootInode, name, ReadContext(cache_));
      if (!found || !*found) std::abort();
      players_.push_back(std::make_unique<Player>(files_, cache_, directory,
                                                  (*found)->inode, samples_,
                                                  SeedOf(i), options));
    }
  }

  int Play() {
    std::printf("seed %" PRIu64
                ", %u threads, %zu samples, %zu of them "
                "containers\n",
                options_.seed, options_.threads, samples_.count(),
                samples_.container_count());
    const size_t before = OpenDescriptors();
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (auto& player : players_) {
      threads.emplace_back([&] {
        if (!player->Play(options_.steps / options_.threads)) ++wrong;
      });
    }
    for (std::thread& thread : threads) thread.join();
    Print();
    if (wrong != 0) return 1;
    return CheckNothingIsKept(before) ? 0 : 1;
  }

 private:
  static std::string MakeFolder(std::string path) {
    stdfs::create_directories(path);
    return path;
  }

  uint64_t SeedOf(size_t thread) const {
    return options_.seed + thread * 1'000'003;
  }

  void Print() const {
    std::map<std::string, uint64_t> counts;
    uint64_t steps = 0;
    uint64_t changes = 0;
    for (size_t i = 0; i < players_.size(); ++i) {
      const auto& player = players_[i];
      steps += player->steps();
      changes += player->changes();
      for (const auto& [what, count] : player->kernel().counts()) {
        counts[what] += count;
      }
      if (!player->kernel().complaint()) continue;
      player->PrintFailure();
      std::printf("repeat: model --seed %" PRIu64 " --steps %" PRIu64 "\n",
                  SeedOf(i), player->steps() + 1);
    }
    std::printf("%" PRIu64 " steps, %" PRIu64 " of them changes\n", steps,
                changes);
    for (const auto& [what, count] : counts) {
      std::printf("%10" PRIu64 " %s\n", count, what.c_str());
    }
  }

  // When everything is forgotten, nothing may be kept open.
  bool CheckNothingIsKept(size_t descriptors_before) const {
    const uint64_t containers = files_.Totals().containers;
    const size_t descriptors = OpenDescriptors();
    if (containers == 0 && descriptors == descriptors_before) return true;
    std::printf("WRONG: after forgetting everything %" PRIu64
                " containers and %zu descriptors are open, %zu at the start\n",
                containers, descriptors, descriptors_before);
    return false;
  }

  const Options options_;
  const std::string source_;
  const Samples samples_;
  BlockCache cache_;
  Namespace files_;
  std::vector<std::unique_ptr<Player>> players_;
};

bool Parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--trace") {
      options.trace = true;
      continue;
    }
    if (name == "--tame") {
      options.tame = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const char* value = argv[++i];
    const uint64_t number = std::strtoull(value, nullptr, 10);
    if (name == "--seed") {
      options.seed = number;
    } else if (name == "--steps") {
      options.steps = number;
    } else if (name == "--threads" && number > 0) {
      options.threads = static_cast<unsigned>(number);
    } else if (name == "--dir") {
      options.directory = value;
    } else {
      return false;
    }
  }
  return true;
}

int Main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: model [--steps N] [--seed N] [--threads N] "
                 "[--dir DIR] [--trace] [--tame]\n");
    return 2;
  }
  std::string folder = options.directory + "/ctxfs_model_XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    std::perror(folder.c_str());
    return 2;
  }
  // Damaged containers are no news here; errors are.
  SetLogLevel(LogLevel::kError);
  const int result = Run(options, folder).Play();
  std::error_code ignored;
  stdfs::remove_all(folder, ignored);
  return result;
}

}  // namespace
}  // namespace ctxfs::model

int main(int argc, char** argv) { return ctxfs::model::Main(argc, argv); }

// SPDX-License-Identifier: Apache-2.0
//
// Opens, lists and reads damaged variants of the golden containers, as they
// are, salvaged, and unverified. None may crash, take 5 seconds, or more memory
// than the cache and 256 MB; what a checksum covers is right or not served.
//
//   mutation [--seed N] [--count N] [--seconds N] [--jobs N] [--corpus NAME]
//            [--only N [--save FILE]]
//
// --count is of each corpus, --seconds for all of them together.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/sanitized.h"
#include "tests/mutation/judge.h"
#include "tests/mutation/mutator.h"
#include "tests/mutation/peak.h"

namespace ctxfs {
namespace {

constexpr double kMaxSeconds = CTXFS_SANITIZED ? 100 : 5;
constexpr uint64_t kMaxMemory = kCacheBytes + 256'000'000;

struct Options {
  uint64_t seed = 1;
  uint64_t count = 2000;
  double seconds = 1e9;
  unsigned jobs = 2;
  std::string corpus;
  std::optional<uint64_t> only;
  std::string save;
};

/// What a worker tells, in memory that outlives it.
struct Lane {
  std::atomic<uint64_t> number;  // of the variant it is at
  std::atomic<int64_t> cpu_ns;   // its processor time when it began with that
  std::atomic<uint64_t> done;
  Tally tally;
  uint64_t by_damage[kDamages];
  uint64_t peak;      // bytes, of the hungriest variant
  double slowest;     // seconds of processor time
  uint64_t findings;  // wrong bytes, too much memory
};

int64_t CpuNs(clockid_t clock) {
  struct timespec now {};
  if (clock_gettime(clock, &now) != 0) return 0;
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

class Run {
 public:
  Run(const Options& options, const std::string& corpus)
      : options_(options),
        corpus_(corpus),
        cases_(LoadCorpus(corpus)),
        reference_(MakeReference(cases_)),
        mutator_(cases_, options.seed) {}

  bool empty() const { return cases_.empty(); }

  void ReadOne(uint64_t number, Lane& lane) const {
    const Variant variant = mutator_.Make(number);
    ++lane.by_damage[static_cast<int>(variant.damage)];
    const char* mode = "";
    const auto say = [&](const std::string& what) {
      std::printf("%s %" PRIu64 " (%s, %s of %s%s): %s\n", corpus_.c_str(),
                  number, variant.golden->name.c_str(),
                  DamageName(variant.damage), variant.damaged.c_str(), mode,
                  what.c_str());
      ++lane.findings;
    };
    const auto folder = std::make_shared<const MemoryFolder>(variant.files);
    OpenOptions salvage = StrictOptions();
    salvage.salvage = true;
    OpenOptions unverified = salvage;
    unverified.verify = false;
    Tally unused;
    ReadThrough(folder->Open(variant.golden->target), StrictOptions(),
                &reference_, say, lane.tally);
    const Tally strict = lane.tally;
    mode = ", salvaged";
    ReadThrough(folder->Open(variant.golden->target), salvage, &reference_, say,
                lane.tally);
    lane.tally.opened = strict.opened;  // counted once, as it is
    lane.tally.refused = strict.refused;
    ReadThrough(folder->Open(variant.golden->target), unverified, nullptr, say,
                unused);
    const uint64_t peak = PeakBytes();
    lane.peak = std::max(lane.peak, peak);
    if (!CTXFS_SANITIZED && peak > kMaxMemory) {
      say("took " + std::to_string(peak / limits::kMiB) + " MiB");
    }
    ForgetPeak();
  }

  void Save(uint64_t number, const std::string& path) const {
    const Variant variant = mutator_.Make(number);
    std::ofstream(path, std::ios::binary) << *variant.files.at(variant.damaged);
    std::printf("%s of %s\n", variant.damaged.c_str(),
                variant.golden->name.c_str());
  }

  /// A worker's life: every `jobs`th variant from `from` on.
  void Work(uint64_t from, double seconds, Lane& lane) const {
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::duration<double>(seconds);
    for (uint64_t n = from; n < options_.count; n += options_.jobs) {
      if (std::chrono::steady_clock::now() > end) break;
      const int64_t begun = CpuNs(CLOCK_PROCESS_CPUTIME_ID);
      lane.cpu_ns = begun;
      lane.number = n;
      ReadOne(n, lane);
      lane.slowest = std::max(
          lane.slowest,
          1e-9 * static_cast<double>(CpuNs(CLOCK_PROCESS_CPUTIME_ID) - begun));
      ++lane.done;
    }
    std::fflush(nullptr);
    ::_exit(0);
  }

  /// Starts a worker, and another in its place when it dies. Returns findings.
  uint64_t Watch(unsigned job, double seconds, Lane& lane) const {
    const auto begun = std::chrono::steady_clock::now();
    uint64_t findings = 0;
    for (uint64_t from = job; from < options_.count;) {
      const std::chrono::duration<double> spent =
          std::chrono::steady_clock::now() - begun;
      if (spent.count() > seconds) break;
      std::fflush(nullptr);
      lane.number = from;
      lane.cpu_ns = 0;
      const pid_t child = ::fork();
      if (child == 0) Work(from, seconds - spent.count(), lane);
      bool hung = false;
      const int status = Await(child, lane, hung);
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
      ++findings;
      std::printf("%s %" PRIu64 ": %s\n", corpus_.c_str(), lane.number.load(),
                  hung ? "took too long"
                       : ("died of " + std::to_string(status)).c_str());
      from = lane.number + options_.jobs;
    }
    return findings + lane.findings;
  }

 private:
  static int Await(pid_t child, const Lane& lane, bool& hung) {
    clockid_t clock{};
    const bool known = clock_getcpuclockid(child, &clock) == 0;
    while (true) {
      int status = 0;
      const pid_t ended = ::waitpid(child, &status, WNOHANG);
      if (ended == child) return status;
      const double spent =
          1e-9 * static_cast<double>(CpuNs(clock) - lane.cpu_ns);
      if (known && !hung && lane.cpu_ns != 0 && spent > kMaxSeconds) {
        hung = true;
        ::kill(child, SIGKILL);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  const Options& options_;
  std::string corpus_;
  std::vector<GoldenCase> cases_;
  Reference reference_;
  Mutator mutator_;
};

Lane* NewLanes(unsigned count) {
  void* memory = ::mmap(nullptr, count * sizeof(Lane), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return new (memory) Lane[count]{};
}

void Print(const std::string& corpus, unsigned jobs, const Lane* lanes,
           uint64_t findings) {
  Tally sum;
  uint64_t done = 0;
  uint64_t peak = 0;
  double slowest = 0;
  for (unsigned i = 0; i < jobs; ++i) {
    const Tally& tally = lanes[i].tally;
    done += lanes[i].done;
    sum.refused += tally.refused;
    sum.opened += tally.opened;
    sum.files += tally.files;
    sum.failed += tally.failed;
    sum.skipped += tally.skipped;
    sum.equal += tally.equal;
    sum.caught += tally.caught;
    sum.uncovered += tally.uncovered;
    sum.wrong += tally.wrong;
    peak = std::max(peak, lanes[i].peak);
    slowest = std::max(slowest, lanes[i].slowest);
  }
  std::printf("| %s | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %" PRIu64
              " | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %" PRIu64
              " | %" PRIu64 " | %.2f | %" PRIu64 " | %" PRIu64 " |\n",
              corpus.c_str(), done, sum.refused, sum.opened, sum.files,
              sum.failed, sum.equal, sum.caught, sum.uncovered, sum.wrong,
              slowest, peak / limits::kMiB, findings);
  std::fflush(stdout);
}

uint64_t RunCorpus(const Options& options, const std::string& corpus,
                   double seconds) {
  const Run run(options, corpus);
  if (run.empty()) {
    std::fprintf(stderr, "no corpus '%s'\n", corpus.c_str());
    return 1;
  }
  Lane* lanes = NewLanes(options.jobs);
  if (options.only) {
    if (!options.save.empty()) run.Save(*options.only, options.save);
    run.ReadOne(*options.only, lanes[0]);
    ++lanes[0].done;
    Print(corpus, 1, lanes, lanes[0].findings);
    return lanes[0].findings;
  }
  std::atomic<uint64_t> findings = 0;
  std::vector<std::thread> watchers;
  for (unsigned i = 0; i < options.jobs; ++i) {
    watchers.emplace_back(
        [&, i] { findings += run.Watch(i, seconds, lanes[i]); });
  }
  for (std::thread& watcher : watchers) watcher.join();
  Print(corpus, options.jobs, lanes, findings);
  return findings;
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const char* value = argv[i + 1];
    const uint64_t number = std::strtoull(value, nullptr, 10);
    if (name == "--seed") options.seed = number;
    if (name == "--count") options.count = number;
    if (name == "--seconds") options.seconds = static_cast<double>(number);
    if (name == "--jobs")
      options.jobs = static_cast<unsigned>(std::max<uint64_t>(number, 1));
    if (name == "--corpus") options.corpus = value;
    if (name == "--only") options.only = number;
    if (name == "--save") options.save = value;
  }
  std::printf(
      "| corpus | variants | refused | opened | files read | failed | right | "
      "caught | uncovered | wrong | slowest (s) | peak (MiB) | findings |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  uint64_t findings = 0;
  for (const std::string& corpus : CorpusNames()) {
    if (!options.corpus.empty() && options.corpus != corpus) continue;
    findings += RunCorpus(
        options, corpus,
        options.seconds / static_cast<double>(options.corpus.empty()
                                                  ? CorpusNames().size()
                                                  : 1));
  }
  return findings == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ctxfs

int main(int argc, char** argv) { return ctxfs::Main(argc, argv); }

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "core/base/errors.h"
#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/container/cut_file.h"
#include "core/io/source.h"
#include "fs/commands/verify/expected_digest.h"

namespace ctxfs {

/// A fault of a file of a container, or of the container itself.
struct Fault {
  std::string path;  // in the container; empty for the container itself
  std::optional<std::string> entry;  // the stored name, if it is an entry
  Error error;
  /// Whether the fault is not one of the bytes: the container does not show a
  /// part of its file.
  bool partial = false;
  /// Whether CheckReport::cut counts it: an entry that is not whole.
  bool of_cut = false;

  /// Whether this is damage, rather than the reason why a file was not checked.
  bool IsDamage() const { return !partial && ctxfs::IsDamage(error); }
};

/// Digests of a file of a container, as hex digits.
struct FileDigest {
  std::string path;  // in the container
  std::string sha256;
  std::string xxh3;
  uint64_t size = 0;
};

/// The digest of a whole file, and the one that it should have.
struct ComparedFile {
  std::string path;
  std::string found;  // empty if the file could not be read
  ExpectedDigest expected;

  bool Matches() const { return found == expected.digest.hex; }
};

/// The outcomes of a check, from best to worst. The outcome of a container is
/// that of its worst fault, both in its report and in the totals.
enum class CheckOutcome : uint8_t {
  kClean,
  kUnverifiable,  // readable, and nothing has a checksum
  kPartial,       // it does not show a part of the file
  kUnchecked,     // something could not be read or opened
  kDamaged,
};

constexpr size_t kCheckOutcomes =
    static_cast<size_t>(CheckOutcome::kDamaged) + 1;

/// The result of checking one container and all containers in it.
struct CheckReport {
  std::string format;  // empty: it could not be opened at all
  uint64_t files = 0;  // read
  uint64_t bytes = 0;
  std::optional<CutFile> cut;
  std::vector<Fault> faults;  // in the order of the tree
  std::vector<std::string> warnings;
  uint64_t verified = 0;    // readable entries whose checksum was compared
  uint64_t unverified = 0;  // readable entries without a checksum
  /// Of each file that could be read, if Checker::Options::digests is set.
  std::vector<FileDigest> digests;
  /// Files besides its own that the container is made from and that are no
  /// containers themselves, if Checker::Options::other_files is set.
  std::vector<SourcePtr> other_files;
  /// The files that were compared with published digests: its own, and those.
  std::vector<ComparedFile> compared;
  /// The compression of the file, if its checksums, which were compared, cover
  /// all of it; else empty.
  std::string verified_by = {};
  /// Whether all of its files are as in a manifest.
  bool as_in_manifest = false;

  CheckOutcome Outcome() const;
  /// "clean", "unverifiable", "partial", "unchecked" or "damaged".
  const char* OutcomeName() const;
  /// How much of it a checksum covers: "all", "some" or "none".
  const char* Verified() const;
  /// Whether digests from outside have verified all of its bytes.
  bool IsAsPublished() const;
  /// Whether they or the checksums of a compression have.
  bool IsVerifiedWhole() const;
};

/// The report of `path` as `ctxfs check --json` prints it.
Json ReportJson(const std::string& path, const CheckReport& report);

/// Prints the report of `path` for people: the first faults and warnings, or
/// with `all` each of them, and a line with the outcome.
void PrintReport(std::FILE* to, const std::string& path,
                 const CheckReport& report, bool all);

/// Prints the faults of `path` and its warnings as notes, without an outcome.
void PrintNotes(std::FILE* to, const std::string& path,
                const CheckReport& report, bool all);

}  // namespace ctxfs

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
  std::string path;                  // in the container; empty: itself
  std::optional<std::string> entry;  // stored name of an entry
  Error error;
  /// Whether the container leaves out a part of its file, which is no fault of
  /// the bytes.
  bool partial = false;
  /// Whether the fault is of an entry that is not whole, which CheckReport::cut
  /// counts.
  bool of_cut = false;

  /// Whether this is damage, not a reason why a file was not checked.
  bool IsDamage() const { return !partial && ctxfs::IsDamage(error); }
};

/// Digests of a file in a container, as hex digits.
struct FileDigest {
  std::string path;  // in the container
  std::string sha256;
  std::string xxh3;
  uint64_t size = 0;
};

/// The digest of a whole file, and the expected one.
struct ComparedFile {
  std::string path;
  std::string found;  // empty: not readable
  ExpectedDigest expected;

  bool Matches() const { return found == expected.digest.hex; }
};

/// The outcomes of a check, from best to worst. A container's outcome is that
/// of its worst fault, in its report and in the totals.
enum class CheckOutcome : uint8_t {
  kClean,
  kUnverifiable,  // readable, but without checksums
  kPartial,       // a part of the file is not shown
  kUnchecked,     // something could not be read or opened
  kDamaged,
};

constexpr size_t kCheckOutcomes =
    static_cast<size_t>(CheckOutcome::kDamaged) + 1;

/// The result of checking a container and all containers in it.
struct CheckReport {
  std::string format;  // empty: could not be opened
  uint64_t files = 0;  // read
  uint64_t bytes = 0;
  std::optional<CutFile> cut;
  std::vector<Fault> faults;  // in the order of the tree
  std::vector<std::string> warnings;
  /// Why a view of the container is left out; empty: none is.
  std::string incomplete = {};
  uint64_t verified = 0;    // readable entries with a verified checksum
  uint64_t unverified = 0;  // readable entries without a checksum
  /// Digests of the readable files, if Checker::Options::digests is set.
  std::vector<FileDigest> digests;
  /// Other files that the container reads and that are no containers, if
  /// Checker::Options::other_files is set.
  std::vector<SourcePtr> other_files;
  /// Files compared with published digests: the container's file and
  /// other_files.
  std::vector<ComparedFile> compared;
  /// The compression of the file if its checksums cover all bytes and were
  /// verified; else empty.
  std::string verified_by = {};
  /// Whether all files are as in a manifest.
  bool as_in_manifest = false;

  CheckOutcome Outcome() const;
  /// Returns "clean", "unverifiable", "partial", "unchecked" or "damaged".
  const char* OutcomeName() const;
  /// Coverage by checksums: "all", "some" or "none".
  const char* Verified() const;
  /// Whether published digests have verified all bytes.
  bool IsAsPublished() const;
  /// Whether published digests or checksums of a compression have verified all
  /// bytes.
  bool IsVerifiedWhole() const;
};

/// The report of `path` as `ctxfs check --json` prints it.
Json ReportJson(const std::string& path, const CheckReport& report);

/// How a report is printed.
struct ReportStyle {
  std::string name;     // of the container in each line
  bool all = false;     // print all faults and warnings, not only the first
  bool quiet = false;   // print no warnings
  bool outcome = true;  // print a line with the outcome
};

/// Prints the report of `path` for people: faults, warnings, and the outcome.
void PrintReport(std::FILE* to, const std::string& path,
                 const CheckReport& report, const ReportStyle& style);

/// Prints the faults and warnings of `path` as notes, without an outcome.
void PrintNotes(std::FILE* to, const std::string& path,
                const CheckReport& report, const ReportStyle& style);

}  // namespace ctxfs

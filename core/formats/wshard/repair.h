// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/content/checksum_guard.h"
#include "core/content/content.h"
#include "core/io/source.h"

namespace ctxfs::wshard {

/// The extent of an uncompressed lane according to the index, bytes.
struct StoredLane {
  uint32_t entry = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
};

/// The true positions of interleaved lanes (docs/formats/wshard.md, section 5).
/// The stream writer stored `interval` steps of each lane in turn. Its index
/// has, for each lane, the offset of the first run and the total size of all
/// runs.
class Interleaving {
 public:
  /// Finds the interleaving that yields exactly the extents `lanes`, which must
  /// be sorted by offset. All lanes have `steps` steps, in a file of
  /// `file_size` bytes. Returns nullopt if there is none.
  static std::optional<Interleaving> Find(const std::vector<StoredLane>& lanes,
                                          uint64_t steps, uint64_t file_size);

  uint64_t interval() const { return interval_; }
  /// All lanes together occupy the bytes [start, end).
  uint64_t start() const { return start_; }
  uint64_t end() const { return start_ + step_ * steps_; }

  struct Run {
    uint64_t offset;  // byte of the file
    uint64_t length;  // bytes up to the end of the run
  };
  /// Returns the position of byte `at` of lane `index`, in the order of Find.
  Run Locate(size_t index, uint64_t at) const;

  /// Returns the index of an entry's lane in the order of Find, if any.
  std::optional<size_t> IndexOf(uint32_t entry) const;
  size_t lane_count() const { return lanes_.size(); }
  uint32_t entry(size_t index) const { return lanes_[index].entry; }

 private:
  struct Place {
    uint32_t entry;
    uint64_t step;    // bytes of a step of this lane
    uint64_t before;  // bytes per step of the lanes before this one
  };

  uint64_t steps_ = 0;
  uint64_t interval_ = 0;
  uint64_t start_ = 0;
  uint64_t step_ = 0;  // bytes per step of all lanes
  std::vector<Place> lanes_;
  std::vector<std::pair<uint32_t, uint32_t>> by_entry_;  // entry, index; sorted
};

/// A lane of an interleaving, assembled from its runs. The checksums cover the
/// extents in the index, which contain bytes of other lanes, so all guards must
/// pass before any lane is served.
class RepairedLane final : public Transform {
 public:
  struct Stored {
    std::shared_ptr<const Source> source;
    std::shared_ptr<const Interleaving> interleaving;
    std::shared_ptr<const std::vector<std::shared_ptr<const ChecksumGuard>>>
        guards;
  };

  RepairedLane(Stored stored, size_t index)
      : stored_(std::move(stored)), index_(index) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override;
  Status Verify(const ReadContext& context) const override;

 private:
  Stored stored_;
  size_t index_;
};

}  // namespace ctxfs::wshard

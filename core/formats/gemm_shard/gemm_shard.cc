// SPDX-License-Identifier: Apache-2.0
//
// GemmShard: Shard role 3. Tiles are tensors, and matrices are assembled from
// them (docs/formats/conventions.md, section 3).
//
//   MATRIX/ROW,COL   a tile: TensorV1, row-major, of two dimensions
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/errors.h"
#include "core/base/limits.h"
#include "core/base/text/whole_number.h"
#include "core/container/file_set.h"
#include "core/container/open.h"
#include "core/content/check_at.h"
#include "core/formats/model_shard/tensor_shard.h"

namespace ctxfs::gemm_shard {
namespace {

/// Maximum number of matrices that are assembled from tiles (section 3).
constexpr size_t kMaxMatrices = 65'536;

/// Row and column of a tile in its matrix, in tiles.
using Place = std::pair<uint32_t, uint32_t>;

/// Parses all of `text` as a decimal number without leading zeros.
std::optional<uint32_t> Number(std::string_view text) {
  if (text.starts_with('0') && text != "0") return std::nullopt;
  return WholeNumber<uint32_t>(text);
}

std::optional<std::pair<std::string_view, Place>> SplitName(
    std::string_view name) {
  const size_t slash = name.rfind('/');
  if (slash == std::string_view::npos || slash == 0) return std::nullopt;
  const std::string_view last = name.substr(slash + 1);
  const size_t comma = last.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const auto row = Number(last.substr(0, comma));
  const auto column = Number(last.substr(comma + 1));
  if (!row || !column) return std::nullopt;
  return std::pair(name.substr(0, slash), Place{*row, *column});
}

/// A complete grid of tiles that fit together.
struct Grid {
  DType dtype = DType::kU8;
  std::string_view type_name;
  std::vector<uint64_t> rows;     // start of each row of tiles, then height
  std::vector<uint64_t> columns;  // start of each column of tiles, then width
  std::vector<uint32_t> entries;  // row by row

  uint64_t height() const { return rows.back(); }
  uint64_t width() const { return columns.back(); }
  uint64_t size() const { return height() * width() * DTypeSize(dtype); }
};

/// A matrix; a window is assembled from the tiles it touches.
class Assembled final : public Transform {
 public:
  Assembled(std::shared_ptr<const model_shard::TensorShard> shard, Grid grid)
      : shard_(std::move(shard)), grid_(std::move(grid)) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    const uint64_t line = grid_.width() * DTypeSize(grid_.dtype);
    const uint64_t end = offset + out.size();
    const auto above =
        std::upper_bound(grid_.rows.begin(), grid_.rows.end(), offset / line);
    for (auto row = static_cast<size_t>(above - grid_.rows.begin()) - 1;
         row + 1 < grid_.rows.size() && grid_.rows[row] * line < end; ++row) {
      for (size_t column = 0; column + 1 < grid_.columns.size(); ++column) {
        CTXFS_TRY(CheckAt(context, column));
        CTXFS_TRY(CopyTile(row, column, offset, out, context));
      }
    }
    return {};
  }

  Status Verify(const ReadContext& context) const override {
    for (const uint32_t entry : grid_.entries) {
      CTXFS_TRY(context.Check());
      const Content tile = CTXFS_TRY(shard_->OpenTensor(entry, context));
      CTXFS_TRY(tile.Verify(context));
    }
    return {};
  }

 private:
  /// Copies the tile's part of the window [offset, offset + out.size()). Reads
  /// all lines of the tile in the window at once.
  Status CopyTile(size_t row, size_t column, uint64_t offset, MutableBytes out,
                  const ReadContext& context) const {
    const uint64_t size = DTypeSize(grid_.dtype);
    const uint64_t line = grid_.width() * size;
    const uint64_t end = offset + out.size();
    const uint64_t left = grid_.columns[column] * size;
    const uint64_t wide = grid_.columns[column + 1] * size - left;
    const uint64_t first = std::max(grid_.rows[row], offset / line);
    const uint64_t last = std::min(grid_.rows[row + 1], (end - 1) / line + 1);
    if (first >= last || wide == 0) return {};

    const size_t tiles = grid_.columns.size() - 1;
    const Content tile = CTXFS_TRY(
        shard_->OpenTensor(grid_.entries[row * tiles + column], context));
    Buffer lines(static_cast<size_t>((last - first) * wide));
    CTXFS_TRY(ReadInto(tile, (first - grid_.rows[row]) * wide, lines.span(),
                       context));
    for (uint64_t y = first; y < last; ++y) {
      const uint64_t start = y * line + left;
      const uint64_t from = std::max(start, offset);
      const uint64_t to = std::min(start + wide, end);
      if (from >= to) continue;
      std::copy_n(lines.data() + (y - first) * wide + (from - start), to - from,
                  out.data() + (from - offset));
    }
    return {};
  }

  std::shared_ptr<const model_shard::TensorShard> shard_;
  Grid grid_;
};

class GemmShard final : public model_shard::TensorShard {
 public:
  using model_shard::TensorShard::TensorShard;

  Status Load(const ReadContext& context) override {
    CTXFS_TRY(model_shard::TensorShard::Load(context));
    for (uint32_t entry = 0; entry < entry_count(); ++entry) {
      CTXFS_TRY(CheckAt(context, entry));
      const auto tile = SplitName(EntryName(entry).value_or(""));
      if (!tile || !MayBeTensor(entry)) continue;
      tiles_[std::string(tile->first)].emplace_back(tile->second, entry);
      if (tiles_.size() <= kMaxMatrices) continue;
      Warn({fmt::format("tiles of more than {} matrices: none is shown",
                        kMaxMatrices)});
      tiles_.clear();
      return {};
    }
    for (auto& [matrix, tiles] : tiles_) Sort(tiles);
    // Only complete grids are matrices: they have a tile at each place. The
    // tiles are sorted, so the last one is in the last row.
    std::erase_if(tiles_, [](const auto& item) {
      uint64_t columns = 0;
      for (const auto& [place, entry] : item.second) {
        columns = std::max<uint64_t>(columns, uint64_t{place.second} + 1);
      }
      const uint64_t rows = uint64_t{item.second.back().first.first} + 1;
      return CheckedMul(rows, columns) != item.second.size();
    });
    return {};
  }

  Tables Files() const override {
    Tables files = model_shard::TensorShard::Files();
    files.push_back(MatrixFiles());
    return files;
  }

  void AddInfo(Json& info, const ReadContext& context) const override {
    model_shard::TensorShard::AddInfo(info, context);
    // Reading a tile's header costs a read anywhere in the file, so only the
    // first few thousand are examined.
    size_t left = limits::kHeadersExamined;
    for (const auto& [name, tiles] : tiles_) {
      if (!context.Check()) break;
      if (tiles.size() > left) continue;
      left -= tiles.size();
      const Result<Grid> grid = AssembleGrid(tiles, context);
      if (grid) continue;
      info["warnings"].push_back(
          Within(name + ": no matrix", grid.error()).Text());
    }
  }

 private:
  using Tiles = std::vector<std::pair<Place, uint32_t>>;  // row by row

  std::shared_ptr<const FileTable> MatrixFiles() const {
    std::vector<std::pair<const std::string*, const Tiles*>> matrices;
    for (const auto& [name, tiles] : tiles_)
      matrices.push_back({&name, &tiles});
    const auto shared = std::make_shared<const decltype(matrices)>(matrices);
    return MakeTable(
        {.placement = {.role = Role::kViews,
                       .directory = "matrices",
                       .exists_cost = Cost::kDecode},
         .count = static_cast<uint32_t>(matrices.size()),
         .path = [shared](uint32_t matrix, std::string& /*scratch*/)
             -> std::string_view { return *(*shared)[matrix].first; },
         .open =
             [this, shared](uint32_t matrix, const ReadContext& context) {
               return OpenMatrix(*(*shared)[matrix].second, context);
             },
         // This reads the headers of all tiles.
         .exists =
             [this, shared](uint32_t matrix, Cost /*most*/,
                            const ReadContext& context) {
               return ExistsIf(
                   AssembleGrid(*(*shared)[matrix].second, context));
             },
         .describe =
             [this, shared](uint32_t matrix, const ReadContext& context) {
               return DescribeMatrix(*(*shared)[matrix].second, context);
             },
         .owner = Share(*this)});
  }

  std::vector<ArrayInfo> Arrays(const ReadContext& context) const override {
    std::vector<ArrayInfo> arrays = model_shard::TensorShard::Arrays(context);
    for (const auto& [name, tiles] : tiles_) {
      if (!context.Check()) break;
      const Result<Grid> grid = AssembleGrid(tiles, context);
      if (!grid) continue;
      arrays.push_back(
          {name,
           grid->dtype,
           {grid->height(), grid->width()},
           [self = Share(*this), &tiles = tiles](const ReadContext& request) {
             return self->OpenMatrix(tiles, request);
           },
           /*opening_reads=*/true});
    }
    return arrays;
  }

  /// Sorts the tiles by place. Of several entries at one place, keeps the
  /// first.
  static void Sort(Tiles& tiles) {
    std::sort(tiles.begin(), tiles.end());
    const auto same = [](const auto& a, const auto& b) {
      return a.first == b.first;
    };
    tiles.erase(std::unique(tiles.begin(), tiles.end(), same), tiles.end());
    tiles.shrink_to_fit();
  }

  /// Reads the headers of the tiles. Fails with kCorrupt if the tiles do not
  /// fit together.
  Result<Grid> AssembleGrid(const Tiles& tiles,
                            const ReadContext& context) const {
    Grid grid;
    grid.rows = {0};
    grid.columns = {0};
    for (const auto& [place, entry] : tiles) {
      CTXFS_TRY(CheckAt(context, grid.entries.size()));
      const model_shard::TensorHeader tile = CTXFS_TRY(Header(entry, context));
      const auto unfit = [this, at = entry](const char* why) {
        return Error{Code::kCorrupt, Label(at) + ": " + why,
                     Record(at).data_offset};
      };
      if (tile.shape.size() != 2) return unfit("not of two dimensions");
      if (grid.entries.empty()) {
        grid.dtype = tile.dtype;
        grid.type_name = tile.type_name;
      }
      if (tile.type_name != grid.type_name) return unfit("of another dtype");
      const auto [row, column] = place;
      if (column == 0) grid.rows.push_back(grid.rows.back() + tile.shape[0]);
      if (row == 0) {
        grid.columns.push_back(grid.columns.back() + tile.shape[1]);
      }
      const auto size_at = [](const std::vector<uint64_t>& ends, uint32_t i) {
        return ends[i + 1] - ends[i];
      };
      if (tile.shape[0] == 0 || tile.shape[1] == 0 ||
          size_at(grid.rows, row) != tile.shape[0] ||
          size_at(grid.columns, column) != tile.shape[1]) {
        return unfit("its shape does not fit the others'");
      }
      grid.entries.push_back(entry);
    }
    // Tiles have one shape; those in the last row and column may be smaller.
    for (const std::vector<uint64_t>* ends : {&grid.rows, &grid.columns}) {
      for (size_t i = 1; i < ends->size(); ++i) {
        const uint64_t size = (*ends)[i] - (*ends)[i - 1];
        const bool last = i + 1 == ends->size();
        if (size > (*ends)[1] || (!last && size != (*ends)[1])) {
          return Error{Code::kCorrupt, "the tiles are of different shapes"};
        }
      }
    }
    return grid;
  }

  Result<Content> OpenMatrix(const Tiles& tiles,
                             const ReadContext& context) const {
    Grid grid = CTXFS_TRY(AssembleGrid(tiles, context));
    const uint64_t size = grid.size();
    return Content(Computed{std::make_shared<const Assembled>(Share(*this),
                                                              std::move(grid))},
                   size);
  }

  EntryInfo DescribeMatrix(const Tiles& tiles,
                           const ReadContext& context) const {
    EntryInfo info;
    info.kind = "matrix";
    info.computed = true;
    info.verified = "none";
    const Result<Grid> grid = AssembleGrid(tiles, context);
    if (!grid) return info;
    info.size = grid->size();
    info.dtype = grid->type_name;
    info.shape = {grid->height(), grid->width()};
    info.note =
        fmt::format("{} tiles, each verified as it is read", tiles.size());
    return info;
  }

  std::map<std::string, Tiles> tiles_;
};

}  // namespace

}  // namespace ctxfs::gemm_shard

namespace ctxfs {

extern const Format kGemmShard{.name = "gemm_shard",
                               .contents = "tiled matrices (GemmShard)",
                               .extensions = "gemm",
                               .golden = "conventions",
                               .docs = "model_shard conventions",
                               .probe = &shard::HasRole<shard::kGemmRole>,
                               .open = &OpenAs<gemm_shard::GemmShard>};

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/dtype.h"
#include "core/base/limits.h"
#include "core/base/text/whole_number.h"
#include "core/formats/cowrie/limits.h"

namespace ctxfs::cowrie {

/// Coding of an array's elements in a cowrie value.
enum class CowrieCoding : uint8_t {
  kPlain,      // as in the array's file
  kBits,       // stored as bits, lowest first; in the file one byte each
  kUvarint,    // i64
  kZigzag,     // i64
  kAdjacency,  // for each node: zigzag id, uvarint count, zigzag neighbours
  kText,       // ids stored apart, in edges: `made` has the file's bytes
};

/// An array in a cowrie value (docs/formats/cowrie.md, section 4).
struct CowrieArray {
  std::string name;
  DType dtype = DType::kI64;
  std::vector<uint64_t> shape;
  CowrieCoding coding = CowrieCoding::kPlain;
  uint64_t offset = 0;  // of the stored bytes, in the file or value
  uint64_t length = 0;  // of the stored bytes
  uint64_t first = 0;   // index of the first element among the decoded numbers
  std::shared_ptr<const std::string> made = nullptr;
};

/// The endpoints of edges, as numbers if all ids are decimal integers. In most
/// graphs they are.
class EdgeIds {
 public:
  void Add(std::string_view from, std::string_view to) {
    Append(from, from_);
    Append(to, to_);
  }
  void Add(int64_t from, int64_t to) {
    Append(from, from_);
    Append(to, to_);
  }
  /// Whether all ids so far were decimal integers of 64 bits.
  bool ok() const { return ok_; }
  uint64_t count() const { return from_.size() / sizeof(int64_t); }
  const std::string& from() const { return from_; }  // i64, little-endian
  const std::string& to() const { return to_; }

 private:
  void Append(std::string_view id, std::string& out) {
    const std::optional<int64_t> number = WholeNumber<int64_t>(id);
    ok_ = ok_ && number;
    if (ok_) Append(*number, out);
  }
  static void Append(int64_t id, std::string& out) {
    std::byte bytes[sizeof(id)];
    StoreLe(static_cast<uint64_t>(id), bytes);
    out += AsText(bytes);
  }

  bool ok_ = true;
  std::string from_;
  std::string to_;
};

/// Collects the arrays of a value during decoding: the value itself if it is an
/// array, and arrays in objects, named after the objects' keys. Arrays in lists
/// have no names and are not collected.
class CowrieArrays {
 public:
  /// A scope in which the value of an object's key, or the values of a list,
  /// are decoded.
  class Below {
   public:
    Below(CowrieArrays& arrays, std::string_view key)
        : arrays_(arrays), length_(arrays.path_.size()) {
      if (!arrays.path_.empty()) arrays.path_ += '/';
      arrays.path_ += key;
    }
    explicit Below(CowrieArrays& arrays)
        : arrays_(arrays), length_(arrays.path_.size()), list_(true) {
      ++arrays.lists_;
    }
    ~Below() {
      arrays_.path_.resize(length_);
      if (list_) --arrays_.lists_;
    }
    Below(const Below&) = delete;
    Below& operator=(const Below&) = delete;

   private:
    CowrieArrays& arrays_;
    size_t length_;
    bool list_ = false;
  };

  /// Adds `array`, named after the keys that lead to it, plus `array.name`
  /// unless it is the only array of its value (`alone`). Without keys, the name
  /// is `array.name`. Ignores arrays in lists, and only counts arrays beyond a
  /// limit.
  void Add(CowrieArray array, bool alone = false) {
    if (lists_ != 0) return;
    if (all_.size() == kMaxArrays || path_.size() > limits::kKiB ||
        !Fits(array)) {
      ++left_out_;
      return;
    }
    if (alone && !path_.empty()) {
      array.name = path_;
    } else if (!path_.empty()) {
      array.name = path_ + "/" + array.name;
    }
    all_.push_back(std::move(array));
  }

  /// Adds the edge index of a list of edges, unless the list is empty or an id
  /// is not a number.
  void AddEdges(const EdgeIds& ids) {
    if (!ids.ok() || ids.count() == 0) return;
    Add({.name = "edge_index",
         .shape = {2, ids.count()},
         .coding = CowrieCoding::kText,
         .made = std::make_shared<const std::string>(ids.from() + ids.to())});
  }

  /// Number of arrays omitted because they exceed a limit.
  uint64_t left_out() const { return left_out_; }
  std::vector<CowrieArray> Take() && { return std::move(all_); }

 private:
  /// Whether the decoded array is at most limits::kDecodedBytes even if every
  /// stored byte is a number.
  static bool Fits(const CowrieArray& array) {
    constexpr uint64_t kMax = limits::kDecodedBytes / sizeof(int64_t);
    const bool decoded = array.coding == CowrieCoding::kUvarint ||
                         array.coding == CowrieCoding::kZigzag ||
                         array.coding == CowrieCoding::kAdjacency;
    return !decoded || array.length <= kMax;
  }

  std::vector<CowrieArray> all_;
  uint64_t left_out_ = 0;
  std::string path_;
  uint64_t lists_ = 0;  // lists around the current value
};

}  // namespace ctxfs::cowrie

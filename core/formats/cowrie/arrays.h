// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/dtype.h"
#include "core/base/limits.h"

namespace ctxfs {

/// How the elements of an array lie in a cowrie value.
enum class CowrieCoding : uint8_t {
  kPlain,      // as in the array's file
  kBits,       // a bit each, lowest first; a byte each in the file
  kUvarint,    // i64
  kZigzag,     // i64
  kAdjacency,  // lists: an id, how many neighbours, the neighbours, zigzag
  kText,       // decimal digits in texts: the file is `made`
};

/// An array in a cowrie value (docs/cowrie.md, section 4).
struct CowrieArray {
  std::string name;
  DType dtype = DType::kI64;
  std::vector<uint64_t> shape;
  CowrieCoding coding = CowrieCoding::kPlain;
  uint64_t offset = 0;  // of what it is coded as
  uint64_t length = 0;  // bytes of that
  uint64_t first = 0;   // element of all that is coded there
  std::shared_ptr<const std::string> made = nullptr;
};

/// Collects the arrays of a value while it is decoded: those that are the value
/// itself or lie in objects, by the objects' keys. What lies in lists has no
/// name.
class CowrieArrays {
 public:
  /// Stays for as long as the values of an object's key, or of a list, last.
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

  /// Keeps `array`, called `array.name` where it is not the only one at its
  /// place, or there is no key.
  void Add(CowrieArray array, bool alone) {
    if (lists_ != 0) return;
    if (all_.size() == limits::kCowrieArrays || path_.size() > limits::kKiB ||
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

  /// Arrays that are over a limit.
  uint64_t left_out() const { return left_out_; }
  std::vector<CowrieArray> Take() && { return std::move(all_); }

 private:
  /// Whether what has to be decoded is no more than is decoded of anything.
  static bool Fits(const CowrieArray& array) {
    constexpr uint64_t kMost = limits::kDecodedBytes / sizeof(int64_t);
    const bool decoded = array.coding == CowrieCoding::kUvarint ||
                         array.coding == CowrieCoding::kZigzag ||
                         array.coding == CowrieCoding::kAdjacency;
    return !decoded || array.length <= kMost;
  }

  std::vector<CowrieArray> all_;
  uint64_t left_out_ = 0;
  std::string path_;
  uint64_t lists_ = 0;  // that the decoder is in
};

/// The ends of edges, as numbers: what ids are in most graphs.
class EdgeIds {
 public:
  void Add(std::string_view from, std::string_view to) {
    Append(from, from_);
    Append(to, to_);
  }
  /// Whether all that was added were integers in decimal.
  bool ok() const { return ok_; }
  uint64_t count() const { return from_.size() / sizeof(int64_t); }
  const std::string& from() const { return from_; }  // i64, little-endian
  const std::string& to() const { return to_; }

 private:
  void Append(std::string_view id, std::string& out) {
    int64_t number = 0;
    const char* end = id.data() + id.size();
    const auto [stop, error] = std::from_chars(id.data(), end, number);
    ok_ = ok_ && error == std::errc() && stop == end;
    if (!ok_) return;
    for (unsigned shift = 0; shift < 64; shift += 8) {
      out += static_cast<char>(static_cast<uint64_t>(number) >> shift & 0xFF);
    }
  }

  bool ok_ = true;
  std::string from_;
  std::string to_;
};

}  // namespace ctxfs

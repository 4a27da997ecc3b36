// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/content/read_context.h"

namespace ctxfs {

class FileTable;

/// A statement of a container about itself.
struct Fact {
  std::string key;   // "context_length"
  Json value;        // a text, a number or a boolean
  std::string unit;  // "tokens"; empty for none
  /// Bytes of the whole text if `value` is truncated; else 0.
  uint64_t length = 0;
};

/// The facts of a container, in display order. Bounded: a container can have
/// megabytes of metadata.
class Facts {
 public:
  static constexpr size_t kMax = 200;
  static constexpr size_t kKeyBytes = 128;
  static constexpr size_t kTextBytes = 512;

  /// Adds a scalar. An object or array becomes its JSON text. Ignores null and
  /// empty texts. Bytes that are not UTF-8 become U+FFFD; numbers that JSON
  /// cannot represent become texts.
  void Add(std::string_view key, const Json& value, std::string_view unit = {});

  /// Adds a text of `length` bytes. `beginning` has at least its first
  /// kTextBytes, or all of it.
  void AddText(std::string_view key, std::string_view beginning,
               uint64_t length);

  /// Adds the member `name` of `object` as `key`, if it exists.
  void AddMember(std::string_view key, const Json& object, const char* name,
                 std::string_view unit = {});

  /// Adds each member of `object` whose name is not in `without`, as PREFIX and
  /// its name.
  void AddMembers(std::string_view prefix, const Json& object,
                  const std::vector<std::string_view>& without = {});

  const std::vector<Fact>& all() const { return all_; }
  bool Has(std::string_view key) const;
  /// Whether further facts are dropped, so that reading them is useless.
  bool full() const { return all_.size() >= kMax; }
  void LeaveOut(uint64_t count) { left_out_ += count; }
  /// Number of facts beyond the first kMax.
  uint64_t left_out() const { return left_out_; }

 private:
  std::vector<Fact> all_;
  uint64_t left_out_ = 0;
};

/// A container with facts. A separate interface, because most users of
/// container.h need no facts.
class SaysFacts {
 public:
  virtual ~SaysFacts() = default;

  /// Adds the container's facts, the identity of its contents first
  /// (docs/commands.md, section 5). May read metadata and short entries. Facts
  /// that were added before a failure are valid.
  virtual Status AddFacts(const ReadContext& context, Facts& facts) const = 0;
};

/// Adds the number of elements of all array entries, and of those of each
/// dtype, as "parameters" and "parameters.DTYPE". Beyond 40 dtypes, further
/// ones count as "other".
Status AddParameters(const FileTable& entries, const ReadContext& context,
                     Facts& facts);

/// Adds dtype and shape of each array entry, as "array.NAME". Once `facts` is
/// full, further entries only count as left out.
Status AddArrays(const FileTable& entries, const ReadContext& context,
                 Facts& facts);

/// "f32 [2, 3]".
std::string ArrayText(std::string_view dtype,
                      const std::vector<uint64_t>& shape);

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json/json_writer.h"
#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/formats/torch/dict_entries.h"
#include "core/formats/torch/objects.h"
#include "core/formats/torch/pickle.h"
#include "core/formats/torch/places.h"
#include "core/formats/torch/value.h"
#include "core/formats/torch/walk_budget.h"

namespace ctxfs::torch {

/// Walks the value of a pickle, either to find its tensors or to write it as
/// JSON (docs/formats/torch.md, sections 8 and 9). One class does both, so that
/// both number tensors alike. The first fault stops the walk.
class ValueWalk {
 public:
  /// Adds tensors to `found`, with `prefix` before their names.
  ValueWalk(const Pickle& pickle, const ReadContext& context,
            std::string prefix, std::vector<FoundTensor>& found)
      : ValueWalk(pickle, context, /*writes=*/false) {
    found_ = &found;
    prefix_ = std::move(prefix);
  }
  /// Writes the value, with tensors as their paths `shown_at`.
  ValueWalk(const Pickle& pickle, const ReadContext& context,
            const TensorPath& shown_at)
      : ValueWalk(pickle, context, /*writes=*/true) {
    shown_at_ = &shown_at;
  }

  Status Walk();
  Result<std::string> TakeText() { return std::move(text_).Take(); }

 private:
  ValueWalk(const Pickle& pickle, const ReadContext& context, bool writes);

  /// A call that is being visited, and its first two arguments.
  struct CallSite {
    NodeId node;
    PlaceId place;
    unsigned depth;
    std::string_view name;  // of the callable
    const Object& object;
    NodeId first;
    NodeId second;
  };

  // value_walk.cc: values and containers. `place` is the value's place, and
  // `depth` the number of containers around it.
  void Value(NodeId node, PlaceId place, unsigned depth);
  void Container(NodeId node, PlaceId place, unsigned depth);
  void Array(uint32_t link, PlaceId place, unsigned depth);
  void Set(uint32_t link, PlaceId place, unsigned depth);
  void Dict(std::vector<Entry> entries, NodeId attributes, PlaceId place,
            unsigned depth);
  void Members(const std::vector<Entry>& entries, PlaceId place,
               unsigned depth);
  void Pairs(const std::vector<Entry>& entries, PlaceId place, unsigned depth);
  bool MayBeMembers(const std::vector<Entry>& entries) const;

  // value_tensors.cc: tensors and storages.
  void Tensor(const TensorId& tensor, PlaceId place, const std::string& part);
  void TensorObject(const TensorId& tensor, PlaceId place,
                    const std::string& part = "");
  void Quantised(const QuantisedId& quantised, PlaceId place, unsigned depth);
  void Sparse(const SparseId& sparse, PlaceId place);
  void Meta(const MetaId& meta);
  void Storage(const StorageId& storage);

  // value_calls.cc: names and calls. A function that returns false has written
  // nothing, because the callable has no known meaning or the arguments do not
  // fit; the call is then opaque.
  void Global(NodeId node);
  void Persistent(NodeId node, PlaceId place, unsigned depth);
  void Call(NodeId node, PlaceId place, unsigned depth);
  bool KnownCall(const CallSite& call);
  bool PlainCall(const CallSite& call);
  bool FirstArgument(const CallSite& call);
  bool OrderedDict(const CallSite& call);
  bool BytesCall(const CallSite& call);
  bool SetCall(const CallSite& call);
  bool Complex(const CallSite& call);
  bool Size(const CallSite& call);
  bool Layout(const CallSite& call);
  bool Device(const CallSite& call);
  void Opaque(const CallSite& call);

  bool writes() const { return shown_at_ != nullptr; }
  bool failed() const { return error_.has_value(); }
  bool IsFull() const { return writes() && !text_.ok(); }
  void Fail(std::string what);
  void FailTooLarge();
  void FailExhausted();
  /// Whether `bytes` more memory is available; otherwise fails the walk.
  bool MayTake(uint64_t bytes = 0);
  /// Whether another value may be visited; otherwise fails the walk.
  bool MayWalk(unsigned depth);

  /// Whether a value needs a place: it is an object, a persistent id, or a
  /// container that is not empty. Most values are plain; skipping their places
  /// saves memory.
  bool HasPlaces(NodeId node) const;
  std::string PathTo(PlaceId place, uint64_t limit);
  /// Writes a reference to a value met before; returns false for any other.
  bool PutReference(NodeId node);
  /// Like PutReference; also records the place of a new value.
  bool Met(NodeId node, PlaceId place);

  // Write pieces of text.
  void PutNamed(const char* key, std::string_view text);  // {"key":"text"}
  void PutBytes(std::string_view bytes);
  void PutIntegers(const std::vector<int64_t>& numbers);

  const Pickle& pickle_;
  const ReadContext& context_;
  std::vector<FoundTensor>* found_ = nullptr;
  std::string prefix_;
  const TensorPath* shown_at_ = nullptr;
  JsonWriter text_;  // accepts text only if writes()
  Places places_;
  std::vector<PlaceId> seen_;  // by node: the place where it was met
  WalkBudget budget_;
  uint64_t name_bytes_ = 0;
  size_t tensors_ = 0;
  std::optional<Error> error_;
};

}  // namespace ctxfs::torch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/container/container.h"

namespace ctxfs {

/// A container whose entries are tensors. A format describes each tensor; this
/// class derives files and exports.
class TensorContainer : public Container {
 public:
  using Container::Container;

  /// Tensors are numbered from 0 to count() - 1, in the order of the index.
  virtual uint32_t count() const = 0;
  virtual std::string_view TensorName(uint32_t tensor) const = 0;
  /// Bytes of the tensor's file; 0 if the tensor cannot be read.
  virtual uint64_t TensorSize(uint32_t tensor) const = 0;
  /// Why the tensor cannot be read; nullopt if it can.
  virtual std::optional<Error> TensorFault(uint32_t tensor) const = 0;
  /// Fails with TensorFault if there is one.
  virtual Result<Content> OpenTensor(uint32_t tensor,
                                     const Request& request) const = 0;
  virtual EntryInfo DescribeTensor(uint32_t tensor) const = 0;
  /// The tensor as an array for views; nullopt if it cannot be read, or if its
  /// type and shape do not define its bytes.
  virtual std::optional<ArrayInfo> ArrayOf(uint32_t tensor) const = 0;
  /// Whether ArrayOf returns an array. A format may override this to avoid the
  /// copy of the name that ArrayOf makes.
  virtual bool IsArray(uint32_t tensor) const {
    return ArrayOf(tensor).has_value();
  }

  /// Bytes of the values of a quantised tensor as float32; nullopt if it is not
  /// quantised, cannot be read, or has no computable values.
  virtual std::optional<uint64_t> ValueBytes(uint32_t /*tensor*/) const {
    return std::nullopt;
  }
  /// The values of a tensor that has ValueBytes.
  virtual Result<Content> OpenValues(uint32_t tensor) const;
  virtual EntryInfo DescribeValues(uint32_t tensor) const;

 protected:
  /// Returns the table of the entries: tensors/NAME.
  std::shared_ptr<const FileTable> TensorFiles() const;
  /// Returns the table of the files views/dequantized/NAME, one for each tensor
  /// that has ValueBytes.
  std::shared_ptr<const FileTable> ValueFiles() const;
  /// Exports every tensor that is an array. Exports::weights returns all
  /// tensors, and fails if one of them is not an array. Empty for more than
  /// limits::kArrayEntries tensors.
  Exports TensorExports() const;
  /// Adds to info.json the number of tensors, the number of unreadable ones,
  /// and the bytes of all. The result is incomplete if `context` is
  /// interrupted.
  void AddTotals(Json& info, const ReadContext& context) const;

 private:
  std::vector<ArrayInfo> Arrays(const ReadContext& context) const;
  /// Fails if a tensor is not an array.
  Status CheckArrays(const ReadContext& context) const;
};

}  // namespace ctxfs

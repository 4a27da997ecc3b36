// SPDX-License-Identifier: Apache-2.0
//
// ONNX models (docs/formats/onnx.md): one message of protobuf, ModelProto.
//
//   08 VERSION        ir_version, always first
//   TAG VALUE ...     further fields. A value is a number, or a length and that
//                     many bytes: a text, or a message of the same form
//   3A LENGTH GRAPH   the graph: nodes, inputs, outputs, and the tensors
//
// The elements of a tensor are in one field of its message as bytes (raw_data),
// in another one by one (float_data, ...), or in a file beside the model.
#include "core/formats/onnx/model.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/formats/onnx/limits.h"
#include "core/formats/onnx/model_json.h"
#include "core/formats/onnx/wire.h"

namespace ctxfs::onnx {

bool IsModelField(uint64_t number, WireType type) {
  constexpr std::string_view kOfBytes("\2\3\4\6\7\10\16\24\31\32", 10);
  if (type == WireType::kVarint) return number == 1 || number == 5;
  return type == WireType::kBytes && number < 0x80 &&
         kOfBytes.find(static_cast<char>(number)) != std::string_view::npos;
}

std::optional<std::vector<uint64_t>> TensorList::shape(uint32_t tensor) const {
  const Record& record = records_[tensor];
  std::vector<uint64_t> shape;
  for (uint64_t i = 0; i < record.rank; ++i) {
    const int64_t dim = dims_[record.dims_at + i];
    if (dim < 0) return std::nullopt;
    shape.push_back(static_cast<uint64_t>(dim));
  }
  return shape;
}

Status TensorList::Add(const std::string& path, const WireRanges& message,
                       Tensor tensor) {
  CTXFS_TRY(HeapAllowance::Admit(message.size() * sizeof(WireRange)));
  CTXFS_TRY(paths_.Add(path));
  Record record;
  record.at = tensor.data.begin;
  record.size = tensor.size;
  record.elements = tensor.elements;
  record.dims_at = dims_.size();
  record.rank = static_cast<uint32_t>(tensor.dims.size());
  record.data_type = static_cast<int32_t>(tensor.data_type);
  record.storage = tensor.storage;
  dims_.insert(dims_.end(), tensor.dims.begin(), tensor.dims.end());
  switch (tensor.storage) {
    case Tensor::Storage::kStored:
      break;
    case Tensor::Storage::kTyped:
    case Tensor::Storage::kStrings: {
      record.at = message.front().begin;
      record.detail = static_cast<uint32_t>(decoded_.size());
      const ElementType& type = *ElementTypeOf(tensor.data_type);
      decoded_.push_back({message, type,
                          ValuesOf(type, tensor.elements).value_or(0),
                          tensor.size});
      break;
    }
    case Tensor::Storage::kExternal:
      record.detail = static_cast<uint32_t>(external_.size());
      external_.push_back(std::move(tensor.external));
      break;
    case Tensor::Storage::kFault:
      record.at = message.empty() ? 0 : message.front().begin;
      record.detail = static_cast<uint32_t>(faults_.size());
      faults_.push_back(std::move(tensor.fault));
      break;
  }
  records_.push_back(record);
  return {};
}

namespace {

Error NoModel(const Error& why) {
  return {Code::kNotContainer, "no_magic: not a model of ONNX: " + why.what,
          why.offset};
}

}  // namespace

/// The parts of a ModelProto to read after its other fields.
struct Model::Parts {
  WireRanges graph;
  WireRanges functions;
};

Model::Model(std::shared_ptr<const Source> source, const OpenOptions& options)
    : Container(source),
      options_(options),
      files_(std::move(source), options.alone) {}

Status Model::Load(const ReadContext& context) {
  Status read = ReadModel(context);
  if (!read && strange_ && read.error().code == Code::kCorrupt) {
    return NoModel(read.error());
  }
  if (!read) {
    const bool salvage =
        options_.salvage && read.error().code == Code::kCorrupt;
    if (!salvage) return read;
    Warn({read.error().what, read.error().offset, Severity::kDamage});
  }
  if (duplicates_ > 0) {
    Warn({fmt::format(
              "duplicate_name: {} tensors have the name of an earlier one",
              duplicates_),
          first_duplicate_});
  }
  seen_ = {};
  return {};
}

Status Model::ReadParts(WireReader& reader, Parts& parts) {
  const uint64_t end = source()->size();
  for (uint64_t at = 0; at < end;) {
    const uint64_t field_at = at;
    const Result<WireField> field = reader.Next(at, end);
    if (!field) {
      // If the faulty field is the graph, the file is a model with a wrong
      // length, not another kind of file.
      uint64_t again = field_at;
      const Result<uint64_t> tag = reader.Varint(again, end);
      const bool graph = tag && *tag == (7U << 3 | 2U);
      if (graph && options_.salvage) {
        // If the graph's length can be read but is too large, salvages the
        // graph up to the end of the file.
        const Result<uint64_t> length = reader.Varint(again, end);
        if (length) Need(CheckedAdd(again, *length).value_or(UINT64_MAX));
        if (length && parts.graph.size() < kMaxRemembered) {
          parts.graph.push_back({again, end});
        }
      }
      if (!parts.graph.empty() || graph ||
          field.error().code != Code::kCorrupt) {
        return field.error();
      }
      return NoModel(field.error());
    }
    if (parts.graph.empty() && !IsModelField(field->number, field->type)) {
      strange_ = true;
    }
    if (field->IsBytes(7) || field->IsBytes(25)) {
      WireRanges& into = field->number == 7 ? parts.graph : parts.functions;
      if (into.size() >= kMaxRemembered) {
        return TooMany(kMaxRemembered, "graphs or functions", field_at);
      }
      into.push_back(field->bytes);
    } else if (Status added = summary_->AddModelField(*field); !added) {
      return added;
    }
  }
  if (!parts.graph.empty()) return {};
  return Error{Code::kNotContainer,
               "no_graph: not a model of ONNX: it has no graph", 0};
}

Status Model::ReadModel(const ReadContext& context) {
  WireReader reader(*source(), context);
  ModelJson summary(reader);
  reader_ = &reader;
  summary_ = &summary;
  Parts parts;
  Status read = ReadParts(reader, parts);
  if (!read && parts.graph.empty()) return read;
  GraphCounts counts;
  // With salvage, the graph's fields and its tensors are read in spite of
  // earlier damage; functions are not. Reports the first damage; an interrupt
  // or I/O error replaces it.
  const auto go_on = [&](auto part) {
    if (!read && (!options_.salvage || read.error().code != Code::kCorrupt)) {
      return;
    }
    Status done = part();
    if (!done && (read || done.error().code != Code::kCorrupt)) {
      read = std::move(done);
    }
  };
  go_on([&] {
    return reader.ForEach(parts.graph, [&](const WireField& field) {
      return summary.AddGraphField(field);
    });
  });
  go_on([&] {
    return GraphReader(reader, this, options_.salvage)
        .ReadGraph(parts.graph, counts);
  });
  for (size_t i = 0; read && i < parts.functions.size(); ++i) {
    GraphCounts own;
    read = GraphReader(reader, nullptr).ReadFunction(parts.functions[i], own);
    if (read) read = summary.AddFunction(parts.functions[i], own);
  }
  ir_version_ = summary.ir_version();
  producer_ = summary.TakeProducer();
  nodes_ = counts.nodes;
  if (auto text = std::move(summary).Text(counts)) {
    json_ = *std::move(text);
  } else {
    Warn({fmt::format(
        "value_too_large: model.json would have more than {} bytes",
        kMaxJson)});
  }
  reader_ = nullptr;
  summary_ = nullptr;
  return read;
}

void Model::NoteDuplicate(TensorUse use, const std::string& path, uint64_t at) {
  // Two paths with equal hashes cause a false warning, which is harmless.
  const uint64_t hash = XXH3_64bits_withSeed(
      path.data(), path.size(), seed_ ^ (use == TensorUse::kConstant ? 1 : 0));
  if (seen_.try_emplace(hash, at).second) return;
  if (duplicates_++ == 0) first_duplicate_ = at;
}

Status Model::MeasureStrings(const WireRanges& message, Tensor& tensor) {
  uint64_t bytes = 0;
  Status read = reader_->ForEach(message, [&](const WireField& field) {
    if (field.IsBytes(static_cast<uint64_t>(TypedField::kString))) {
      bytes += field.bytes.size();
    }
    return Status();
  });
  if (!read) return read;
  if (bytes > kMaxStringBytes - string_bytes_) {
    tensor.storage = Tensor::Storage::kFault;
    tensor.size = 0;
    tensor.fault = fmt::format(
        "the strings of the model take more than {} bytes", kMaxStringBytes);
    return {};
  }
  string_bytes_ += bytes;
  const std::string text = CTXFS_TRY(StringText(*reader_, message));
  tensor.size = text.size();
  return {};
}

Status Model::OnTensor(TensorUse use, const std::string& path,
                       const WireRanges& message, Tensor tensor) {
  const uint64_t at = message.empty() ? 0 : message.front().begin;
  if (initializers_.count() + constants_.count() >= kMaxTensors) {
    return TooMany(kMaxTensors, "tensors", at);
  }
  if (initializers_.path_bytes() + constants_.path_bytes() + path.size() >
      kMaxNameBytes) {
    return TooMany(kMaxNameBytes, "bytes of names", at);
  }
  if (initializers_.dim_count() + constants_.dim_count() + tensor.dims.size() >
      kMaxDims) {
    return TooMany(kMaxDims, "dimensions", at);
  }
  if (tensor.storage == Tensor::Storage::kStrings) {
    CTXFS_TRY(MeasureStrings(message, tensor));
  }
  NoteDuplicate(use, path, at);
  return (use == TensorUse::kConstant ? constants_ : initializers_)
      .Add(path, message, std::move(tensor));
}

Status Model::OnSparse(const std::string& name,
                       const std::vector<int64_t>& dims, int64_t data_type,
                       uint64_t count) {
  return summary_->AddSparse(name, dims, data_type, count);
}

}  // namespace ctxfs::onnx

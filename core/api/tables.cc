// SPDX-License-Identifier: Apache-2.0
//
// Tables by Arrow's C stream interface.
#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "core/api/handles.h"
#include "core/views/tables/arrow_table.h"

using ctxfs::ArrowField;
using ctxfs::ArrowKind;
using ctxfs::ArrowTable;
using ctxfs::Code;
using ctxfs::Error;
using ctxfs::Result;
using ctxfs::ServerWait;
using ctxfs::Status;
using ctxfs::api::CallTree;

namespace ctxfs::api {

/// Releases an ArrowSchema or ArrowArray, unless it was moved away.
template <typename T>
struct Released {
  void operator()(T* made) const {
    if (made->release != nullptr) made->release(made);
    delete made;
  }
};
template <typename T>
using Child = std::unique_ptr<T, Released<T>>;

/// The bytes of all buffers of a batch, aligned as Arrow recommends.
using Body = std::unique_ptr<std::byte, decltype(&std::free)>;

/// private_data of a schema. Its destructor releases the children.
struct SchemaParts {
  std::string format;
  std::string name;
  std::vector<Child<ArrowSchema>> children;
  std::vector<ArrowSchema*> pointers;
};

/// private_data of an array.
struct ArrayParts {
  std::shared_ptr<const Body> body;
  std::vector<const void*> buffers;
  std::vector<Child<ArrowArray>> children;
  std::vector<ArrowArray*> pointers;
};

/// private_data of a stream.
struct StreamParts {
  ArrowTable table;  // without its body
  std::shared_ptr<const Body> body;
  bool done = false;  // the batch was returned
};

namespace {

/// Sets the members that a schema and an array have in common.
template <typename T, typename Parts>
void Finish(T* out, std::unique_ptr<Parts> parts) {
  for (const Child<T>& child : parts->children) {
    parts->pointers.push_back(child.get());
  }
  out->n_children = static_cast<int64_t>(parts->pointers.size());
  out->children = parts->pointers.data();
  out->dictionary = nullptr;
  out->release = [](T* made) {
    delete static_cast<Parts*>(made->private_data);
    made->release = nullptr;
  };
  out->private_data = parts.release();
}

/// The format string of a field's values.
std::string FormatOf(const ArrowField& field) {
  const auto place = [&field] {  // for widths of 8, 16, 32 or 64 bits
    return field.width == 8    ? 0
           : field.width == 16 ? 1
           : field.width == 32 ? 2
                               : 3;
  };
  switch (field.kind) {
    case ArrowKind::kInt:
      return std::string(1, "csil"[place()]);
    case ArrowKind::kUint:
      return std::string(1, "CSIL"[place()]);
    case ArrowKind::kFloat:
      return std::string(1, "?efg"[place()]);
    case ArrowKind::kBool:
      return "b";
    case ArrowKind::kUtf8:
      return field.width == 64 ? "U" : "u";
    case ArrowKind::kBinary:
      return field.width == 64 ? "Z" : "z";
    case ArrowKind::kFixedBinary:
      return fmt::format("w:{}", field.width);
  }
  return "n";
}

void MakeSchema(const std::string& name, std::string format, bool nullable,
                std::vector<Child<ArrowSchema>> children, ArrowSchema* out) {
  auto parts = std::make_unique<SchemaParts>();
  parts->format = std::move(format);
  parts->name = WithoutNul(name);
  parts->children = std::move(children);
  out->format = parts->format.c_str();
  out->name = parts->name.c_str();
  out->metadata = nullptr;
  out->flags = nullable ? ARROW_FLAG_NULLABLE : 0;
  Finish(out, std::move(parts));
}

Child<ArrowSchema> SchemaOf(const ArrowField& field) {
  Child<ArrowSchema> made(new ArrowSchema{});
  if (field.list_size == 0) {
    MakeSchema(field.name, FormatOf(field), field.nullable, {}, made.get());
    return made;
  }
  std::vector<Child<ArrowSchema>> item;
  item.emplace_back(new ArrowSchema{});
  MakeSchema("item", FormatOf(field), false, {}, item.back().get());
  MakeSchema(field.name, fmt::format("+w:{}", field.list_size), field.nullable,
             std::move(item), made.get());
  return made;
}

/// Makes the arrays of a batch, in the order of its fields.
class Arrays {
 public:
  Arrays(const ArrowTable& table, std::shared_ptr<const Body> body)
      : table_(table), body_(std::move(body)) {}

  Child<ArrowArray> Next(const ArrowField& field) {
    if (field.list_size == 0) return Make(BuffersOf(field), {});
    // The node of a list precedes the node of its values, which are never null.
    const size_t list = node_++;
    const std::vector<const void*> buffers = Take(1);
    std::vector<Child<ArrowArray>> values;
    values.push_back(Make(BuffersOf(field), {}));
    return Make(buffers, std::move(values), list);
  }

  /// Makes the array of the batch itself, whose rows are never null.
  void Whole(std::vector<Child<ArrowArray>> columns, ArrowArray* out) const {
    Set(static_cast<int64_t>(table_.rows), 0, {nullptr}, std::move(columns),
        out);
  }

 private:
  std::vector<const void*> BuffersOf(const ArrowField& field) {
    const bool offsets =
        field.kind == ArrowKind::kUtf8 || field.kind == ArrowKind::kBinary;
    return Take(offsets ? 3 : 2);
  }

  /// Returns the next `count` buffers. The first, which has the validity bits,
  /// is null if it is empty.
  std::vector<const void*> Take(size_t count) {
    std::vector<const void*> taken;
    for (size_t i = 0; i < count; ++i) {
      const ctxfs::ArrowBuffer& buffer = table_.buffers[buffer_++];
      const bool none = i == 0 && buffer.length == 0;
      taken.push_back(none ? nullptr : body_->get() + buffer.offset);
    }
    return taken;
  }

  Child<ArrowArray> Make(std::vector<const void*> buffers,
                         std::vector<Child<ArrowArray>> children) {
    return Make(std::move(buffers), std::move(children), node_++);
  }
  Child<ArrowArray> Make(std::vector<const void*> buffers,
                         std::vector<Child<ArrowArray>> children, size_t node) {
    Child<ArrowArray> made(new ArrowArray{});
    Set(table_.nodes[node].length, table_.nodes[node].null_count,
        std::move(buffers), std::move(children), made.get());
    return made;
  }

  void Set(int64_t length, int64_t nulls, std::vector<const void*> buffers,
           std::vector<Child<ArrowArray>> children, ArrowArray* out) const {
    auto parts = std::make_unique<ArrayParts>();
    parts->body = body_;
    parts->buffers = std::move(buffers);
    parts->children = std::move(children);
    out->length = length;
    out->null_count = nulls;
    out->offset = 0;
    out->n_buffers = static_cast<int64_t>(parts->buffers.size());
    out->buffers = parts->buffers.data();
    Finish(out, std::move(parts));
  }

  const ArrowTable& table_;
  const std::shared_ptr<const Body> body_;
  size_t node_ = 0;
  size_t buffer_ = 0;
};

StreamParts& PartsOf(ArrowArrayStream* stream) {
  return *static_cast<StreamParts*>(stream->private_data);
}

int GetSchema(ArrowArrayStream* stream, ArrowSchema* out) noexcept {
  try {
    std::vector<Child<ArrowSchema>> columns;
    for (const ArrowField& field : PartsOf(stream).table.fields) {
      columns.push_back(SchemaOf(field));
    }
    MakeSchema("", "+s", false, std::move(columns), out);
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

int GetNext(ArrowArrayStream* stream, ArrowArray* out) noexcept {
  StreamParts& parts = PartsOf(stream);
  out->release = nullptr;
  if (parts.done) return 0;
  try {
    Arrays arrays(parts.table, parts.body);
    std::vector<Child<ArrowArray>> columns;
    for (const ArrowField& field : parts.table.fields) {
      columns.push_back(arrays.Next(field));
    }
    arrays.Whole(std::move(columns), out);
    parts.done = true;
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

void ReleaseStream(ArrowArrayStream* stream) {
  delete &PartsOf(stream);
  stream->release = nullptr;
}

Result<std::shared_ptr<const Body>> ReadBody(const Content& content,
                                             const ReadContext& context) {
  constexpr size_t kPiece = size_t{32} << 20;
  const auto size = static_cast<size_t>(content.size());
  // A multiple of the alignment, as aligned_alloc requires.
  const size_t room = (size / kArrowAlignment + 1) * kArrowAlignment;
  auto* const bytes =
      static_cast<std::byte*>(std::aligned_alloc(kArrowAlignment, room));
  if (bytes == nullptr) throw std::bad_alloc();
  auto body = std::make_shared<const Body>(Body(bytes, &std::free));
  for (size_t at = 0; at < size; at += kPiece) {
    CTXFS_TRY(context.Check());
    CTXFS_TRY(ReadInto(content, at, {bytes + at, std::min(kPiece, size - at)},
                       context));
  }
  return body;
}

Status ReadTable(ctxfs_tree& tree, const char* path, ServerWait* waits,
                 ArrowArrayStream* stream) {
  const auto container = CTXFS_TRY(ctxfs::api::ContainerAt(tree, path, waits));
  const Exports exports = container->Export();
  if (exports.table == nullptr) {
    return Error{Code::kNotFound, "the container has no table"};
  }
  const ReadContext context = tree.tree->context(waits);
  auto parts = std::make_unique<StreamParts>();
  parts->table = CTXFS_TRY(MakeArrowTable(container, exports.table(), context));
  parts->body = CTXFS_TRY(ReadBody(parts->table.body, context));
  parts->table.body = {};  // releases the container
  *stream = {&GetSchema, &GetNext,
             [](ArrowArrayStream*) -> const char* { return nullptr; },
             &ReleaseStream, parts.release()};
  return {};
}

}  // namespace
}  // namespace ctxfs::api

extern "C" int ctxfs_table(ctxfs_tree* tree, const char* path,
                           struct ArrowArrayStream* stream,
                           ctxfs_error** error) {
  return CallTree(error, path, [&](ServerWait* waits) {
    return ctxfs::api::ReadTable(*tree, path, waits, stream);
  });
}

// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/api/handles.h"
#include "core/container/complete.h"
#include "core/views/arrays/elements.h"
#include "core/views/arrays/unique_names.h"
#include "core/views/view.h"

using ctxfs::ArrayInfo;
using ctxfs::Code;
using ctxfs::Container;
using ctxfs::Error;
using ctxfs::Result;
using ctxfs::ServerWait;
using ctxfs::Status;
using ctxfs::api::Call;
using ctxfs::api::CallTree;
using ctxfs::api::WithoutNul;

struct ctxfs_arrays {
  ctxfs_tree& owner;
  std::shared_ptr<const Container> container;
  std::vector<ArrayInfo> infos;
  ctxfs::UniqueNames names;
  /// Made by Show. Pointers refer to `infos` and `names`, which do not change
  /// afterwards.
  std::vector<ctxfs_array> shown;
  std::unordered_map<std::string_view, size_t> by_name;
};

namespace {

uint32_t FlagsOf(const ArrayInfo& array) {
  uint32_t flags = 0;
  if (array.merged) flags |= CTXFS_ARRAY_MERGED;
  if (array.widened) flags |= CTXFS_ARRAY_WIDENED;
  return flags;
}

ctxfs_array ShownOf(const ArrayInfo& array, const std::string& name) {
  return {name.c_str(),
          ctxfs::DTypeName(array.dtype).data(),  // ends with NUL
          ctxfs::DTypeBits(array.dtype),
          static_cast<uint32_t>(array.shape.size()),
          array.shape.data(),
          ctxfs::BytesOf(array),
          FlagsOf(array)};
}

/// Fills the rest of `arrays` from its infos.
void Show(ctxfs_arrays& arrays) {
  const size_t count = arrays.infos.size();
  arrays.shown.reserve(count);
  arrays.by_name.reserve(count);
  for (const ArrayInfo& info : arrays.infos) {
    const std::string& name = arrays.names.Take(WithoutNul(info.name));
    arrays.by_name.emplace(name, arrays.shown.size());
    arrays.shown.push_back(ShownOf(info, name));
  }
}

}  // namespace

extern "C" {

int ctxfs_open_arrays(ctxfs_tree* tree, const char* path, ctxfs_arrays** arrays,
                      ctxfs_error** error) {
  return CallTree(error, path, [&](ServerWait* waits) -> Status {
    auto container = CTXFS_TRY(ctxfs::api::ContainerAt(*tree, path, waits));
    const ctxfs::ReadContext context = tree->tree->context(waits);
    std::vector<ArrayInfo> infos =
        ctxfs::UsualArrays(container->Export(), context);
    CTXFS_TRY(context.Check());  // after an interrupt arrays may be missing
    auto made =
        std::make_unique<ctxfs_arrays>(ctxfs_arrays{*tree,
                                                    std::move(container),
                                                    std::move(infos),
                                                    ctxfs::UniqueNames(""),
                                                    {},
                                                    {}});
    Show(*made);
    *arrays = made.release();
    return {};
  });
}

int ctxfs_check_complete(ctxfs_tree* tree, const char* path,
                         ctxfs_error** error) {
  return CallTree(error, path, [&](ServerWait* waits) -> Status {
    const auto container =
        CTXFS_TRY(ctxfs::api::ContainerAt(*tree, path, waits));
    return ctxfs::CheckComplete(*container, tree->tree->context(waits));
  });
}

void ctxfs_close_arrays(ctxfs_arrays* arrays) { delete arrays; }

size_t ctxfs_array_count(const ctxfs_arrays* arrays) {
  return arrays->shown.size();
}

const ctxfs_array* ctxfs_array_at(const ctxfs_arrays* arrays, size_t index) {
  return index < arrays->shown.size() ? &arrays->shown[index] : nullptr;
}

int ctxfs_find_array(const ctxfs_arrays* arrays, const char* name,
                     size_t* index, ctxfs_error** error) {
  return Call(error, name, [&]() -> Status {
    const auto found = arrays->by_name.find(name);
    if (found == arrays->by_name.end()) {
      return Error{Code::kNotFound, "no such array"};
    }
    *index = found->second;
    return {};
  });
}

int ctxfs_open_array(const ctxfs_arrays* arrays, size_t index,
                     ctxfs_file** file, ctxfs_error** error) {
  const ctxfs_array* const array = ctxfs_array_at(arrays, index);
  const char* const name = array == nullptr ? "" : array->name;
  return CallTree(error, name, [&](ServerWait* waits) -> Status {
    if (array == nullptr) return Error{Code::kNotFound, "no such array"};
    ctxfs_tree& tree = arrays->owner;
    ctxfs::Content elements = CTXFS_TRY(
        ctxfs::OpenElements(arrays->infos[index], tree.tree->context(waits)));
    *file = new ctxfs_file{tree, array->name, std::move(elements),
                           arrays->container};
    return {};
  });
}

}  // extern "C"

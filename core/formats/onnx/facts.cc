// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnx/facts.h"

#include <string>

#include "core/container/facts/config_facts.h"

namespace ctxfs::onnx {
namespace {

/// Returns "f32 [N, 4]"; the type alone if the shape is unknown.
std::string ValueText(const Json& value) {
  std::string text = TextAt(value, "dtype");
  const Json* const shape = MemberAt(value, "shape");
  if (shape == nullptr || !shape->is_array()) return text;
  text += " [";
  for (size_t i = 0; i < shape->size(); ++i) {
    const Json& extent = (*shape)[i];
    text += i == 0 ? "" : ", ";
    text += extent.is_null()     ? std::string("?")
            : extent.is_string() ? extent.get<std::string>()
                                 : JsonLine(extent);
  }
  return text + "]";
}

void AddValues(const std::string& prefix, const Json& graph, const char* member,
               Facts& facts) {
  const Json* const values = MemberAt(graph, member);
  if (values == nullptr || !values->is_array()) return;
  for (const Json& value : *values) {
    facts.Add(prefix + TextAt(value, "name"), ValueText(value));
  }
}

}  // namespace

Status AddOnnxFacts(std::string_view json, const FileTable& tensors,
                    const ReadContext& context, Facts& facts) {
  const Result<ParsedJson> parsed = ParseJson(json, context);
  const Json model = parsed ? parsed->value : Json();
  const Json* const found = MemberAt(model, "graph");
  const Json graph = found == nullptr ? Json() : *found;
  AddNamed(graph, {{"name", "name"}}, facts);
  CTXFS_TRY(AddParameters(tensors, context, facts));
  AddNamed(model,
           {{"producer", "producer_name"},
            {"producer_version", "producer_version"},
            {"domain", "domain"},
            {"model_version", "model_version"},
            {"ir_version", "ir_version"},
            {"description", "doc_string"}},
           facts);
  AddNamed(graph, {{"nodes", "nodes"}}, facts);
  const Json* const opsets = MemberAt(model, "opset_import");
  if (opsets != nullptr && opsets->is_array()) {
    for (const Json& opset : *opsets) {
      const std::string domain = TextAt(opset, "domain");
      facts.AddMember(domain.empty() ? "opset" : "opset." + domain, opset,
                      "version");
    }
  }
  AddValues("input.", graph, "inputs", facts);
  AddValues("output.", graph, "outputs", facts);
  if (const Json* properties = MemberAt(model, "metadata_props")) {
    facts.AddMembers("metadata.", *properties);
  }
  return {};
}

}  // namespace ctxfs::onnx

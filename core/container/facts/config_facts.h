// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json/json.h"
#include "core/container/exports.h"
#include "core/container/facts/facts.h"
#include "core/content/read_context.h"
#include "core/io/source.h"

namespace ctxfs {

/// A member of a JSON object, and the key of the fact for it.
struct NamedFact {
  const char* key;
  const char* name;  // of the member
  const char* unit = "";
};

/// Adds the `named` members that `object` has, except those whose key `facts`
/// already has.
void AddNamed(const Json& object, std::initializer_list<NamedFact> named,
              Facts& facts);

/// The caption of a sample that is a JSON object; empty if there is none.
std::string CaptionIn(std::string_view json, const Request& request);

/// The parsed text of the document with that role; null if there is none, or if
/// it is longer than 4 MiB or no JSON. Fails if it cannot be read.
Result<Json> ReadDocument(const std::vector<Document>& documents,
                          DocumentRole role, const ReadContext& context);

/// The parsed text of the file `name` in the folder of `container`; null if
/// there is none, or if it is longer than 4 MiB or no JSON. Fails if opening it
/// fails with a transient error, or if the open file cannot be read.
Result<Json> ReadBeside(const Source& container, const char* name,
                        const Request& request);

/// Adds the facts of a model's config.json, such as architecture, context
/// length, layers, heads, vocabulary and quantisation.
void AddConfigFacts(const Json& config, Facts& facts);

/// Adds the facts of config.json and tokenizer_config.json among `documents`,
/// and the chat template.
Status AddModelFacts(const std::vector<Document>& documents,
                     const ReadContext& context, Facts& facts);

}  // namespace ctxfs

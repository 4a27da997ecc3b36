// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/facts/facts.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// The identity that a container states. `error` says why it is incomplete.
struct Identity {
  Facts facts;
  std::optional<Error> error;

  static Identity Of(const Container& container, const ReadContext& context);

  /// [{"key", "value", "unit", "length"}]: unit may be null; length is null
  /// unless the value is cut.
  Json FactsJson() const;

  /// [[key, text]]; floats are rounded to 4 significant digits.
  Json PageFacts() const;

  /// "200 more facts are left out", and the error, where they apply.
  std::vector<std::string> Notes() const;
};

/// The value with its unit, for people: "32,768 tokens". A cut text ends with
/// an ellipsis and its length.
std::string FactText(const Fact& fact);

/// Formats 12345678 as "12,345,678".
std::string Grouped(uint64_t number);

/// Like Grouped; from a million on, "1,234,567 (1.2 million)".
std::string Counted(uint64_t number);

}  // namespace ctxfs

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/container/container.h"
#include "core/content/read_context.h"
#include "core/formats/gguf/header.h"
#include "core/io/source.h"

namespace ctxfs {

/// Files made of the tokenizer that the metadata describe (docs/gguf.md,
/// section 11): views/tokenizer/. None if there is no tokenizer. Reads a few
/// bytes.
Container::Tables GgufTokenizerFiles(std::shared_ptr<const Source> source,
                                     std::shared_ptr<const GgufHeader> header);

/// The text of tokenizer.json: the tokens, with scores or merges, in the form
/// of Hugging Face's tokenizers. kLimit if there are too many tokens, kCorrupt
/// if the keys contradict each other.
Result<std::string> GgufTokenizerJson(const Source& source,
                                      const GgufHeader& header,
                                      const ReadContext& context);

}  // namespace ctxfs

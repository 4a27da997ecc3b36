// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/container/container.h"
#include "core/content/read_context.h"
#include "core/formats/gguf/header.h"
#include "core/io/source.h"

namespace ctxfs::gguf {

/// Returns the files of views/tokenizer/, generated from the metadata
/// (docs/formats/gguf.md, section 11); none if the metadata has no tokenizer.
/// Reads a few bytes.
Container::Tables GgufTokenizerFiles(std::shared_ptr<const Source> source,
                                     std::shared_ptr<const GgufHeader> header,
                                     const Request& request);

/// Returns the text of tokenizer.json: the tokens with scores or merges, in the
/// form of Hugging Face's library "tokenizers". Fails with kLimit for too many
/// tokens or too much text, with kNotFound for a kind of tokenizer that has no
/// such file, or with the error of a failed read.
Result<std::string> GgufTokenizerJson(const Source& source,
                                      const GgufHeader& header,
                                      const ReadContext& context);

}  // namespace ctxfs::gguf

// SPDX-License-Identifier: Apache-2.0
//
// Probes for foreign formats whose signature at the start is missing, or too
// short to suffice. Each function has the form of ForeignFormat::matches.
#pragma once

#include "core/base/bytes.h"
#include "core/io/source.h"

namespace ctxfs::foreign {

/// Apache ORC: the postscript ends with its magic and its length.
bool IsOrc(Bytes head, const Source* source, const Request& request);
/// Lance, versions 1 and 2: the footer ends with a magic.
bool IsLance(Bytes head, const Source* source, const Request& request);
/// HDF5 with a user block: the superblock is at 512, 1024, 2048, ..., or 1 MiB.
bool IsHdf5WithUserBlock(Bytes head, const Source* source,
                         const Request& request);
/// Mosaic Data Shard: a count, as many offsets, the file's size, and JSON.
bool IsMds(Bytes head, const Source* source, const Request& request);
/// index.json of LitData: chunks, each with chunk_bytes.
bool IsLitData(Bytes head, const Source* source, const Request& request);
/// index.json of the package streaming whose shards are text: JSON lines, or
/// values separated by commas, tabs or the like.
bool IsTextShards(Bytes head, const Source* source, const Request& request);
/// The Arrow IPC stream: an encapsulated message whose header is a Schema.
bool IsArrowStream(Bytes head, const Source* source, const Request& request);
/// cpio: an octal or hexadecimal header after the magic.
bool IsCpio(Bytes head, const Source* source, const Request& request);
bool IsPickle(Bytes head, const Source* source, const Request& request);
/// A pickle of joblib.dump: it names joblib's class for arrays.
bool IsJoblib(Bytes head, const Source* source, const Request& request);
/// MessagePack: a map whose first key is text.
bool IsMsgpack(Bytes head, const Source* source, const Request& request);
/// Protocol Buffers messages without a magic number, by the numbers and wire
/// types of their fields.
bool IsOnnxTensor(Bytes head, const Source* source, const Request& request);
bool IsSavedModel(Bytes head, const Source* source, const Request& request);
bool IsCoreMl(Bytes head, const Source* source, const Request& request);
/// A zlib stream, by its header (RFC 1950, section 2.2).
bool IsZlib(Bytes head, const Source* source, const Request& request);
/// LZMA without a container (.lzma): properties, a dictionary size that its
/// writers use, a size, and the first byte of the range coder.
bool IsLzma(Bytes head, const Source* source, const Request& request);
/// compress (.Z): codes of 9 to 16 bits.
bool IsCompress(Bytes head, const Source* source, const Request& request);
/// Brotli has no header: recognised by its name, unless the file is text.
bool IsBrotli(Bytes head, const Source* source, const Request& request);

}  // namespace ctxfs::foreign

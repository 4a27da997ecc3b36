// SPDX-License-Identifier: Apache-2.0
//
// Formats that ctxfs recognises only to name a program that reads them.
#include "core/container/foreign/foreign_formats.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/container/foreign/foreign_probes.h"

namespace ctxfs {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kCowrieGo = "the Go code of Cowrie reads it";
constexpr std::string_view kCowrieC = "the C code of Cowrie reads it";

// First the formats with a signature, of at least two bytes. Those with only
// two bytes have a function, too.
constexpr ForeignFormat kForeign[] = {
    {0, "PAR1"sv, "a Parquet file", "pyarrow, pandas or duckdb reads it"},
    {0, "PARE"sv, "an encrypted Parquet file", "pyarrow reads it with its key"},
    {0, "ARROW1\0\0"sv, "an Arrow file", "pyarrow or polars reads it"},
    {0, "\xff\xff\xff\xff"sv, "an Arrow stream",
     "pyarrow.ipc.open_stream, polars or datasets reads it",
     &foreign::IsArrowStream},
    {0, "ORC"sv, "an ORC file", "pyarrow.orc reads it", &foreign::IsOrc},
    {0, "FEA1"sv, "a Feather file", "pyarrow reads it"},
    {0, "Obj\x01"sv, "an Avro file", "fastavro reads it"},
    {0, "\x89HDF\r\n\x1a\n"sv, "an HDF5 file", "h5py or h5dump reads it"},
    {0, "CDF\x01"sv, "a netCDF file", "xarray or ncdump reads it"},
    {0, "CDF\x02"sv, "a netCDF file", "xarray or ncdump reads it"},
    {4, "TFL3"sv, "a TensorFlow Lite model", "TensorFlow reads it"},
    {0, "\x83\xaf\x70\xd1\x0d\x88\x4a\x3f\0\0\0\0\0\0\0\0\x40"sv,
     "a Riegeli or ArrayRecord file", "the package array_record reads it"},
    {0, "#ROSBAG V"sv, "a ROS bag", "the program rosbag reads it"},
    {0, "SQLite format 3\0"sv, "an SQLite database", "sqlite3 reads it"},
    {16, "\xde\xc0\xef\xbe\1\0\0\0"sv, "an LMDB database",
     "the package lmdb or mdb_dump reads it"},
    {0, "MATLAB 7.3 MAT-file"sv, "a MATLAB file in HDF5", "h5py reads it"},
    {0, "MATLAB 5.0 MAT-file"sv, "a MATLAB file", "scipy.io.loadmat reads it"},
    {0, "\x1f\x8b\x08"sv, "a gzip file", "gzip -d unpacks it"},
    {0, "\x28\xb5\x2f\xfd"sv, "a zstd file", "zstd -d unpacks it"},
    {0, "\x04\x22\x4d\x18"sv, "an LZ4 file", "lz4 -d unpacks it"},
    {0, "\3757zXZ\0"sv, "an xz file", "xz -d unpacks it"},
    {4, "1AY&SY"sv, "a bzip2 file", "bzip2 -d unpacks it"},
    {0, "LZIP\x01"sv, "an lzip file", "lzip -d unpacks it"},
    {0, "\x89LZO\0\r\n\x1a\n"sv, "an lzop file", "lzop -d unpacks it"},
    {0, "LRZI"sv, "an lrzip file", "lrzip -d unpacks it"},
    {0, "\xff\x06\0\0sNaPpY"sv, "a Snappy file", "'snzip -d' unpacks it"},
    {0, "\x1f\x9d"sv, "a compress file", "gzip -d unpacks it",
     &foreign::IsCompress},
    {0, "Rar!\x1a\x07"sv, "a RAR archive", "unrar or 7z unpacks it"},
    {0, "070701"sv, "a cpio archive", "cpio -i unpacks it", &foreign::IsCpio},
    {0, "070702"sv, "a cpio archive", "cpio -i unpacks it", &foreign::IsCpio},
    {0, "070707"sv, "a cpio archive", "cpio -i unpacks it", &foreign::IsCpio},
    {0, "7z\xbc\xaf\x27\x1c"sv, "a 7z archive",
     "7z unpacks it, fuse-archive mounts it"},
    {0, "DWARFS"sv, "a DwarFS image", "dwarfs mounts it"},
    {0, "SJST\x01\0"sv, "an indexed Cowrie stream, which ctxfs does not open",
     kCowrieGo},
    {0, "SJFR"sv, "a Cowrie frame of the C library, which ctxfs does not open",
     kCowrieC},
    {0, "COWR"sv, "a Cowrie v1 value, which ctxfs does not open", kCowrieGo},
    {0, "CWRF"sv, "a sealed Cowrie file, which ctxfs does not open", kCowrieGo},
    {0, "SJGS"sv, "a stream of Cowrie graph events, which ctxfs does not open",
     kCowrieGo},
    {0, "SJGH"sv, "a stream of Cowrie graph events, which ctxfs does not open",
     kCowrieGo},
    {0, "SJLD"sv, "a Cowrie-LD document, which ctxfs does not open", kCowrieGo},
    {0, "SJLZ"sv, "a Cowrie-LD document, which ctxfs does not open", kCowrieGo},
    {0, "SJLS"sv, "a Cowrie-LD document, which ctxfs does not open", kCowrieGo},
    {0, "hsqs"sv, "a SquashFS image", "mount -t squashfs mounts it"},
    {0, "\x89PNG\r\n\x1a\n"sv, "a PNG picture", "any picture viewer shows it"},
    {0, "\xff\xd8\xff"sv, "a JPEG picture", "any picture viewer shows it"},
    {4, "ftyp"sv, "an MP4 video", "ffmpeg reads it"},
    {0, "\177ELF"sv, "a program", "nothing in it can be mounted"},
    {0, "%PDF-"sv, "a PDF document", "any PDF viewer shows it"},
    {0, "version https://git-lfs."sv, "a Git LFS pointer",
     "'git lfs pull' fetches the file that it stands for"},
    {0, "<!DOCTYPE html"sv, "a web page",
     "a download that failed is often saved as one"},
    {0, "<html"sv, "a web page",
     "a download that failed is often saved as one"},
    // Formats without a signature; the least certain probes come last.
    {0, ""sv, "a Lance file", "the package lance reads its data set",
     &foreign::IsLance},
    {0, ""sv, "an HDF5 file", "h5py or h5dump reads it",
     &foreign::IsHdf5WithUserBlock},
    {0, ""sv, "an MDS shard", "mount its directory or its index.json",
     &foreign::IsMds},
    {0, ""sv, "an index of LitData", "the package litdata reads its data set",
     &foreign::IsLitData},
    {0, ""sv, "an index of shards whose format is text",
     "the package streaming reads its data set", &foreign::IsTextShards},
    {0, ""sv, "a joblib file", kRunsCode, &foreign::IsJoblib},
    {0, ""sv, "a pickle", kRunsCode, &foreign::IsPickle},
    {0, ""sv, "an ONNX TensorProto", "onnx.load_tensor reads it",
     &foreign::IsOnnxTensor},
    {0, ""sv, "a TensorFlow SavedModel",
     "tf.saved_model.load reads its directory", &foreign::IsSavedModel},
    {0, ""sv, "a Core ML model", "coremltools reads it", &foreign::IsCoreMl},
    {0, ""sv, "a MessagePack file", "the package msgpack reads it",
     &foreign::IsMsgpack},
    {0, ""sv, "a zlib stream", "'pigz -dz' unpacks it", &foreign::IsZlib},
    {0, ""sv, "an LZMA file", "xz -d unpacks it", &foreign::IsLzma},
    {0, ""sv, "a Brotli file", "brotli -d unpacks it", &foreign::IsBrotli},
};

bool Matches(Bytes head, const Source* source, const Request& request,
             const ForeignFormat& format) {
  return head.size() >= format.offset && !head.empty() &&
         AsText(head.subspan(format.offset)).starts_with(format.signature) &&
         (format.matches == nullptr || format.matches(head, source, request));
}

/// A directory that is a data set or a model, recognised by names in it.
struct ForeignFolder {
  std::string_view first;
  std::string_view second;  // empty: none
  std::string_view name;
  std::string_view advice;
};

constexpr ForeignFolder kFolders[] = {
    {"Manifest.json", "Data", "a Core ML package", "coremltools reads it"},
    {"saved_model.pb", "", "a TensorFlow SavedModel",
     "tf.saved_model.load reads it"},
    {"data.mdb", "", "an LMDB database", "the package lmdb reads it"},
    {"_versions", "", "a Lance data set", "the package lance reads it"},
    {"index.json", "shard.00000.mds", "an MDS data set",
     "the package streaming reads it"},
    {".zgroup", "", "a Zarr group", "zarr reads it"},
    {"zarr.json", "", "a Zarr group", "zarr reads it"},
};

}  // namespace

std::span<const ForeignFormat> ForeignFormats() { return kForeign; }

const ForeignFormat* RecogniseForeign(Bytes head, const Source* source,
                                      const Request& request) {
  for (const ForeignFormat& format : kForeign) {
    if (Matches(head, source, request, format)) return &format;
  }
  return nullptr;
}

bool LooksLikeText(Bytes head) {
  const std::string_view text = AsText(head);
  for (const char c : text) {
    const bool blank = c == '\t' || c == '\n' || c == '\r';
    if (!blank && static_cast<unsigned char>(c) < ' ') return false;
  }
  // The end of the head may split a character of up to four bytes.
  const size_t cuts = head.size() < limits::kProbeBytes ? 0 : 3;
  for (size_t cut = 0; cut <= cuts && cut < text.size(); ++cut) {
    if (IsUtf8(text.substr(0, text.size() - cut))) return true;
  }
  return false;
}

std::string ForeignDirectory(const Source& directory, const Request& request) {
  const Result<std::vector<DirectoryEntry>> names = directory.List(request);
  if (!names) return "";
  const auto has = [&names](std::string_view name) {
    return std::any_of(
        names->begin(), names->end(),
        [name](const DirectoryEntry& one) { return one.name == name; });
  };
  for (const ForeignFolder& folder : kFolders) {
    if (!has(folder.first)) continue;
    if (!folder.second.empty() && !has(folder.second)) continue;
    return ": it is " + std::string(folder.name) + "; " +
           std::string(folder.advice);
  }
  return "";
}

}  // namespace ctxfs

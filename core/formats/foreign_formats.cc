// SPDX-License-Identifier: Apache-2.0
//
// Formats that ctxfs recognises only to name a program that reads them.
#include "core/container/foreign_formats.h"

#include <algorithm>
#include <string>

namespace ctxfs {
namespace {

using namespace std::string_view_literals;

// Signatures of at least three bytes. That of safetensors is the end of a
// header length below 2^40 and the start of the JSON header.
constexpr ForeignFormat kForeign[] = {
    {0, "PAR1"sv, "a Parquet file", "pyarrow, pandas or duckdb reads it"},
    {0, "ARROW1\0\0"sv, "an Arrow file", "pyarrow or polars reads it"},
    {0, "FEA1"sv, "a Feather file", "pyarrow reads it"},
    {0, "Obj\x01"sv, "an Avro file", "fastavro reads it"},
    {0, "\x89HDF\r\n\x1a\n"sv, "an HDF5 file", "h5py or h5dump reads it"},
    {0, "CDF\x01"sv, "a netCDF file", "xarray or ncdump reads it"},
    {0, "CDF\x02"sv, "a netCDF file", "xarray or ncdump reads it"},
    {0, "\x93NUMPY"sv, "a NumPy array", "numpy.load reads it"},
    {4, "TFL3"sv, "a TensorFlow Lite model", "TensorFlow reads it"},
    {0, "\x89MCAP0\r\n"sv, "an MCAP recording", "the program mcap reads it"},
    {0, "#ROSBAG V"sv, "a ROS bag", "the program rosbag reads it"},
    {0, "SQLite format 3\0"sv, "an SQLite database", "sqlite3 reads it"},
    {0, "MATLAB 5.0 MAT-file"sv, "a MATLAB file", "scipy.io.loadmat reads it"},
    {0, "\x1f\x8b\x08"sv, "a gzip file", "gzip -d unpacks it"},
    {0, "\x28\xb5\x2f\xfd"sv, "a zstd file", "zstd -d unpacks it"},
    {0, "\x04\x22\x4d\x18"sv, "an LZ4 file", "lz4 -d unpacks it"},
    {0, "\3757zXZ\0"sv, "an xz file", "xz -d unpacks it"},
    {4, "1AY&SY"sv, "a bzip2 file", "bzip2 -d unpacks it"},
    {0, "7z\xbc\xaf\x27\x1c"sv, "a 7z archive",
     "7z unpacks it, fuse-archive mounts it"},
    {0, "DWARFS"sv, "a DwarFS image", "dwarfs mounts it"},
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
};

bool Matches(Bytes head, const ForeignFormat& format) {
  return head.size() >= format.offset &&
         AsText(head.subspan(format.offset)).starts_with(format.signature);
}

}  // namespace

std::span<const ForeignFormat> ForeignFormats() { return kForeign; }

const ForeignFormat* RecogniseForeign(Bytes head) {
  for (const ForeignFormat& format : kForeign) {
    if (Matches(head, format)) return &format;
  }
  return nullptr;
}

std::string WhyNoContainer(Bytes head) {
  std::string reason = "not a container of a known format";
  if (head.empty()) return "not a container: the file is empty";
  if (std::all_of(head.begin(), head.end(),
                  [](std::byte b) { return b == std::byte{0}; })) {
    return reason +
           ": it starts with zeros, as files do whose writer has not finished";
  }
  if (const ForeignFormat* const foreign = RecogniseForeign(head)) {
    return reason + ": it is " + std::string(foreign->name) + "; " +
           std::string(foreign->advice);
  }
  return reason;
}

}  // namespace ctxfs

//===- SourceRecord.h - what a checkpoint says of a data source -----------===//

#ifndef TESSERA_RUNTIME_DATA_SOURCERECORD_H
#define TESSERA_RUNTIME_DATA_SOURCERECORD_H

#include "runtime/base/Json.h"
#include "runtime/data/DataSource.h"

namespace tessera::runtime {

/// Describes the sources of a data set for training, by name:
///
///     {"rows": 480, "bytes": [16024], "seq": 64, "validation": "0.2, seed 0", "content": "0123456789abcdef",
///      "columns": {"x": ["height", "weight"]}}
///
/// `seq` only of sequences, `validation` if a fraction is held out, `columns` (the names in the header, one for each
/// element) of csv files that have a header, unless there are very many.
Json recordSources(const Manifest &manifest, const DataFiles &files, const DataSet &training);

/// 16 hexadecimal digits that change with the content of the files: a hash of up to 64 blocks of 4 KiB of each, spread
/// evenly, so that it costs little of large files and notices nearly every other content. With thousands of files fewer
/// blocks of each are read. Throws an Error if one cannot be read.
std::string contentHash(const SplitPaths &paths);

/// The same for a comparison between ranks, which must not miss what one of them has edited: of all bytes, if the files
/// have at most 1 GiB together; else of about 1 GiB, in blocks of at most 1 MiB, at least one of each file.
std::string thoroughHash(const SplitPaths &paths);

/// The part of `columns` for the requests of source `source`, as those of a file that `path` describes. Without a
/// header if nothing is recorded of them.
FileColumns recordedColumns(const Json &record, const DataSet &set, size_t source, const std::string &path);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DATA_SOURCERECORD_H

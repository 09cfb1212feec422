//===- Mpi.h - ranks over Open MPI ----------------------------------------===//
//
// The library is opened when there is more than one rank, so a program needs no MPI to be built, to start, or to run
// alone. It moves bytes only (`Communicator.h`).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_RANKS_MPI_H
#define TESSERA_RUNTIME_RANKS_MPI_H

#include "runtime/ranks/Communicator.h"
#include "runtime/ranks/RankLaunch.h"

namespace tessera::runtime {

/// The most bytes of one message: counts of MPI 3 are ints, and so are products of them inside of the library.
inline constexpr size_t mpiPieceBytes = size_t(1) << 30;

/// Opens Open MPI 4 (libmpi.so.40, in the folder $TESSERA_MPI if that is set), initialises it and returns the group of
/// all ranks. Once in a process, on the thread that calls all collectives. Throws an Error if there is no such library,
/// or if it counts the ranks in another way than the job launcher.
///
/// The process must call `finish` on the group in order to end well; otherwise mpirun ends the other ranks.
std::unique_ptr<HostCommunicator> openMpi(const RankLaunch &launch, size_t pieceBytes = mpiPieceBytes);

/// "Open MPI v4.1.4"; empty if MPI was not opened.
std::string mpiVersion();

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_RANKS_MPI_H

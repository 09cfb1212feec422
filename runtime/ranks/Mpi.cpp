//===- Mpi.cpp - ranks over Open MPI --------------------------------------===//
//
// Small all-to-alls and all-gathers are the library's own: it has better algorithms for them. Larger ones are made of
// exchanges (`Exchanges.h`), as the library does with large blocks: some of its algorithms for sizes between allocate
// memory, which a step must not. Messages are cut into pieces.
//
//===----------------------------------------------------------------------===//

#include "runtime/ranks/Mpi.h"

#include "runtime/ranks/Exchanges.h"
#include "runtime/ranks/RankShare.h"
#include "runtime/ranks/SmallExchanges.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <sstream>

namespace tessera::runtime {

namespace {
// As declared in mpi.h of Open MPI 4.1. Its handles are addresses of objects of the library.
using Comm = void *;
using Datatype = void *;
constexpr int success = 0, nullRank = -2;                  // MPI_SUCCESS, MPI_PROC_NULL
constexpr int funneled = 1;                                // MPI_THREAD_FUNNELED
constexpr size_t longestError = 256, longestVersion = 256; // MPI_MAX_ERROR_STRING, …_LIBRARY_VERSION_STRING
void *const inPlace = reinterpret_cast<void *>(size_t(1)); // MPI_IN_PLACE
struct alignas(8) Status {                                 // MPI_Status has 24 bytes
  char bytes[64];
};

constexpr const char *libraryName = "libmpi.so.40";

/// Libraries with MPICH's binary interface: MPICH on Debian and elsewhere, Intel MPI, MVAPICH.
constexpr const char *mpichNames[] = {"libmpich.so.12", "libmpi.so.12"};
constexpr const char *howToInstall =
    "install Open MPI 4 (on Debian the packages openmpi-bin, with its mpirun, and libopenmpi3)";

/// Large because: a pointer for each function of MPI that is used.
struct MpiLibrary {
  /// Opened once.
  static const MpiLibrary &get() {
    static const MpiLibrary library;
    return library;
  }

  std::string describe(int status) const {
    char text[longestError] = "";
    int length = 0;
    if (errorString(status, text, &length) != success) return fmt::format("MPI: error {}", status);
    return fmt::format("MPI: {}", text);
  }

  int (*initThread)(int *argc, char ***argv, int required, int *provided);
  int (*finalize)();
  int (*abort)(Comm comm, int status);
  int (*commRank)(Comm comm, int *rank);
  int (*commSize)(Comm comm, int *size);
  int (*commSplit)(Comm comm, int color, int key, Comm *part);
  int (*commSetErrhandler)(Comm comm, void *handler);
  int (*errorString)(int status, char *text, int *length);
  int (*getCount)(const Status *status, Datatype type, int *count);
  int (*alltoall)(const void *from, int count, Datatype type, void *to, int toCount, Datatype toType, Comm comm);
  int (*allgather)(const void *from, int count, Datatype type, void *to, int toCount, Datatype toType, Comm comm);
  int (*bcast)(void *data, int count, Datatype type, int root, Comm comm);
  int (*sendrecv)(const void *from, int count, Datatype type, int toRank, int tag, void *to, int toCount,
                  Datatype toType, int fromRank, int toTag, Comm comm, Status *status);
  int (*barrier)(Comm comm);
  Comm world;
  Datatype byte;
  void *errorsReturn;
  std::string version; ///< "Open MPI v4.1.4"

private:
  MpiLibrary();
  void open();
  void readVersion();
  void *symbol(const char *name) const {
    void *found = dlsym(handle, name);
    if (!found) fail("{} has no {}: expected Open MPI 4, got {}; {}", path, name, version, howToInstall);
    return found;
  }
  template <typename Function> void find(Function &function, const char *name) const {
    function = reinterpret_cast<Function>(symbol(name));
  }

  void *handle = nullptr;
  std::string path = libraryName;
};

void MpiLibrary::open() {
  const char *folder = getenv("TESSERA_MPI");
  if (folder && *folder) path = std::string(folder) + "/" + libraryName;
  // Its plugins are opened later and look for symbols of the library among those of the process.
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle) return;
  std::string reason = dlerror();
  if (folder && *folder) fail("cannot open {}: {}; {}, or unset TESSERA_MPI", path, reason, howToInstall);
  for (const char *name : mpichNames)
    if (void *other = dlopen(name, RTLD_LAZY | RTLD_LOCAL)) {
      dlclose(other);
      fail("{} is MPICH or compatible with it, which programs with several ranks cannot use; {}", name, howToInstall);
    }
  fail("cannot open {}, which several ranks need: {}", libraryName, howToInstall);
}

void MpiLibrary::readVersion() {
  int (*getVersion)(char *text, int *length);
  version = "a library without a version";
  find(getVersion, "MPI_Get_library_version");
  char text[longestVersion * 32] = ""; // MPICH's has up to 8192 bytes
  int length = 0;
  if (getVersion(text, &length) != success) return;
  std::istringstream words(std::string(text).substr(0, std::string(text).find_first_of(",\n")));
  version.clear();
  for (std::string word; words >> word;) version += (version.empty() ? "" : " ") + word;
}

MpiLibrary::MpiLibrary() {
  open();
  readVersion();
  find(world, "ompi_mpi_comm_world"); // first: what tells Open MPI from others
  find(byte, "ompi_mpi_byte");
  find(errorsReturn, "ompi_mpi_errors_return");
  find(initThread, "MPI_Init_thread");
  find(finalize, "MPI_Finalize");
  find(abort, "MPI_Abort");
  find(commRank, "MPI_Comm_rank");
  find(commSize, "MPI_Comm_size");
  find(commSplit, "MPI_Comm_split");
  find(commSetErrhandler, "MPI_Comm_set_errhandler");
  find(errorString, "MPI_Error_string");
  find(getCount, "MPI_Get_count");
  find(alltoall, "MPI_Alltoall");
  find(allgather, "MPI_Allgather");
  find(bcast, "MPI_Bcast");
  find(sendrecv, "MPI_Sendrecv");
  find(barrier, "MPI_Barrier");
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Not freed before MPI_Finalize: freeing is a collective too, and there are as many groups as axes of a mesh.
class MpiCommunicator final : public ExchangeCommunicator {
public:
  MpiCommunicator(std::string name, int rank, int size, Comm comm, size_t pieceBytes, RankLauncher launcher)
      : ExchangeCommunicator(std::move(name), rank, size), comm(comm), pieceBytes(pieceBytes), launcher(launcher) {
    // Otherwise a failure ends the process without a word of ours.
    require(mpi.commSetErrhandler(comm, mpi.errorsReturn), "open", this->name());
  }
  [[noreturn]] void abandon(ExitStatus status) override;

private:
  void moveAllToAll(std::string_view what, const void *from, void *to, size_t bytes) override;
  void moveAllGather(std::string_view what, const void *from, void *to, size_t bytes) override;
  void moveBroadcast(std::string_view what, void *data, size_t bytes, int root) override;
  void waitForAll(std::string_view what) override { require(mpi.barrier(comm), "barrier", what); }
  std::unique_ptr<HostCommunicator> makeGroup(std::string name, int group, int order) override;
  void end() override { require(mpi.finalize(), "finish", name()); }

  void require(int status, const char *function, std::string_view what) const {
    if (status != success) fail("{}: {}", place(function, what), mpi.describe(status));
  }
  /// Whether the library does it, for blocks of so many bytes. What it allocates then is served by the step allocator.
  bool isSmall(size_t bytes) const { return bytes <= std::min(pieceBytes, smallExchangeBytes) / size(); }
  /// Sends and receives in pieces. Both partners cut a message in the same places.
  void exchange(const char *function, std::string_view what, const char *from, size_t fromBytes, int toRank, char *to,
                size_t toBytes, int fromRank) override;

  const MpiLibrary &mpi = MpiLibrary::get();
  Comm comm;
  size_t pieceBytes;
  RankLauncher launcher;
};

void MpiCommunicator::exchange(const char *function, std::string_view what, const char *from, size_t fromBytes,
                               int toRank, char *to, size_t toBytes, int fromRank) {
  for (size_t at = 0; at < std::max(fromBytes, toBytes); at += pieceBytes) {
    int sent = static_cast<int>(std::min(pieceBytes, fromBytes - std::min(at, fromBytes)));
    int expected = static_cast<int>(std::min(pieceBytes, toBytes - std::min(at, toBytes))), received = 0;
    Status status = {};
    require(mpi.sendrecv(sent ? from + at : nullptr, sent, mpi.byte, sent ? toRank : nullRank, 0,
                         expected ? to + at : nullptr, expected, mpi.byte, expected ? fromRank : nullRank, 0, comm,
                         &status),
            function, what);
    countSent(sent);
    require(mpi.getCount(&status, mpi.byte, &received), function, what);
    if (received != expected)
      fail("{}: expected {} bytes from rank {}, got {}", place(function, what), at + expected, fromRank, at + received);
  }
}

void MpiCommunicator::moveAllToAll(std::string_view what, const void *from, void *to, size_t bytes) {
  if (!isSmall(bytes)) return ExchangeCommunicator::moveAllToAll(what, from, to, bytes);
  int count = static_cast<int>(bytes);
  require(mpi.alltoall(from, count, mpi.byte, to, count, mpi.byte, comm), "allToAll", what);
  countSent((size() - 1) * bytes);
}

void MpiCommunicator::moveAllGather(std::string_view what, const void *from, void *to, size_t bytes) {
  if (!isSmall(bytes)) return ExchangeCommunicator::moveAllGather(what, from, to, bytes);
  int count = static_cast<int>(bytes);
  bool isInPlace = from == static_cast<char *>(to) + rank() * bytes;
  require(mpi.allgather(isInPlace ? inPlace : from, count, mpi.byte, to, count, mpi.byte, comm), "allGather", what);
  countSent((size() - 1) * bytes);
}

void MpiCommunicator::moveBroadcast(std::string_view what, void *data, size_t bytes, int root) {
  for (size_t at = 0; at < bytes; at += pieceBytes) {
    int count = static_cast<int>(std::min(pieceBytes, bytes - at));
    require(mpi.bcast(static_cast<char *>(data) + at, count, mpi.byte, root, comm), "broadcast", what);
    if (rank() == root) countSent((size() - 1) * static_cast<size_t>(count));
  }
}

std::unique_ptr<HostCommunicator> MpiCommunicator::makeGroup(std::string groupName, int group, int order) {
  Comm part = nullptr;
  int partRank = 0, partSize = 0;
  require(mpi.commSplit(comm, group, order, &part), "split", groupName);
  require(mpi.commRank(part, &partRank), "split", groupName);
  require(mpi.commSize(part, &partSize), "split", groupName);
  return std::make_unique<MpiCommunicator>(std::move(groupName), partRank, partSize, part, pieceBytes, launcher);
}

void MpiCommunicator::abandon(ExitStatus status) {
  // mpirun ends the others when one has failed, with its status. Asked by MPI_Abort, that of Open MPI 4.1 crashes or
  // hangs in one job of thirty (PMIx_server_finalize, on a busy machine). srun goes on without the one that has failed.
  if (launcher != RankLauncher::Mpirun) mpi.abort(mpi.world, static_cast<int>(status));
  std::_Exit(static_cast<int>(status));
}

bool isOpen = false;
} // namespace

std::unique_ptr<HostCommunicator> openMpi(const RankLaunch &launch, size_t pieceBytes) {
  const MpiLibrary &mpi = MpiLibrary::get();
  // mpirun does this itself. A rank that waits would use up its time slice, while the one that it waits for has none.
  if (launch.localSize > static_cast<int>(allowedProcessors().size())) setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
  // The pool, the reader of data and the watchdog are threads too, but only the caller's calls MPI.
  int provided = 0, status = mpi.initThread(nullptr, nullptr, funneled, &provided);
  if (status != success)
    fail("cannot initialise MPI on rank {} of {}: {}", launch.rank, launch.size, mpi.describe(status));
  if (provided < funneled)
    fail("{} does not support processes with several threads (MPI_THREAD_FUNNELED); {}", mpi.version, howToInstall);
  isOpen = true;
  auto world = [&](int &value, int (*ask)(Comm, int *)) {
    status = ask(mpi.world, &value);
    if (status != success) fail("cannot ask MPI for its ranks: {}", mpi.describe(status));
  };
  int seenRank = 0, seenSize = 0;
  world(seenRank, mpi.commRank);
  world(seenSize, mpi.commSize);
  if (seenRank != launch.rank || seenSize != launch.size)
    fail("mpirun or srun started rank {} of {}, but to {} it is rank {} of {}: use the mpirun of that library, or "
         "srun --mpi=pmix",
         launch.rank, launch.size, mpi.version, seenRank, seenSize);
  return std::make_unique<MpiCommunicator>("world", seenRank, seenSize, mpi.world, pieceBytes, launch.launcher);
}

std::string mpiVersion() { return isOpen ? MpiLibrary::get().version : ""; }

} // namespace tessera::runtime

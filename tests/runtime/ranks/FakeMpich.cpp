// A library with the name of Open MPI's that is MPICH: its handles are numbers, not symbols.

#include <cstring>

extern "C" int MPI_Get_library_version(char *text, int *length) {
  strcpy(text, "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n");
  *length = static_cast<int>(strlen(text));
  return 0;
}

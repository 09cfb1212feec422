# Writes the sources of the library nn into a C++ file: cmake -DOUTPUT=… -DFILES=a;b -P EmbedLibrary.cmake

set(text "// Made by EmbedLibrary.cmake from frontend/nn/.\n#include \"frontend/names/Declarations.h\"\n\n")
string(APPEND text "static const tessera::LibraryFile Files[] = {\n")
foreach(file IN LISTS FILES)
  file(READ "${file}" content)
  get_filename_component(name "${file}" NAME)
  string(APPEND text "    {\"nn/${name}\", R\"tsr(${content})tsr\"},\n")
endforeach()
string(APPEND text "};\n\nllvm::ArrayRef<tessera::LibraryFile> tessera::nnLibrary() { return Files; }\n")
file(WRITE "${OUTPUT}" "${text}")

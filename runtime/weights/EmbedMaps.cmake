# Writes the maps of examples/maps/ into a C++ file: cmake -DOUTPUT=… -DFILES=a;b -P EmbedMaps.cmake

set(text "// Made by EmbedMaps.cmake from examples/maps/.\n#include \"runtime/weights/WeightMap.h\"\n\n")
string(APPEND text "const std::vector<tessera::runtime::BuiltinMap> &tessera::runtime::builtinMaps() {\n")
string(APPEND text "  static const std::vector<BuiltinMap> maps = {\n")
foreach(file IN LISTS FILES)
  file(READ "${file}" content)
  get_filename_component(name "${file}" NAME_WE)
  string(APPEND text "      {\"hf:${name}\", R\"map(${content})map\"},\n")
endforeach()
string(APPEND text "  };\n  return maps;\n}\n")
file(WRITE "${OUTPUT}" "${text}")

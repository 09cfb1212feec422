# Helpers shared by all folders: one function for each kind of library.

list(PREPEND CMAKE_PREFIX_PATH /usr/lib/llvm-22)
find_package(MLIR REQUIRED CONFIG) # 22: the version of the prefix above
find_package(LLD REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/lld)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS}) # mlir-tblgen takes its search path from here

set(TESSERA_WARNINGS -Wall -Wextra -Wno-unused-parameter -Werror=return-type -Werror=switch)

# Everything that is compiled against MLIR: the compiler's own libraries.
# tessera_compiler_library(NAME SOURCES... [DEPENDS target...] [LINK library...] [PCH header | PCH_OF library])
# PCH_OF uses the precompiled header of another library: each one takes about as long as two sources.
function(tessera_compiler_library name)
  cmake_parse_arguments(ARG "" "PCH;PCH_OF" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES} ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_compile_options(${name} PRIVATE ${TESSERA_WARNINGS})
  target_compile_definitions(${name} PUBLIC ${LLVM_DEFINITIONS_LIST})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MLIR LLVM)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  if(ARG_PCH)
    target_precompile_headers(${name} PRIVATE ${ARG_PCH})
  elseif(ARG_PCH_OF)
    target_precompile_headers(${name} REUSE_FROM ${ARG_PCH_OF})
  endif()
endfunction()

separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND "${LLVM_DEFINITIONS}")

# Everything that runs without LLVM: the runtime and its tests.
# tessera_runtime_library(NAME SOURCES... [LINK library...])
function(tessera_runtime_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES} ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${TESSERA_WARNINGS} -ffunction-sections -fdata-sections)
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()

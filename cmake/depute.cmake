# Helpers shared by all folders: warnings, one library per folder, one test program per folder, flatc schemas.

add_library(depute_options INTERFACE)
target_include_directories(depute_options INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
                           ${PROJECT_SOURCE_DIR})
target_compile_options(depute_options INTERFACE -Wall -Wextra -Wpedantic -Werror -Wshadow -Wnon-virtual-dtor
                                                -Wno-missing-field-initializers)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(depute_options INTERFACE -fsigned-char)  # as on x86-64: no code path differs
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 gives these two for inlined copies of std::string that are in order.
  # Its garbage collector takes a tenth of its time, to save some 300 MB.
  target_compile_options(depute_options INTERFACE -Wno-restrict -Wno-stringop-overread --param=ggc-min-heapsize=1000000)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # libstdc++ 12's own std::stable_sort uses a function that C++23 deprecates. Every compiler has
  # __COUNTER__, which became standard only with C2y.
  target_compile_options(depute_options INTERFACE -Wno-deprecated-declarations -Wno-unknown-warning-option
                                                  -Wno-c2y-extensions)
endif()
# What release builds and wheels have beside the code: tests/python/house/test_hardening.py reads it from the binaries.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT DEPUTE_SANITIZE)
  target_compile_options(depute_options INTERFACE -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
                                                  -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(depute_options INTERFACE -fcf-protection)
  endif()
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack)
  endif()
endif()
if(DEPUTE_SANITIZE)
  target_compile_options(depute_options INTERFACE -fsanitize=${DEPUTE_SANITIZE} -fno-omit-frame-pointer
                                                  -fno-sanitize-recover=all)
  target_link_options(depute_options INTERFACE -fsanitize=${DEPUTE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND DEPUTE_SANITIZE MATCHES "address")
    # Less than half to build. AddressSanitizer sees what the first four look for; clang's build (fuzz) has the others.
    target_compile_options(depute_options INTERFACE
      -fno-sanitize=null,object-size,nonnull-attribute,returns-nonnull-attribute,vptr,alignment
      --param asan-instrumentation-with-call-threshold=0)
  endif()
endif()

# depute_optimize_lightly(): for a folder in whose code little of a lowering's time goes: a third less to build.
macro(depute_optimize_lightly)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    string(REPLACE "-O2" "-O1 -finline-small-functions -fstrict-aliasing -freorder-blocks -falign-loops" CMAKE_CXX_FLAGS_RELEASE
                   "${CMAKE_CXX_FLAGS_RELEASE}")
  endif()
endmacro()

# Headers of others that most files read.
set(depute_common_headers <fmt/format.h> <algorithm> <array> <cstdint> <functional> <map> <memory> <optional> <span>
    <string> <string_view> <unordered_map> <unordered_set> <utility> <variant> <vector> <nlohmann/json.hpp>)

# depute_is_part(TARGET): the target's objects are a part of the library that is installed. Where several files are
# compiled at once, the common headers are read once for all parts that are optimized alike; else each file reads
# what it names, so that one that is missing is told.
function(depute_is_part target)
  set_property(GLOBAL APPEND PROPERTY DEPUTE_PARTS ${target})
  if(NOT DEPUTE_UNITY OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  string(MD5 flags "${CMAKE_CXX_FLAGS_RELEASE}")
  set(headers depute_headers_${flags})
  if(NOT TARGET ${headers})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/no_code.cpp CONTENT "")
    add_library(${headers} OBJECT ${PROJECT_BINARY_DIR}/no_code.cpp)
    target_link_libraries(${headers} PRIVATE depute_options fmt::fmt nlohmann_json::nlohmann_json)
    target_precompile_headers(${headers} PRIVATE ${depute_common_headers})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()

# depute_library(NAME [DEPS...] [FOLDERS FOLDER...]): all .cpp files of the current folder and of the folders in it, or
# of the named ones, as the static library depute_NAME. Reference kernels stand beside the ops that they compute, but
# are in depute_kernels (src/kernels).
function(depute_library name)
  cmake_parse_arguments(PARSE_ARGV 1 given "" "" FOLDERS)
  if(NOT given_FOLDERS)
    set(given_FOLDERS *)
  endif()
  list(TRANSFORM given_FOLDERS REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/\\1/*.cpp" OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp ${patterns})
  list(FILTER sources EXCLUDE REGEX "/ops/.*_kernels\\.cpp$")
  if(NOT sources)
    add_library(depute_${name} INTERFACE)
    target_link_libraries(depute_${name} INTERFACE depute_options ${given_UNPARSED_ARGUMENTS})
    return()
  endif()
  add_library(depute_${name} STATIC ${sources})
  target_link_libraries(depute_${name} PUBLIC depute_options ${given_UNPARSED_ARGUMENTS})
  depute_is_part(depute_${name})
endfunction()

# depute_test_headers(TARGET): lets a test program read what all tests include from one precompiled
# header. Only headers of others are in it: ours change.
function(depute_test_headers target)
  if(NOT TARGET depute_test_headers)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/test_headers.cpp CONTENT "int main() {}\n")
    # A program, as the tests are: a library's code would be compiled with other flags.
    add_executable(depute_test_headers ${PROJECT_BINARY_DIR}/test_headers.cpp)
    target_link_libraries(depute_test_headers PRIVATE depute_options fmt::fmt nlohmann_json::nlohmann_json GTest::gtest GTest::gmock)
    target_precompile_headers(depute_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h> <random>
                              ${depute_common_headers})
  endif()
  target_precompile_headers(${target} REUSE_FROM depute_test_headers)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # From a precompiled header g++ 12 forgets that it is a system's, and warns of copies in it that are in order.
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-maybe-uninitialized)
  endif()
endfunction()

# depute_unit_tests(NAME [DEPS...]): all *_test.cpp files below tests/unit/NAME as the test program depute_NAME_tests.
function(depute_unit_tests name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(depute_${name}_tests ${sources})
  # Half the time of a test is reading headers: eight of a folder share it.
  set_target_properties(depute_${name}_tests PROPERTIES UNITY_BUILD ${DEPUTE_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  target_link_libraries(depute_${name}_tests PRIVATE depute_options ${ARGN} GTest::gtest GTest::gmock GTest::gtest_main)
  depute_test_headers(depute_${name}_tests)
  add_test(NAME ${name} COMMAND depute_${name}_tests WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()

# depute_flatbuffers(TARGET SCHEMA...): an INTERFACE library that generates C++ headers from our .fbs files.
function(depute_flatbuffers target)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/generated)
  set(headers)
  foreach(schema ${ARGN})
    get_filename_component(stem ${schema} NAME_WE)
    set(header ${out}/${stem}_generated.h)
    add_custom_command(OUTPUT ${header}
      COMMAND ${FLATC} --cpp --scoped-enums --gen-mutable --reflect-names -o ${out} ${CMAKE_CURRENT_SOURCE_DIR}/${schema}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${schema})
    list(APPEND headers ${header})
  endforeach()
  add_custom_target(${target}_generate DEPENDS ${headers})
  add_library(${target} INTERFACE)
  add_dependencies(${target} ${target}_generate)
  target_include_directories(${target} SYSTEM INTERFACE ${out})
endfunction()

# depute_op_rules(BACKEND RESULT): writes the list of a backend's rules to the file that RESULT names. The rules of every
# file in ops/ are found by its name: ops/gelu.cpp has std::span<const OpRule> depute::BACKEND::ops::gelu().
function(depute_op_rules backend result)
  file(GLOB op_files RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/ops CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/ops/*.cpp)
  list(SORT op_files)
  set(declarations "")
  set(calls "")
  foreach(file ${op_files})
    get_filename_component(name ${file} NAME_WE)
    string(APPEND declarations "std::span<const OpRule> ${name}();\n")
    string(APPEND calls "      ops::${name}(),\n")
  endforeach()
  file(CONFIGURE OUTPUT op_rules.cpp @ONLY CONTENT [[
// Generated: one call for every file of ops/.
#include "op_rules_list.h"

namespace depute::@backend@::ops {
@declarations@}

std::vector<std::span<const depute::@backend@::OpRule>> depute::@backend@::op_rule_families() {
  return {
@calls@  };
}
]])
  set(${result} ${CMAKE_CURRENT_BINARY_DIR}/op_rules.cpp PARENT_SCOPE)
endfunction()

# Refuses what Depute cannot be built for, before anything is compiled. Files are mapped and used in place, and they are
# little-endian; models are larger than 32 bits address.
#
#   cmake -D CMAKE_SYSTEM_NAME=Linux -D CMAKE_SIZEOF_VOID_P=4 -D CMAKE_CXX_BYTE_ORDER=LITTLE_ENDIAN -P cmake/platform.cmake
set(refusals "")
if(NOT CMAKE_SYSTEM_NAME MATCHES "^(Linux|Windows|Darwin)$")
  list(APPEND refusals "the system is ${CMAKE_SYSTEM_NAME}, and src/platform has files for Linux, macOS and Windows")
endif()
if(NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
  math(EXPR bits "8 * ${CMAKE_SIZEOF_VOID_P}")
  list(APPEND refusals "the processor has addresses of ${bits} bits, and 64 are needed")
endif()
if(NOT CMAKE_CXX_BYTE_ORDER STREQUAL "LITTLE_ENDIAN")
  list(APPEND refusals "the processor is big-endian, and the formats that Depute reads in place are little-endian")
endif()
if(refusals)
  list(JOIN refusals "\n  " refusals)
  message(FATAL_ERROR "Depute cannot be built for this platform:\n  ${refusals}")
endif()

# Finds libraries for another platform in build/platforms/DEPUTE_PLATFORM/libraries alone, and programs on this machine.
set(CMAKE_FIND_ROOT_PATH ${build}/platforms/${DEPUTE_PLATFORM}/libraries)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()

# Compiler, flags, launcher and third-party libraries, the same for every target.
option(LOCKSTEP_TESTS "build the tests" ON)
option(LOCKSTEP_WERROR "warnings are errors" OFF)
set(LOCKSTEP_SANITIZE "" CACHE STRING "sanitizers, as -fsanitize takes them")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
# Checks never hang on NDEBUG, so the two build types differ in speed and debug information only.
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
if(LOCKSTEP_SANITIZE)
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")  # at -O0 the sanitized kernels are too slow to train anything
endif()

# Bits: no contraction anywhere (NUMERICS A1). The other two let sqrt and selects be inlined and
# vectorised; neither changes a result. -march stays the baseline: instruction sets are chosen at run time.
set(lockstep_numeric_flags -ffp-contract=off -fno-math-errno -fno-trapping-math)
add_compile_options(${lockstep_numeric_flags} -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-restrict)
else()
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
endif()
# Messages name sources by their path in the checkout, and builds in different folders are the same bytes.
add_compile_options(-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
if(LOCKSTEP_WERROR)
  add_compile_options(-Werror)
endif()
if(LOCKSTEP_SANITIZE)
  add_compile_options(-fsanitize=${LOCKSTEP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${LOCKSTEP_SANITIZE})
endif()

# What `lockstep doctor` shows and every run records.
string(TOUPPER "${CMAKE_BUILD_TYPE}" lockstep_build_upper)
string(JOIN " " lockstep_build_flags ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${lockstep_build_upper}} ${lockstep_numeric_flags})
if(LOCKSTEP_SANITIZE)
  string(APPEND lockstep_build_flags " -fsanitize=${LOCKSTEP_SANITIZE}")
endif()

include(${CMAKE_CURRENT_LIST_DIR}/contraction.cmake)
lockstep_check_contraction()

# Without these two allowances ccache refuses every source that uses a precompiled header; paths relative to the
# checkout let build folders share what they compile alike; what the compiler says of its headers spares a miss the
# preprocessor.
find_program(LOCKSTEP_CCACHE ccache)
if(LOCKSTEP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${LOCKSTEP_CCACHE})
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
find_package(SQLite3 REQUIRED)
find_library(LOCKSTEP_HWY hwy REQUIRED)

# What each layer links besides the layers below it.
set(lockstep_libs_base Threads::Threads fmt::fmt OpenSSL::Crypto nlohmann_json::nlohmann_json)
set(lockstep_libs_config yaml-cpp)
set(lockstep_libs_component ${CMAKE_DL_LIBS})
set(lockstep_libs_io ZLIB::ZLIB)
set(lockstep_libs_data ZLIB::ZLIB)
set(lockstep_libs_kernels ${LOCKSTEP_HWY})
set(lockstep_libs_track SQLite::SQLite3)

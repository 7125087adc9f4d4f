# Proves at configure time that the flags keep a*b+c as two roundings (NUMERICS A1).
# It reads the assembly, so it also works on a machine whose CPU has no fused multiply-add.
function(lockstep_fused_with flags out)
  set(source ${CMAKE_BINARY_DIR}/contraction_probe.cpp)
  set(region "")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
    set(region "__attribute__((target(\"fma\"))) ")
  endif()
  file(WRITE ${source} "${region}double probe(double a, double b, double c) { return a * b + c; }\n")
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -O2 ${flags} -S -o - ${source}
    OUTPUT_VARIABLE assembly RESULT_VARIABLE status ERROR_VARIABLE complaint)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "the contraction probe does not compile: ${complaint}")
  endif()
  if(assembly MATCHES "fmadd|fmla")
    set(${out} TRUE PARENT_SCOPE)
  else()
    set(${out} FALSE PARENT_SCOPE)
  endif()
endfunction()

function(lockstep_check_contraction)
  separate_arguments(user_flags UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
  lockstep_fused_with("${user_flags};${lockstep_numeric_flags}" fused)
  if(fused)
    message(FATAL_ERROR "this compiler fuses a*b+c although -ffp-contract=off is given "
      "(CMAKE_CXX_FLAGS: '${CMAKE_CXX_FLAGS}'); results would differ between builds. "
      "Remove the flag that switches contraction on.")
  endif()
  lockstep_fused_with("-ffp-contract=fast" seen)
  if(NOT seen)
    message(WARNING "the contraction probe finds no fused instruction even where it must; "
      "check the flags of this compiler by hand")
  endif()
endfunction()

# attnscale_library(NAME SOURCES ... PUBLIC ... PRIVATE ...): one target per folder of lib/, so that the link graph
# enforces the arrows of the architecture.

add_library(attnscale_flags INTERFACE)
target_compile_options(attnscale_flags INTERFACE -Wall -Wextra -Wpedantic $<$<BOOL:${ATTNSCALE_WERROR}>:-Werror>)
if(ATTNSCALE_SANITIZE)
  target_compile_options(attnscale_flags INTERFACE -fsanitize=${ATTNSCALE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(attnscale_flags INTERFACE -fsanitize=${ATTNSCALE_SANITIZE})
  target_compile_definitions(attnscale_flags INTERFACE ATTNSCALE_SANITIZED=1)
endif()

function(attnscale_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(attnscale_${name} STATIC ${ARG_SOURCES})
  add_library(attnscale::${name} ALIAS attnscale_${name})
  target_include_directories(attnscale_${name} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/lib>")
  target_link_libraries(attnscale_${name} PUBLIC ${ARG_PUBLIC} PRIVATE attnscale_flags ${ARG_PRIVATE})
endfunction()

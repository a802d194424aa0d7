# Writes OUTPUT with version, commit and compiler, only if something changed.
set(commit unknown)
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --abbrev=12
    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0)
    set(commit ${described})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
#include "voxcycle/core/build_info.hpp"

namespace voxcycle::build_info {

char const* const version = "@VERSION@";
char const* const commit = "@commit@";
char const* const compiler = "@COMPILER@";

}  // namespace voxcycle::build_info
]] @ONLY)

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace voxcycle::build_info {

extern char const* const version;   ///< of the project, e.g. "0.1.0"
extern char const* const commit;    ///< short git hash, "-dirty" appended if changed, or "unknown"
extern char const* const compiler;  ///< name and version

}  // namespace voxcycle::build_info

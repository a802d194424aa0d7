// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>

#include <hdf5.h>

namespace voxcycle::hdf5 {

/// What writing one file has come to: 0, or the errno of its first failure.
using WriteStatus = std::shared_ptr<int>;

/// Makes files opened with `access` (a file access list) be written by our own driver, which notes
/// the first failure in `status` and from then on drops what HDF5 writes.
///
/// Why: when the disk is full, HDF5's own drivers let H5Fclose fail half-way, which leaves a broken
/// file in the library, and the program crashes at its exit. With this driver HDF5 never sees the
/// failure, and its caller looks at `status` instead. The files are ordinary ones.
void use_write_driver(hid_t access, WriteStatus const& status);

/// @throws Error with the system's text if writing has failed by now; a null status has not.
void require_written(WriteStatus const& status, std::string const& label);

}  // namespace voxcycle::hdf5

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace voxcycle {

/// Writes a file so that `path` holds either its old content or the whole new one: `write` gets a
/// temporary name in the same directory, of a file made for it that nobody else can have put there,
/// which is then synced and renamed. Missing directories are made. On any failure the temporary
/// file is removed. Symbolic links are followed: the file that they lead to is replaced, or made.
/// @throws Error with the system's own text (no space, no permission), or if `path` is a directory,
/// a device, a pipe, a socket or the file that this program prints into, or what `write` throws.
void write_atomically(std::string const& path,
                      std::function<void(std::string const& temporary)> const& write);

/// Removes the temporary files that processes which were killed amid write_atomically left in the
/// directory: those that nobody holds locked, or, where files cannot be locked, that are a day old.
void remove_leftovers(std::string const& directory);

/// The same as write_atomically for content at hand.
void write_file_atomically(std::string const& path, std::string_view content);

/// Of files that belong together, none appears before all are whole.
/// @param files  paths with their contents
void write_files_atomically(std::vector<std::pair<std::string, std::string>> const& files);

/// For long work whose result is to go to `path`: tries ahead, and leaves nothing behind.
/// @throws Error if it is what write_atomically refuses, or lies where nothing can be written.
void require_writable(std::string const& path);

/// @return the whole file. @throws Error if it cannot be read.
std::string read_file(std::string const& path);

}  // namespace voxcycle

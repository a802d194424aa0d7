// The precompiled torch header is attached to this file; see Modules.cmake.

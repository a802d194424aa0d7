// Precompiled headers of torch are attached to this file; see Modules.cmake.

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

namespace voxcycle {

/// exp, log, sin and cos from IEEE additions, multiplications and divisions alone, so that every
/// machine computes the same bits (the C library's differ by version and instruction set). Error
/// below 2 ulp for |x| <= 700 (exp), normal positive x (log) and |x| <= 1000 (sin, cos; absolute
/// error 1e-15). Beyond, exp goes on to 0 and infinity as it should, sin and cos lose digits.
double exact_exp(double x);
/// @param x  positive, finite and not subnormal
double exact_log(double x);
double exact_sin(double x);
double exact_cos(double x);

/// Replaces each value by its exact_exp, the same bits as one by one: a loop that vectorises.
void exact_exp(std::span<double> values);

}  // namespace voxcycle

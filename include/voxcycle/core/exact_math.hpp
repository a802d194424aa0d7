// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace voxcycle {

/// exp, sin and cos from IEEE additions and multiplications alone, so that every machine computes
/// the same bits (the C library's differ by version and instruction set). Error below 2 ulp for
/// |x| <= 700 (exp) and |x| <= 1000 (sin, cos; absolute error 1e-15).
double exact_exp(double x);
double exact_sin(double x);
double exact_cos(double x);

}  // namespace voxcycle

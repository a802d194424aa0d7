// SPDX-License-Identifier: BSD-3-Clause
#include "field/row_product.hpp"

namespace voxcycle::row_product {

Table const& table() {
  return from_best(baseline::table, avx2::table, avx512::table);
}

}  // namespace voxcycle::row_product

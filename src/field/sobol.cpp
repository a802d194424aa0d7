// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/field/sobol.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/random.hpp"

#include <boost/random/sobol.hpp>

namespace voxcycle {

std::vector<double> sobol_point(std::uint64_t seed, std::int64_t index, int dimension) {
  VOXCYCLE_REQUIRE(index >= 0, "Sobol point " << index << " does not exist. Count from 0.");
  VOXCYCLE_REQUIRE(dimension >= 1 && dimension <= BOOST_RANDOM_SOBOL_MAX_DIMENSION,
                   "Sobol points of " << dimension << " coordinates are not known. Use 1 to "
                                      << BOOST_RANDOM_SOBOL_MAX_DIMENSION << '.');
  std::vector<std::uint64_t> bits(static_cast<std::size_t>(dimension), 0);
  if (index > 0) {  // the engine leaves out point 0, the origin
    boost::random::sobol_engine<std::uint64_t, 64> engine(bits.size());
    engine.seed(static_cast<std::uint64_t>(index - 1));
    engine.generate(bits.begin(), bits.end());
  }
  std::vector<double> point;
  point.reserve(bits.size());
  for (std::uint64_t axis = 0; axis < bits.size(); ++axis) {
    std::uint64_t const shifted = bits[axis] ^ hash_bits({seed, axis});
    point.push_back(static_cast<double>(shifted >> 11) * 0x1.0p-53);
  }
  return point;
}

}  // namespace voxcycle

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/optim/lbfgs_history.hpp"
#include "voxcycle/optim/line_search.hpp"
#include "voxcycle/optim/objective.hpp"
#include "voxcycle/optim/shares.hpp"

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

namespace voxcycle {

struct LbfgsOptions {
  std::int64_t pairs = 100;  ///< curvature pairs kept, >= 1
  double first_step = 1e-3;  ///< root mean square of the first trial step's components, > 0
  LineSearchOptions search{};
  double gradient_norm = 0.0;            ///< at or below it the search is over, >= 0
  at::ScalarType history = at::kDouble;  ///< type of the kept pairs: at::kFloat or at::kDouble
};

/// Why L-BFGS goes no further.
enum class LbfgsStop {
  none,        ///< it goes on
  gradient,    ///< the gradient is as small as asked for
  no_descent,  ///< no lower value was found even along the scaled gradient: rounding is reached
};
/// In words; "" for none.
std::string to_string(LbfgsStop stop);

/// What happened in one iteration, and in all.
struct LbfgsReport {
  double value = 0.0;          ///< where the iteration ended
  double gradient_norm = 0.0;  ///< Euclidean, there
  double step_length = 0.0;    ///< t of x' = x + t d
  std::int64_t evaluations = 0;
  std::int64_t all_evaluations = 0;
  std::int64_t skipped = 0;  ///< of all: pairs whose curvature was too small to trust
  std::int64_t resets = 0;   ///< of all: times that the history was dropped
  LbfgsStop stop = LbfgsStop::none;
};

/// Limited-memory BFGS over all ranks (Nocedal and Wright 2006, algorithm 7.5; strong Wolfe line
/// search). Points, values and gradients are the same on all ranks; the history is shared out (see
/// LbfgsHistory) and every inner product is exact (see Shares), so all ranks take the same branches
/// with the same bits, which do not depend on the number of ranks.
///
/// A direction that does not descend, or along which no lower value is found, drops the history;
/// if the scaled gradient itself leads nowhere, the method stops.
class Lbfgs {
 public:
  /// @param diagonal  [n] float64, D of the initial inverse Hessian gamma diag(D), >= 0
  Lbfgs(Communicator const& comm, Objective& objective, at::Tensor const& diagonal,
        LbfgsOptions const& options);
  Lbfgs(Lbfgs const&) = delete;
  Lbfgs& operator=(Lbfgs const&) = delete;

  /// One step. The first also evaluates where the variables stand, twice.
  /// **Collective**. @throws Error for an objective that is not finite there, or whose second value
  /// at the same point differs from the first (it is no function: dropout, resampling).
  /// What the objective throws leaves all but the variables as it was before.
  LbfgsReport iterate();

  LbfgsReport const& report() const { return report_; }
  LbfgsHistory const& history() const { return history_; }
  /// All that a resumed run needs besides the point. **Collective**.
  NamedTensors state() const;
  void restore(ArraySource const& read);

 private:
  void begin();
  LbfgsReport advance();
  bool move();
  void revisit(at::Tensor const& x, double value);

  Objective& objective_;
  LbfgsOptions options_;
  Shares shares_;
  LbfgsHistory history_;
  at::Tensor x_;  ///< undefined before the first iteration
  ObjectiveValue at_;
  LbfgsReport report_;
};

}  // namespace voxcycle

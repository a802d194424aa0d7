// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/multigrid.hpp"

#include "voxcycle/core/device_graph.hpp"
#include "voxcycle/core/error.hpp"

#include <mutex>
#include <utility>
#include <vector>

#include "poisson/multigrid/chebyshev.hpp"
#include "poisson/multigrid/coarsest_polynomial.hpp"
#include "poisson/multigrid/coarsest_solver.hpp"
#include "poisson/multigrid/deflation.hpp"
#include "poisson/operator/level_operator.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

// Of 1/4, 1/6, 1/8 and 1/12, 1/4 needed the fewest iterations on the kl family with one or two
// steps; 1/3 needs a twentieth more. An F-cycle leaves a quarter less in the energy norm with 1/3.
constexpr Interval smoothed_by_cycle{1.0 / 4.0, 1.0};
constexpr Interval smoothed_by_full_cycle{1.0 / 3.0, 1.0};

// Grids are halved until they have no more nodes than this (5^3 is left of a power of two).
constexpr std::int64_t small_enough = 200;

// Where an axis is odd, grids of no more voxels along an edge end on a polynomial: of 25^3 below
// 100^3 it takes as long as another grid, and leaves a third fewer iterations where nu jumps.
constexpr std::int64_t short_enough = 26;

bool is_solved_directly(Grid3 const& coarsest) {
  return coarsest.node_count() <= CoarsestSolver::node_limit;
}

bool is_coarsest(Grid3 const& grid) {
  if (grid.node_count() <= small_enough) return true;
  return !grid.divisible(1) && (is_solved_directly(grid) || grid.level() <= short_enough);
}

void require_sound(MultigridOptions const& options) {
  VOXCYCLE_REQUIRE(options.smoothing_steps > 0,
                   "multigrid needs at least one smoothing step (without one it is singular).");
  VOXCYCLE_REQUIRE(options.dtype == at::kFloat || options.dtype == at::kDouble,
                   "multigrid works in float32 or float64, not " << options.dtype << ".");
}

struct Level {
  std::unique_ptr<LevelOperator> op;
  std::unique_ptr<Transfer> transfer;  // between the grid below and this one; none on the last
  std::optional<Space> halved;         // what the transfer leads to: the part below is wider
  at::Tensor jacobi_weights;           // of free nodes, zero on Dirichlet nodes: [B, 1, nodes]
};

/// Planes that smoothing, a residual and its restriction make wrong.
std::int64_t wrong_planes(MultigridOptions const& options) {
  return options.smoothing_steps + 2;
}

void require_can_share(Space const& space, MultigridOptions const& options) {
  if (space.is_whole()) return;
  VOXCYCLE_REQUIRE(
      !is_coarsest(space.slab().whole),
      "grid " << space.slab().whole.label() << " is too small to be shared out. Take one process.");
  VOXCYCLE_REQUIRE(wrong_planes(options) <= space.slab().halo,
                   "a halo of " << space.slab().halo << " planes is too narrow for "
                                << options.smoothing_steps << " smoothing steps, which need "
                                << wrong_planes(options) << '.');
}

/// One kind of cycle: done as it is the first time, and as one launch from then on.
class RecordedCycle {
 public:
  /// @param cycle  b to x
  template <class Cycle>
  at::Tensor operator()(at::Tensor const& b, Cycle const& cycle) {
    std::lock_guard const lock(mutex_);
    if (!std::exchange(seen_, true)) return cycle(b);  // makes what is made once
    if (!graph_) {
      b_ = at::empty_like(b);
      graph_ = std::make_unique<DeviceGraph>(b.device().index(), [&] { x_ = cycle(b_); });
    }
    b_.copy_(b);
    graph_->launch();
    return x_.clone();
  }

 private:
  std::mutex mutex_;
  bool seen_ = false;
  at::Tensor b_, x_;
  std::unique_ptr<DeviceGraph> graph_;
};

}  // namespace

struct Multigrid::Impl {
  Impl(std::unique_ptr<LevelOperator> finest, Boundary const& boundary, at::Device device,
       MultigridOptions const& options_in)
      : options(options_in),
        of_cycle(chebyshev_steps(options.smoothing_steps, smoothed_by_cycle)),
        of_full_cycle(chebyshev_steps(options.smoothing_steps, smoothed_by_full_cycle)),
        fields(at::TensorOptions(device).dtype(options_in.dtype)) {
    add_level(std::move(finest), boundary);
    while (!is_coarsest(levels.back().op->space().slab().whole)) {
      Level& fine = levels.back();
      Coarsening coarse = fine.op->coarsened(options.coarse, boundary);
      fine.transfer = std::move(coarse.transfer);
      fine.halved.emplace(coarse.op->space());
      if (!fine.halved->is_whole()) {
        Grid3 const& below = fine.halved->slab().whole;
        bool const ends = is_coarsest(below);
        coarse.op = coarse.op->on(ends ? Space(below) : fine.op->space().below(below));
      }
      add_level(std::move(coarse.op), boundary);
    }
    LevelOperator const& last = *levels.back().op;
    if (is_solved_directly(last.grid())) {
      direct = std::make_unique<CoarsestSolver>(*last.entries(), boundary);
    } else {
      polynomial = std::make_unique<CoarsestPolynomial>(last, levels.back().jacobi_weights);
    }
  }

  void add_level(std::unique_ptr<LevelOperator> op, Boundary const& boundary) {
    Boundary const here = of_part(boundary, op->space().slab());
    at::Tensor const mask = free_node_mask(op->grid(), here, fields);
    at::Tensor const weights = jacobi_weights(*op, mask);
    levels.push_back({std::move(op), nullptr, {}, weights});
  }

  // P^T r for the grid below, right in its whole part.
  at::Tensor restricted(std::size_t index, at::Tensor const& r) const {
    Level const& level = levels[index];
    return level.halved->nodes_on(levels[index + 1].op->space(), level.transfer->restricted(r));
  }

  // x += P e, right in the whole part.
  void add_prolonged(std::size_t index, at::Tensor& x, at::Tensor const& e) const {
    Level const& level = levels[index];
    Space const& below = levels[index + 1].op->space();
    bool const alike = level.halved->is_whole();
    level.transfer->add_prolonged(x, alike ? e : below.nodes_within(*level.halved, e));
    level.op->space().refresh_nodes(x);
  }

  at::Tensor solve_coarsest(at::Tensor const& b) const {
    return direct ? direct->solve(b) : polynomial->solve(b);
  }

  // b is right in the whole part, and so is the result but for two planes of others at least.
  //
  // Values of b on Dirichlet nodes never matter: the smoother multiplies them by zero, and no free
  // coarse node's weights reach a Dirichlet node of the finer grid.
  at::Tensor solve(std::size_t index, at::Tensor const& b, ChebyshevSteps const& steps) const {
    if (index + 1 == levels.size()) {
      return solve_coarsest(b);
    }
    Level const& level = levels[index];
    auto const smooth = [&](at::Tensor const& x) {
      return chebyshev(*level.op, level.jacobi_weights, x, b, steps);
    };
    at::Tensor x = smooth({});
    at::Tensor const coarse_b = restricted(index, level.op->apply(x).neg_().add_(b));
    add_prolonged(index, x, solve(index + 1, coarse_b, steps));
    return smooth(x);
  }

  // Full multigrid. Unlike a cycle's residuals, b comes from outside: free nodes of the coarse
  // grids must not see what it has on Dirichlet nodes, and don't (see above).
  at::Tensor solve_up(std::size_t index, at::Tensor const& b) const {
    if (index + 1 == levels.size()) {
      return solve_coarsest(b);
    }
    Level const& level = levels[index];
    at::Tensor x = at::zeros_like(b);
    add_prolonged(index, x, solve_up(index + 1, restricted(index, b)));
    at::Tensor const r = level.op->apply(x).neg_().add_(b);
    level.op->space().refresh_nodes(r);
    return x.add_(solve(index, r, of_full_cycle));
  }

  // cycle(r) in its type and with the bodies, as the caller gives r and wants the result.
  template <class Cycle>
  at::Tensor around(at::Tensor const& r, RecordedCycle& recorded, Cycle const& cycle) const {
    at::NoGradGuard const no_grad;
    at::Tensor const& shape = levels.front().jacobi_weights;
    VOXCYCLE_REQUIRE(r.sizes() == shape.sizes(),
                     "residual has shape " << r.sizes() << ", expected " << shape.sizes() << ".");
    auto const in_its_type = [&](at::Tensor const& given) {
      at::Tensor const b = given.to(options.dtype).contiguous();
      Space const& space = levels.front().op->space();
      space.refresh_nodes(b);
      bool const records = options.graph && b.is_cuda() && !deflation && space.is_whole();
      return (records ? recorded(b, cycle) : cycle(b)).to(given.scalar_type());
    };
    if (!deflation) return in_its_type(r);
    return deflation->apply(r.to(at::kDouble).contiguous(), in_its_type).to(r.scalar_type());
  }

  MultigridOptions options;
  ChebyshevSteps of_cycle, of_full_cycle;
  at::TensorOptions fields;  // device and type of all fields
  std::vector<Level> levels;
  std::unique_ptr<CoarsestSolver> direct;  // of the coarsest grid: one of the two
  std::unique_ptr<CoarsestPolynomial> polynomial;
  std::optional<Deflation> deflation;
  RecordedCycle recorded_cycle, recorded_full_cycle;
};

Multigrid::Multigrid(Space const& space, Boundary const& boundary, at::Tensor const& nu,
                     MultigridOptions const& options) {
  at::NoGradGuard const no_grad;
  require_valid(space.slab().whole);
  require_sound(options);
  require_can_share(space, options);
  VOXCYCLE_REQUIRE(!options.deflate_bodies || nu.size(0) == 1,
                   "multigrid deflates the bodies of one sample, not of " << nu.size(0) << ".");
  impl_ = std::make_unique<Impl>(make_voxel_operator(space, nu.to(options.dtype).contiguous()),
                                 boundary, nu.device(), options);
  if (options.deflate_bodies) {
    impl_->deflation = Deflation::of(space, boundary, nu);
  }
}

Multigrid::Multigrid(Space const& points, Boundary const& boundary, Couplings const& couplings,
                     MultigridOptions const& options) {
  at::NoGradGuard const no_grad;
  require_sound(options);
  require_can_share(points, options);
  VOXCYCLE_REQUIRE(
      !options.deflate_bodies,
      "bodies are those of voxels, and couplings have none. Leave deflate_bodies out.");
  impl_ = std::make_unique<Impl>(
      make_coupling_operator(points, couplings.values.to(options.dtype).contiguous()), boundary,
      couplings.values.device(), options);
}

Multigrid::~Multigrid() = default;
Multigrid::Multigrid(Multigrid&&) noexcept = default;
Multigrid& Multigrid::operator=(Multigrid&&) noexcept = default;

int Multigrid::levels() const {
  return static_cast<int>(impl_->levels.size());
}

std::int64_t Multigrid::bodies() const {
  return impl_->deflation ? impl_->deflation->bodies() : 0;
}

at::Tensor Multigrid::cycle(at::Tensor const& r) const {
  return impl_->around(r, impl_->recorded_cycle,
                       [this](at::Tensor const& b) { return impl_->solve(0, b, impl_->of_cycle); });
}

at::Tensor Multigrid::full_cycle(at::Tensor const& r) const {
  return impl_->around(r, impl_->recorded_full_cycle,
                       [this](at::Tensor const& b) { return impl_->solve_up(0, b); });
}

}  // namespace voxcycle

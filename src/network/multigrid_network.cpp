// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/multigrid_network.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/network/block.hpp"
#include "voxcycle/network/space.hpp"

#include <iterator>
#include <utility>

#include "network/pass_equation.hpp"
#include <ATen/ATen.h>

namespace voxcycle {

/// The block of grid n; `child` is the number of channels of grid n/2, 0 on the coarsest.
class MultigridNetwork::Level : public torch::nn::Module, public Scripted {
 public:
  Level(std::int64_t inputs, std::int64_t channels, std::int64_t child, Norm norm) {
    stem = register_module("stem", conv({.in = inputs, .out = channels, .bias = Bias::yes}));
    enc = register_module("enc", std::make_shared<Block>(channels, channels, norm));
    head = register_module("head", conv({.kind = ConvKind::node,
                                         .in = channels,
                                         .out = 1,
                                         .bias = Bias::yes,
                                         .start = Start::zero}));
    if (child == 0) return;
    down = register_module("down", conv({.kind = ConvKind::down,
                                         .in = channels,
                                         .out = child,
                                         .bias = Bias::yes,
                                         .start = Start::zero}));
    up = register_module(
        "up", conv({.kind = ConvKind::up, .in = child, .out = channels, .bias = Bias::yes}));
    dec = register_module("dec", std::make_shared<Block>(2 * channels, channels, norm));
  }
  bool coarsest() const { return down == nullptr; }

  /// What run_level does before its recursion.
  /// @param from_finer  empty on the finest level
  Units encode(Pass const& pass, Units const& x, Units const& from_finer) {
    auto const features = [this](Pass const& p, Fields const& in) -> Fields {
      Units const y = stem->forward(p, as_features(p, in[0]));
      return {in[1].empty() ? y : each(y, in[1], [](auto& a, auto& b) { return a + b; })};
    };
    return enc->recomputed(pass, *this, {x, from_finer}, features)[0];
  }

  /// What run_level does after it: features and the head's output.
  /// @param coarse  features of the coarser level
  std::pair<Units, Units> decode(Pass const& pass, Units h, Units coarse) {
    auto const with_coarse = [this](Pass const& p, Fields const& in) -> Fields {
      return {in[0], up->forward(p, in[1])};
    };
    auto const y = dec->recomputed(pass, *this, two_fields(std::move(h), std::move(coarse)),
                                   with_coarse, [this](Pass const& p, Units const& g) {
                                     return Fields{g, head->forward(p, g)};
                                   });
    return {y[0], y[1]};
  }

  std::string script() const override {
    std::string text = R"(
def encode(self, x: Tensor, finer: Optional[Tensor]) -> Tensor:
    h = self.stem.forward(x)
    if finer is not None:
        h = h + finer
    return self.enc.forward(h)
)";
    if (coarsest()) return text;
    return text + R"(
def decode(self, h: Tensor, g: Tensor) -> Tensor:
    return self.dec.forward(torch.cat([h, self.up.forward(g)], 1))
)";
  }

  std::shared_ptr<UnitConv> stem, head, down, up;
  std::shared_ptr<Block> enc, dec;

 private:
  static std::shared_ptr<UnitConv> conv(ConvOptions const& options) {
    return std::make_shared<UnitConv>(options);
  }
};

/// What a level hands to the finer one.
struct MultigridNetwork::Output {
  Units u;  ///< solution on the nodes of this level
  Units g;  ///< decoded features on its voxels
};

namespace {

/// @throws Error saying which levels would do: each doubles the one before.
void require_level(NetworkOptions const& options, Grid3 const& grid) {
  auto const n = level_of(grid);
  auto const& channels = options.channels;
  if (channels.count(n) == 1) return;
  auto coarsest = n;
  while (coarsest % 2 == 0 && coarsest >= 8) coarsest /= 2;
  auto const there = channels.rbegin()->first;
  bool const goes_on = n > there && coarsest == channels.begin()->first;
  std::vector<std::string> levels;
  for (auto level = coarsest; level <= n; level *= 2) {
    if (!goes_on || level > there) levels.push_back(std::to_string(level));
  }
  throw Error("network: no level for grid " + grid.label() +
              (goes_on ? ". Add " : ". Levels double, so let them be ") + join(levels) +
              (goes_on ? " to" : " in") + " network.channels.");
}

}  // namespace

MultigridNetwork::MultigridNetwork(NetworkOptions const& options,
                                   std::shared_ptr<FrameCache> frames)
    : Network(std::move(frames)), options_(options) {
  VOXCYCLE_REQUIRE(!options_.channels.empty(), "network: no levels. Set network.channels.");
  std::int64_t child = 0;
  std::int64_t coarser = 0;
  for (auto const& [n, channels] : options_.channels) {
    VOXCYCLE_REQUIRE(channels > 0, "network: level " << n << " has no channels.");
    VOXCYCLE_REQUIRE(child == 0 || n == 2 * coarser,
                     "network: level " << n << " does not double level " << coarser
                                       << ". List every level from the coarsest on.");
    auto level = std::make_shared<Level>(options_.inputs, channels, child, options_.norm);
    levels_[n] = register_module("level" + std::to_string(n), level);
    child = channels;
    coarser = n;
  }
  initialise_uniform(*this, options_.seed);
}

MultigridNetwork::~MultigridNetwork() = default;

void MultigridNetwork::require_fits(Grid3 const& grid) const {
  require_valid(grid);
  require_level(options_, grid);
  std::int64_t const coarsest = levels_.begin()->first;
  int halvings = 0;
  for (std::int64_t n = level_of(grid); n > coarsest; n /= 2) ++halvings;
  VOXCYCLE_REQUIRE(grid.divisible(halvings), "network: grid "
                                                 << grid.label() << " cannot be halved " << halvings
                                                 << " times down to level " << coarsest
                                                 << ". Every axis must be a multiple of "
                                                 << (1L << halvings) << '.');
}

std::vector<LevelParameters> MultigridNetwork::levels(Grid3 const& grid) const {
  std::vector<LevelParameters> all;
  for (auto const& [n, level] : levels_) {
    if (n > level_of(grid)) break;
    LevelParameters entry{n, {}, {}};
    for (auto const& parameter : level->named_parameters()) {
      entry.parameters.push_back(parameter.value());
      entry.names.push_back("level" + std::to_string(n) + "." + parameter.key());
    }
    all.push_back(std::move(entry));
  }
  return all;
}

namespace {

int levels_of_pass(NetworkOptions const& options, Grid3 const& grid) {
  auto const end = options.channels.upper_bound(level_of(grid));
  return static_cast<int>(std::distance(options.channels.begin(), end));
}

}  // namespace

MultigridNetwork::Output MultigridNetwork::run_level(Pass const& pass, PassEquation& equation,
                                                     Grid3 const& grid, Units const& x,
                                                     Units const& from_finer) {
  auto& level = *levels_.at(level_of(grid));
  auto const& frame = frames()->at(pass, grid);
  Pass const here = pass_on(pass, grid);
  Units h = level.encode(here, own_slabs(here, x), from_finer);

  Units u;
  Units g;
  Units head;
  if (level.coarsest()) {
    g = std::move(h);
    head = level.head->forward(here, g);
    u = equation.coarsest(grid, x);
  } else {
    auto const pooled = each(x, [](at::Tensor const& unit) {
      return at::avg_pool3d(unit, {2, 2, 2});
    });
    bool const whole_below = !pass_on(pass, grid.coarsened()).in_slabs;
    Units below = level.down->forward(here, h);
    if (whole_below) below = gathered(here, below);
    Output coarse = run_level(pass, equation, grid.coarsened(), pooled, below);
    below.clear();
    if (whole_below) coarse.g = own_slabs(here, coarse.g);
    std::tie(g, head) = level.decode(here, std::move(h), std::move(coarse.g));
    u = equation.prolonged(grid, coarse.u);
  }
  head = gathered_nodes(here, head);
  double const scale = options_.correction_scale / static_cast<double>(level_of(grid));
  u = each(u, head, [&](at::Tensor const& base, at::Tensor const& correction) {
    return at::addcmul(base, frame.mask, correction.to(base.scalar_type()).contiguous(), scale);
  });
  if (from_finer.empty()) g.clear();  // nobody asks for them
  return {equation.smoothed(grid, u, x), g};
}

namespace {

/// What run_level hands to the finer level.
struct PlannedOutput {
  Field u, g;
};

/// run_level line by line.
PlannedOutput plan_level(NetworkOptions const& options, Tape& tape, PlannedEquation const& equation,
                         Grid3 const& grid, Field const& x, Field const& from_finer) {
  auto const here = options.channels.find(level_of(grid));
  std::int64_t const channels = here->second;
  auto const planned = [&](ConvOptions const& conv, Field const& in) {
    return UnitConv::plan(conv, tape, in);
  };
  tape.meet(grid);
  Grid3 const slab = tape.options().slabs.part_of(grid);
  Field own = x;
  if (tape.options().slabs.cut(grid)) {
    own = tape.voxels(slab, options.inputs);
    own.in_slabs = true;
  }
  auto const features = [=](Tape& t, std::vector<Field> const& in) {
    Field const y = UnitConv::plan({.in = options.inputs, .out = channels, .bias = Bias::yes}, t,
                                   plan_features(t, in[0]));
    return std::vector{in[1].exists() ? t.sum(y, in[1]) : y};
  };
  Field const h =
      Block::plan({channels, channels, options.norm}, tape, {own, from_finer}, features)[0];
  ConvOptions const to_nodes{.kind = ConvKind::node, .in = channels, .out = 1, .bias = Bias::yes};

  Field u;
  Field g;
  Field head;
  if (here == options.channels.begin()) {
    g = h;
    head = planned(to_nodes, g);
    u = equation.coarsest(grid);
  } else {
    std::int64_t const child = std::prev(here)->second;
    Field const pooled = tape.voxels(grid.coarsened(), options.inputs);
    Grid3 const coarser = grid.coarsened();
    bool const whole_below = !tape.options().slabs.cut(coarser);
    Field below =
        planned({.kind = ConvKind::down, .in = channels, .out = child, .bias = Bias::yes}, h);
    if (whole_below) below = plan_gathered(tape, below, coarser);
    PlannedOutput coarse = plan_level(options, tape, equation, coarser, pooled, below);
    below = {};
    if (whole_below) coarse.g = plan_own_slab(tape, coarse.g, slab.coarsened());
    auto const with_coarse = [=](Tape& t, std::vector<Field> const& in) {
      ConvOptions const up{.kind = ConvKind::up, .in = child, .out = channels, .bias = Bias::yes};
      return std::vector{in[0], UnitConv::plan(up, t, in[1])};
    };
    auto const decoded = Block::plan({2 * channels, channels, options.norm}, tape, {h, coarse.g},
                                     with_coarse, [=](Tape& t, Field const& y) {
                                       return std::vector{y, UnitConv::plan(to_nodes, t, y)};
                                     });
    g = decoded[0];
    head = decoded[1];
    u = equation.prolonged(grid, coarse.u);
  }
  u = plan_correction(tape, u, plan_gathered_nodes(tape, head, grid));
  return {equation.smoothed(u, x), g};
}

}  // namespace

Field MultigridNetwork::plan(NetworkOptions const& options, Tape& tape, Grid3 const& grid,
                             Field const& x) {
  require_level(options, grid);
  PlannedEquation const equation(tape, grid, levels_of_pass(options, grid));
  return plan_level(options, tape, equation, grid, x, {}).u;
}

Units MultigridNetwork::forward(Pass const& pass, Grid3 const& grid, Units const& x) {
  require_fits(grid);
  pass.slabs.require_fits(grid);
  auto const equation = equation_of(pass, *frames(), grid, x, levels_of_pass(options_, grid));
  return run_level(pass, *equation, grid, x, {}).u;
}

namespace {

/// What runs on the coarsest level, on the way up a level and after its correction; self.frame is
/// export's.
struct ScriptedEquation {
  char const* parameters;  ///< of a level's run, beside x and what comes from the finer one
  char const* arguments;   ///< of the next coarser level's run
  char const* coarsest;
  char const* raised;
  char const* smoothed;
};

ScriptedEquation scripted_equation(CoarseLevels coarse) {
  if (coarse == CoarseLevels::black_box) {
    return {", nested: List[List[Tensor]], level: int", ", nested, level + 1", "nested[level][1]",
            "self.frame.raised(nested[level], u, x)",
            "self.frame.smooth_nested(nested[level], u, x)"};
  }
  return {"", "", "self.frame.lift(x)", "self.frame.raised_by_averages(u, x)",
          "self.frame.smooth(u, x)"};
}

}  // namespace

std::string MultigridNetwork::script() const {
  auto const equation = scripted_equation(options_.coarse);
  std::vector<std::string> known;
  std::string runs;
  std::string choices;
  for (auto const& [n, level] : levels_) {
    auto const here = std::to_string(n);
    known.push_back(here);
    runs += "def run" + here + "(self, x: Tensor, finer: Optional[Tensor]" + equation.parameters +
            ") -> Tuple[Tensor, Tensor]:\n    block = self.level" + here + "\n";
    if (level->coarsest()) {
      runs += std::string("    g = block.encode(x, finer)\n    u = ") + equation.coarsest + "\n";
    } else {
      runs += "    h = block.encode(x, finer)\n    u, g = self.run" + std::to_string(n / 2) +
              "(torch.avg_pool3d(x, [2, 2, 2]), block.down.forward(h)" + equation.arguments +
              ")\n    g = block.decode(h, g)\n    u = " + equation.raised + "\n";
    }
    runs += format("    head = block.head.forward(g) * %.17g\n",
                   options_.correction_scale / static_cast<double>(n)) +
            "    u = u + self.frame.mask(x) * head\n    return " + equation.smoothed + ", g\n\n";
    auto const nested = ", self.frame.nest(x, " + std::to_string(known.size()) + "), 0";
    choices += "    if n == " + here + ":\n        u = self.run" + here + "(x, None" +
               (options_.coarse == CoarseLevels::black_box ? nested : "") + ")[0]\n";
  }
  long const coarsest = static_cast<long>(levels_.begin()->first);
  auto const list = join(known);
  return runs +
         format(R"(
def require_fits(self, nx: int, ny: int, nz: int) -> None:
    n = max(max(nx, ny), nz)
    assert n in [%s], ("network: no level for grid {}x{}x{}. Its largest number of voxels along an "
        "axis must be one of %s.").format(nx, ny, nz)
    parts = n // %ld
    assert nx %% parts == 0 and ny %% parts == 0 and nz %% parts == 0, ("network: grid {}x{}x{} "
        "cannot be halved down to level %ld. Every axis must be a multiple of {}.").format(
        nx, ny, nz, parts)

def forward(self, x: Tensor) -> Tensor:
    n = max(max(x.size(2), x.size(3)), x.size(4))
    u = x
)",
                list.c_str(), list.c_str(), coarsest, coarsest) +
         choices + "    return u\n";
}

}  // namespace voxcycle

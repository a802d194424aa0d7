// SPDX-License-Identifier: BSD-3-Clause
#include "network/multigrid/multigrid_script.hpp"

#include "voxcycle/core/text.hpp"

#include <vector>

namespace voxcycle {
namespace {

/// What runs on the coarsest level, on the way up a level and after its correction.
struct Equation {
  char const* made;        ///< for a pass: x of its grid, `levels` of them
  char const* parameters;  ///< of a level's run, beside x and what comes from the finer one
  char const* arguments;   ///< of the finest block's run, on grid `level` of the pass
  char const* coarser;     ///< of the next coarser level's
  char const* coarsest;
  char const* raised;
  char const* smoothed;
};

Equation equation_of(CoarseLevels coarse) {
  if (coarse == CoarseLevels::black_box) {
    return {.made = "    nested = self.frame.nest(x, levels)\n",
            .parameters = ", nested: List[List[Tensor]], level: int",
            .arguments = ", nested, level",
            .coarser = ", nested, level + 1",
            .coarsest = "nested[level][1]",
            .raised = "self.frame.raised(nested[level], u, x)",
            .smoothed = "self.frame.smooth_nested(nested[level], u)"};
  }
  return {.made = "",
          .parameters = "",
          .arguments = "",
          .coarser = "",
          .coarsest = "self.frame.lift(x)",
          .raised = "self.frame.raised_by_averages(u, x)",
          .smoothed = "self.frame.smooth(u, x)"};
}

/// From u and g to u on the level, corrected and smoothed.
std::string end_of_level(NetworkOptions const& options, Equation const& equation, std::int64_t n) {
  std::string const smoothed = std::string("    return ") + equation.smoothed + ", g\n\n";
  if (options.directions > 0) {
    if (n == options.channels.begin()->first) return smoothed;
    return "    head = block.head.forward(g)\n"
           "    return self.frame.corrected(nested[level], u, head, x), g\n\n";
  }
  return format("    head = block.head.forward(g) * %.17g\n",
                options.correction_scale / static_cast<double>(n)) +
         "    u = u + self.frame.mask(x) * self.frame.size * head\n" + smoothed;
}

/// MultigridNetwork::run_level of level n.
std::string run_of_level(NetworkOptions const& options, Equation const& equation, std::int64_t n) {
  auto const here = std::to_string(n);
  std::string text = "def run" + here + "(self, x: Tensor, finer: Optional[Tensor]" +
                     equation.parameters + ") -> Tuple[Tensor, Tensor]:\n    block = self.level" +
                     here + "\n";
  if (n == options.channels.begin()->first) {
    text += std::string("    g = block.encode(x, finer)\n    u = ") + equation.coarsest + "\n";
  } else {
    text += "    h = block.encode(x, finer)\n    u, g = self.run" + std::to_string(n / 2) +
            "(torch.avg_pool3d(x, [2, 2, 2]), block.down.forward(h)" + equation.coarser +
            ")\n    g = block.decode(h, g)\n    u = " + equation.raised + "\n";
  }
  return text + end_of_level(options, equation, n);
}

}  // namespace

std::string multigrid_script(NetworkOptions const& options) {
  auto const equation = equation_of(options.coarse);
  std::vector<std::string> known;
  std::string runs;
  std::string choices;
  for (auto const& [n, channels] : options.channels) {
    auto const here = std::to_string(n);
    known.push_back(here);
    runs += run_of_level(options, equation, n);
    choices += "    if n == " + here + ":\n        u = self.run" + here + "(x, None" +
               equation.arguments + ")[0]\n";
  }
  long const coarsest = static_cast<long>(options.channels.begin()->first);
  auto const list = join(known);
  // Finer grids, with smoothing steps alone.
  bool const goes_on = options.smoothing > 0;
  auto const halved =
      goes_on ? "    while n > " + known.back() + " and n % 2 == 0:\n        n = n // 2\n"
              : std::string();
  return runs + "def block_of(self, n: int) -> int:\n" + halved + "    return n\n" +
         format(R"(
def require_fits(self, nx: int, ny: int, nz: int) -> None:
    n = max(max(nx, ny), nz)
    assert self.block_of(n) in [%s], ("network: no level for grid {}x{}x{}. Its largest number of "
        "voxels along an axis must be one of %s%s.").format(nx, ny, nz)
    parts = n // %ld
    assert nx %% parts == 0 and ny %% parts == 0 and nz %% parts == 0, ("network: grid {}x{}x{} "
        "cannot be halved down to level %ld. Every axis must be a multiple of {}.").format(
        nx, ny, nz, parts)

def forward(self, x: Tensor) -> Tensor:
    n = max(max(x.size(2), x.size(3)), x.size(4))
    levels = 1
    coarse = n
    while coarse > %ld:
        coarse = coarse // 2
        levels += 1
)",
                list.c_str(), list.c_str(), goes_on ? ", or double the last" : "", coarsest,
                coarsest, coarsest) +
         equation.made + R"(
    finer: List[Tensor] = []
    while n > self.block_of(n):
        finer.append(x)
        x = torch.avg_pool3d(x, [2, 2, 2])
        n = n // 2
    level = len(finer)
    u = x
)" + choices +
         R"(    while level > 0:
        level -= 1
        x = finer[level]
        u = )" +
         equation.raised + "\n        u = " + equation.smoothed + "\n    return u\n";
}

}  // namespace voxcycle

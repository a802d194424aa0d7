// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/report/html.hpp"

namespace voxcycle::html {

char const* const style_sheet = R"(
:root {
  color-scheme: light dark;
  --page: #ffffff; --text: #1d2733; --quiet: #5b6876; --rule: #dde3e9; --panel: #f5f7f9;
  --band: #eef2f6; --shadow: #1d273333; --accent: #1f5fa6; --warn: #9a3412;
  --series-0: #284ad9; --series-1: #ad3900; --series-2: #007d50; --series-3: #a786be;
  --series-4: #1d2733; --series-5: #2e97ff; --series-6: #d28300;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14191f; --text: #dfe5ec; --quiet: #94a1af; --rule: #2d3742; --panel: #1b222a;
    --band: #1e262f; --shadow: #00000080; --accent: #7db4ee; --warn: #f3a683;
    --series-0: #50cdfe; --series-1: #d6c70a; --series-2: #079a5c; --series-3: #b171a1;
    --series-4: #dfe5ec; --series-5: #2a5cdb; --series-6: #b43f08;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2.2rem 1.25rem 3rem; max-width: 1080px;
  background: var(--page); color: var(--text);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 1.2rem; letter-spacing: -0.01em; }
h2 { font-size: 1.2rem; margin: 2.6rem 0 0.8rem; }
h3 { font-size: 1rem; margin: 0 0 0.3rem; }
p { margin: 0.6rem 0; max-width: 48rem; }
p.result { font-size: 1.15rem; font-weight: 600; }
.quiet { color: var(--quiet); font-size: 0.9rem; }
.warn { color: var(--warn); font-weight: 600; }
.figures { display: flex; flex-wrap: wrap; gap: 0.75rem; margin: 0 0 1rem; }
.figure { flex: 1 1 9.5rem; padding: 0.8rem 1rem 0.7rem; background: var(--panel);
  border-radius: 8px; }
.figure b { display: block; font-size: 1.55rem; line-height: 1.3; font-weight: 600;
  font-variant-numeric: tabular-nums; white-space: nowrap; }
.figure span { color: var(--quiet); font-size: 0.87rem; }
.figure.main b { color: var(--accent); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 0.3rem 1.1rem 0.3rem 0; border-bottom: 1px solid var(--rule);
  vertical-align: top; }
th { font-weight: 500; color: var(--quiet); }
.summary td { overflow-wrap: anywhere; }
.summary th { white-space: nowrap; padding-right: 1.6rem; }
/* A shadow at an edge where more is to be scrolled to: scroll bars may hide. */
.scroll { overflow-x: auto; background:
    linear-gradient(to right, var(--page) 40%, transparent) left / 2.5rem 100% local,
    linear-gradient(to left, var(--page) 40%, transparent) right / 2.5rem 100% local,
    linear-gradient(to right, var(--shadow), transparent) left / 0.8rem 100% scroll,
    linear-gradient(to left, var(--shadow), transparent) right / 0.8rem 100% scroll;
  background-repeat: no-repeat; }
.errors { font-size: 0.94rem; line-height: 1.4; }
.errors th, .errors td { text-align: right; padding-left: 1rem; padding-right: 0; }
.errors th { vertical-align: bottom; }
.errors td { white-space: nowrap; }
.errors th:first-child, .errors td:first-child { text-align: left; padding-left: 0; }
.errors td:first-child { white-space: normal; min-width: 7rem; overflow-wrap: anywhere; }
.errors .worst td { background: var(--panel); font-weight: 600; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 430px), 1fr));
  gap: 1.6rem 1.8rem; }
figure { margin: 0; }
figcaption { color: var(--quiet); font-size: 0.88rem; line-height: 1.45; margin-top: 0.35rem; }
.chart svg { display: block; width: 100%; max-width: 540px; height: auto; }
.legend { margin-bottom: 0.25rem; display: flex; flex-wrap: wrap; gap: 0.15rem 1.1rem; color: var(--text); }
.legend svg { width: 2.45em; height: 0.9em; vertical-align: -0.08em; margin-right: 0.35em;
  display: inline; }
svg text { fill: var(--quiet); font-size: 11px; font-family: inherit; }
svg .band { fill: var(--band); }
svg .open { fill: transparent; }
svg .gridline { stroke: var(--rule); stroke-width: 1; }
svg .axis { stroke: var(--quiet); stroke-width: 1; }
svg .line { fill: none; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round; }
svg .faint { stroke-width: 1; opacity: 0.38; }
svg .s0 { stroke: var(--series-0); } svg .s1 { stroke: var(--series-1); }
svg .s2 { stroke: var(--series-2); } svg .s3 { stroke: var(--series-3); }
svg .s4 { stroke: var(--series-4); } svg .s5 { stroke: var(--series-5); }
svg .s6 { stroke: var(--series-6); }
svg .dashed { stroke-dasharray: 6 4; }
svg .dotted { stroke-dasharray: 1 4; }
svg .dash-dot { stroke-dasharray: 9 4 1 4; }
svg .mark { fill: var(--page); stroke-width: 1.6; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(46%, 190px), 1fr));
  gap: 1.1rem; margin: 0.7rem 0 1.6rem; max-width: 1040px; }
.pictures figure { max-width: 320px; }
.pictures img { display: block; width: 100%; max-height: 32rem; object-fit: contain;
  object-position: left; image-rendering: pixelated; border-radius: 3px; }
.pictures .bar { height: 0.6rem; margin-top: 0.45rem; border-radius: 2px; object-fit: fill;
  image-rendering: auto; }
.range { display: flex; justify-content: space-between; font-size: 0.8rem; color: var(--quiet);
  font-variant-numeric: tabular-nums; line-height: 1.4; }
.switch { margin-right: 0.7rem; font-size: 0.9rem; white-space: nowrap; }
#axis-time:checked ~ .by-work, #axis-work:checked ~ .by-time { display: none; }
.errors .best { color: var(--accent); font-weight: 600; }
.errors small { display: block; color: var(--quiet); font-weight: 400; white-space: nowrap; }
.errors td:first-child small { white-space: normal; }
.scroll + h3, .charts + h3 { margin-top: 1.5rem; }
.errors small.warn { color: var(--warn); }
.by-time, .by-work { margin-top: 1rem; }
details { margin: 1rem 0; }
summary { cursor: pointer; color: var(--accent); }
pre { background: var(--panel); border-radius: 8px; padding: 0.9rem 1rem; overflow-x: auto;
  font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.4rem 1.4rem; margin: 0;
  max-width: 52rem; font-size: 0.94rem; }
dt { font-weight: 600; }
dd { margin: 0; color: var(--quiet); }
@media (max-width: 600px) {
  body { padding: 1.3rem 1rem 2rem; }
  svg text { font-size: 12.5px; }
  .summary th, .summary td { display: block; padding-right: 0; }
  .summary th { border: 0; padding-bottom: 0; }
  .summary td { padding-top: 0; }
  h1 { font-size: 1.4rem; }
  .figure { flex-basis: 8rem; }
  .figure b { font-size: 1.3rem; }
  dl { grid-template-columns: 1fr; gap: 0.1rem; }
  dd { margin-bottom: 0.6rem; }
}
@media (max-width: 900px) {
  .errors { font-size: 0.82rem; }
  .errors th, .errors td { padding-left: 0.6rem; }
}
@media print {
  body { max-width: none; padding: 0; }
  details:not([open]) { display: none; }
  .figure { border: 1px solid var(--rule); }
  .scroll { overflow: visible; background: none; }
  .errors { font-size: 0.75rem; }
  .errors th, .errors td { padding-left: 0.45rem; }
  .errors td { white-space: normal; }
  pre { white-space: pre-wrap; }
  figure, tr { break-inside: avoid; }
}
)";

}  // namespace voxcycle::html

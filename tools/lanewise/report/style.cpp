#include "report/page.h"

namespace lanewise::program::report {

// Two schemes, one set of names. The six series are told apart by shape too; their colours keep a contrast of 3 : 1 to
// the ground in both schemes, and differ in lightness for those who see fewer hues.
const char* const page_style = R"css(
:root{color-scheme:light dark;--ground:#f7f6f2;--card:#fffefb;--ink:#1b2127;--soft:#59636d;--rule:#d8d4ca;--grid:#ebe8e0;
--stripe:#f5f3ec;--accent:#0a5c9e;--good:#08734f;--bad:#b3261e;
--s0:#0a5fa8;--s1:#cb4f0c;--s2:#07835c;--s3:#a0468e;--s4:#8f6b00;--s5:#4a545e}
@media (prefers-color-scheme:dark){:root{--ground:#12161a;--card:#191f25;--ink:#e7eaec;--soft:#a3adb6;--rule:#37414a;
--grid:#28313a;--stripe:#1e252c;--accent:#7cc0f8;--good:#4fd3a2;--bad:#ff8a80;
--s0:#5fb3f5;--s1:#ff9257;--s2:#37cf9c;--s3:#ec9fd6;--s4:#e4c24e;--s5:#b7c1ca}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif;
font-variant-numeric:tabular-nums}
main,header,footer{max-width:1040px;margin:0 auto;padding:0 20px}
header{padding-top:44px}
h1{font-size:2.1rem;line-height:1.15;letter-spacing:-.02em;margin:0 0 .25em}
h2{font-size:1.45rem;line-height:1.25;letter-spacing:-.01em;margin:2.6em 0 .5em;padding-top:.9em;border-top:1px solid var(--rule)}
h3{font-size:1.08rem;line-height:1.3;margin:0}
p{margin:.4em 0;max-width:46em}
a{color:var(--accent)}
.lead,figcaption p,.note{color:var(--soft)}
nav{margin:18px 0 0;display:flex;flex-wrap:wrap;gap:6px 18px;font-size:.95rem}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(200px,1fr));gap:14px;margin:26px 0 0;padding:0;list-style:none}
.tiles li{background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:14px 16px}
.tiles b{display:block;font-size:1.7rem;line-height:1.2;letter-spacing:-.02em;font-weight:650}
.tiles span{display:block;color:var(--soft);font-size:.88rem;line-height:1.4}
.good{color:var(--good)}.bad{color:var(--bad)}
figure{margin:22px 0;background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:18px 20px 14px}
figcaption{margin-bottom:14px}
figcaption p{font-size:.92rem;line-height:1.5;margin:.3em 0 0}
svg{display:block;width:100%;height:auto;overflow:visible;font-family:system-ui,-apple-system,"Segoe UI",sans-serif}
.narrow{display:none}
.narrow svg{max-width:460px;margin:0 auto}
@media (max-width:719px){.wide{display:none}.narrow{display:block}main,header,footer{padding:0 12px}header{padding-top:28px}
figure{padding:14px 12px 10px}h1{font-size:1.7rem}}
.facts{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;margin:.6em 0;font-size:.93rem}
.facts dt{color:var(--soft)}.facts dd{margin:0;overflow-wrap:anywhere}
code{font-family:ui-monospace,"DejaVu Sans Mono",Menlo,monospace;font-size:.86em;overflow-wrap:anywhere}
pre{background:var(--stripe);border:1px solid var(--rule);border-radius:6px;padding:10px 12px;margin:.6em 0;white-space:pre-wrap}
details{margin:10px 0 0;font-size:.92rem}
summary{cursor:pointer;color:var(--accent)}
.scroll{overflow:auto;max-height:26rem;margin:8px 0 4px;border:1px solid var(--rule);border-radius:6px}
table{border-collapse:collapse;font-size:.84rem;line-height:1.35;min-width:100%}
th,td{padding:4px 10px;text-align:left;white-space:nowrap}
th{position:sticky;top:0;background:var(--stripe);font-weight:600;border-bottom:1px solid var(--rule)}
td.n,th.n{text-align:right}
tbody tr:nth-child(even){background:var(--stripe)}
footer{padding-top:30px;padding-bottom:50px;color:var(--soft);font-size:.88rem}
.s0{--c:var(--s0)}.s1{--c:var(--s1)}.s2{--c:var(--s2)}.s3{--c:var(--s3)}.s4{--c:var(--s4)}.s5{--c:var(--s5)}
.mark{fill:var(--c);fill-opacity:.82;stroke:var(--card);stroke-width:.7}
.mark.hollow{fill:var(--card);fill-opacity:1;stroke:var(--c);stroke-width:1.6}
.mark:hover{fill-opacity:1;stroke:var(--ink);stroke-width:1.6}
.fill{fill:var(--c)}
.line{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.curve{stroke-width:1.5;stroke-opacity:.75}
.curve:hover{stroke-width:4;stroke-opacity:1}
.floor{stroke:var(--ink);stroke-width:1.8}
.alone{stroke:var(--soft);stroke-width:1.5;stroke-dasharray:4 4}
.front{stroke:var(--s0);stroke-width:1.5;stroke-opacity:.6}
.span{stroke:var(--c);stroke-width:2;stroke-opacity:.5}
.leader{stroke:var(--soft);stroke-width:.8}
.grid{stroke:var(--grid);stroke-width:1}
.axis{stroke:var(--soft);stroke-width:1}
.divide{stroke:var(--ink);stroke-width:1.4}
.stripe{fill:var(--stripe)}
.empty{fill:none;stroke:var(--grid)}
text{fill:var(--ink)}
.tick{font-size:11.5px;fill:var(--soft)}
.tick.small{font-size:9.5px}
.name{font-size:12px;fill:var(--soft)}
.label{font-size:12px}
.label.soft{fill:var(--soft)}
.halo{paint-order:stroke;stroke:var(--card);stroke-width:4;stroke-linejoin:round}
.panel{font-size:12.5px;font-weight:600}
.cell{font-size:11px;pointer-events:none}
.on-dark{fill:#fff}.on-light{fill:#111}
@media print{body{background:#fff}figure{break-inside:avoid}}
)css";

}  // namespace lanewise::program::report

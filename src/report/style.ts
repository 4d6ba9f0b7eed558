// The style sheet of a report. System fonts, one column, no animation; every colour comes from colours.ts.

import { COLOURS, type Shade, TONES } from "./colours.ts";

function variables(scheme: keyof Shade): string {
  return Object.entries(COLOURS)
    .map(([name, shade]) => `--${name}:${shade[scheme]}`)
    .join(";");
}

const TONE_RULES = TONES.map(
  (tone) => `.t-${tone}{color:var(--${tone})}.f-${tone}{fill:var(--${tone});stroke:var(--${tone})}`,
).join("\n");

export const STYLE = `
:root{color-scheme:light dark;${variables("light")}}
@media (prefers-color-scheme:dark){:root{${variables("dark")}}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-padding-top:1rem}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
main,header,footer{max-width:72rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2.5rem}
footer{padding-top:1.5rem;padding-bottom:3rem;color:var(--quiet);font-size:.875rem}
h1{font-size:1.625rem;line-height:1.25;font-weight:650;letter-spacing:-.01em;margin:0 0 .25rem}
h2{font-size:1.125rem;line-height:1.3;font-weight:650;margin:0 0 .75rem}
h3{font-size:1rem;font-weight:650;margin:1.25rem 0 .5rem}
p{margin:0 0 .75rem;max-width:46rem}
code,.mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;font-size:.875em}
a{color:var(--link);text-underline-offset:.15em}
:focus-visible{outline:3px solid var(--link);outline-offset:2px;border-radius:3px}
svg a:focus-visible{outline:none}
svg a:focus-visible .ring{stroke:var(--link);stroke-width:3}
.quiet{color:var(--quiet)}
.lead{color:var(--quiet);margin-bottom:1.5rem}
.skip{position:absolute;left:-999rem;top:.5rem;background:var(--sheet);padding:.5rem .75rem;border:1px solid var(--rule);border-radius:4px;z-index:1}
.skip:focus{left:.5rem}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;padding:0;margin:0 0 1.5rem;font-size:.9375rem}
section{background:var(--sheet);border:1px solid var(--rule);border-radius:8px;padding:1.25rem;margin:0 0 1.25rem}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,14rem),1fr));gap:1rem 1.25rem;margin:0}
.facts div{min-width:0}
dt{color:var(--quiet);font-size:.8125rem}
dd{margin:0}
.facts dd{font-size:1.0625rem}
.facts dd small{display:block;color:var(--quiet);font-size:.8125rem;line-height:1.4}
.plain dt{margin-top:.625rem}
.plain{margin:0 0 1rem}
.word{font-weight:650;white-space:nowrap}
.word::before{content:"";display:inline-block;width:.625rem;height:.625rem;margin-right:.4rem;border-radius:2px;background:currentColor}
${TONE_RULES}
.scroll{overflow-x:auto;background:linear-gradient(90deg,var(--sheet) 30%,transparent) 0 0/2.5rem 100% no-repeat local,linear-gradient(270deg,var(--sheet) 30%,transparent) 100% 0/2.5rem 100% no-repeat local,linear-gradient(90deg,var(--rule),transparent) 0 0/.75rem 100% no-repeat scroll,linear-gradient(270deg,var(--rule),transparent) 100% 0/.75rem 100% no-repeat scroll}
.run .scroll{background:none}
table{border-collapse:collapse;width:100%;font-size:.875rem}
caption{text-align:left;color:var(--quiet);padding:0 0 .5rem;font-size:.875rem}
th,td{text-align:left;vertical-align:top;padding:.375rem .75rem .375rem 0;border-bottom:1px solid var(--rule);overflow-wrap:break-word;max-width:22rem}
th{font-weight:600;color:var(--quiet);white-space:nowrap;overflow-wrap:normal}
tbody th{color:inherit;font-weight:500;white-space:normal}
td.wide{min-width:14rem;max-width:none;overflow-wrap:anywhere}
caption.hush{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
td.n,th.n{text-align:right;white-space:nowrap;overflow-wrap:normal}
tbody tr:last-child>*{border-bottom:0}
th:last-child,td:last-child{padding-right:0}
tr:target>*{background:var(--track)}
ol.denials{list-style:none;margin:0;padding:0}
.denials li{border-left:4px solid var(--bad);padding:.125rem 0 .125rem .875rem;margin:0 0 1rem}
.denials li:last-child{margin-bottom:0}
.denials li:target{background:var(--track)}
.denials p{margin:.125rem 0 0}
.denials .why{max-width:none}
details{margin-top:.75rem}
summary{cursor:pointer;font-weight:500;padding:.25rem 0}
details>.scroll,details>table{margin-top:.5rem}
figure{margin:0}
figure svg{display:block;width:100%;overflow:visible}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;padding:0;margin:.75rem 0 0;font-size:.8125rem;color:var(--quiet)}
.legend svg{display:inline-block;width:1.25rem;height:.875rem;vertical-align:-.1rem;margin-right:.35rem}
svg text{fill:var(--quiet);font-size:12px}
.grid{stroke:var(--rule);stroke-width:1}
.track{fill:var(--track)}
.bar{stroke-width:1.5}
.soft{fill-opacity:.3}
.edge{fill:var(--sheet);stroke-width:2}
.ring{stroke:var(--sheet);stroke-width:1.5}
.rows{list-style:none;margin:0;padding:0;font-size:.875rem}
.rows li{display:grid;grid-template-columns:minmax(8rem,14rem) minmax(0,1fr) minmax(9rem,13rem);gap:0 1rem;align-items:center;padding:.1875rem 0;border-bottom:1px solid var(--rule)}
.rows li:last-child{border-bottom:0}
.rows svg{display:block;width:100%;overflow:visible}
.rows .axis{color:var(--quiet)}
.counts li{grid-template-columns:8.5rem minmax(0,1fr) 6rem}
.run>summary{font-size:1.0625rem}
.run section{background:none;padding:1rem 0 0;border:0;border-top:1px solid var(--rule);border-radius:0;margin:1rem 0 0}
@media (max-width:40rem){
main,header,footer{padding-left:.875rem;padding-right:.875rem}
header{padding-top:1.5rem}
section{padding:.875rem}
.rows li{grid-template-columns:minmax(0,1fr) auto;gap:.125rem .75rem;padding:.375rem 0}
.rows li>.line{grid-column:1/-1;grid-row:2}
.rows li>.end{text-align:right}
.facts{grid-template-columns:repeat(2,minmax(0,1fr))}
}
@media print{body{background:none}section{break-inside:avoid}.skip,nav{display:none}}
`.trim();

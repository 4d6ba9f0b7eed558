// A time axis in per cent of its width, so that a drawing fits any width without a script. Shared by the timeline and the gantt.

import { html, type Markup } from "./markup.ts";
import { axisStep } from "./words.ts";

export interface Scale {
  readonly fromMs: number;
  /** At least one millisecond. */
  readonly totalMs: number;
}

export function createScale(fromMs: number, toMs: number): Scale {
  return { fromMs, totalMs: Math.max(1, toMs - fromMs) };
}

/** Position in per cent, within 0 and 100. */
export function placeOf({ fromMs, totalMs }: Scale, ms: number): number {
  const share = ((ms - fromMs) / totalMs) * 100;
  return Math.round(Math.min(100, Math.max(0, share)) * 1000) / 1000;
}

const TICKS = 5;

function ticksOf({ totalMs }: Scale): number[] {
  const step = axisStep(totalMs, TICKS);
  const ticks: number[] = [];
  for (let at = 0; at <= totalMs; at += step) ticks.push(at);
  return ticks;
}

/** Lines from `top` to `bottom`, in pixels. */
export function renderGrid(scale: Scale, top: number, bottom: number): Markup[] {
  return ticksOf(scale).map((at) => {
    const x = placeOf(scale, scale.fromMs + at);
    return html`<line class="grid" x1="${x}%" x2="${x}%" y1="${top}" y2="${bottom}"/>`;
  });
}

/** Labels of the ticks, with their base line at `y`. */
export function renderTickLabels(scale: Scale, y: number): Markup[] {
  return ticksOf(scale).map((at) => {
    const x = placeOf(scale, scale.fromMs + at);
    const anchor = x < 3 ? "start" : x > 94 ? "end" : "middle";
    return html`<text x="${x}%" y="${y}" text-anchor="${anchor}">${describeTick(at, scale.totalMs)}</text>`;
  });
}

function describeTick(ms: number, totalMs: number): string {
  if (ms === 0) return "0";
  if (totalMs < 1_000) return `${Math.round(ms)} ms`;
  if (totalMs < 120_000) return `${Math.round(ms / 10) / 100} s`;
  const minutes = ms / 60_000;
  if (totalMs < 7_200_000) return `${Math.round(minutes * 10) / 10} min`;
  return `${Math.round(minutes / 6) / 10} h`;
}

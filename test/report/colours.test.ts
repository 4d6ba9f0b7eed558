import { expect, test } from "vitest";
import { COLOURS, TONES, toneOf } from "../../src/report/colours.ts";
import { STYLE } from "../../src/report/style.ts";

/** WCAG 2.2, relative luminance and contrast. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

test("the measure itself: black on white is 21, a known grey 4.54", () => {
  expect(contrast("#000000", "#ffffff")).toBeCloseTo(21, 5);
  expect(contrast("#767676", "#ffffff")).toBeCloseTo(4.54, 2);
});

for (const scheme of ["light", "dark"] as const)
  test.each(["ink", "quiet", "link", ...TONES] as const)(
    `${scheme}: %s can be read on paper, sheet and track`,
    (name) => {
      for (const behind of ["paper", "sheet", "track"] as const)
        expect(contrast(COLOURS[name][scheme], COLOURS[behind][scheme]), behind).toBeGreaterThanOrEqual(4.5);
    },
  );

test("every colour of the sheet is a variable, and every variable is there", () => {
  const rules = STYLE.replace(/:root\{[^}]*\}/g, "");
  expect(rules.match(/#[0-9a-f]{3,8}\b|rgba?\(|hsla?\(/gi)).toBeNull();
  for (const [, name = ""] of rules.matchAll(/var\(--(\w+)\)/g)) expect(Object.keys(COLOURS)).toContain(name);
});

test("an outcome that is not known has a tone", () => {
  expect([toneOf("success"), toneOf("constructor"), toneOf("<x>")]).toEqual(["good", "still", "still"]);
});

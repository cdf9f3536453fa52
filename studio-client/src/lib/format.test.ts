import { describe, expect, it } from "vitest";
import { countedProgressText, formatValue, formatVector, niceCeiling, parseValue, validationError, splitProgressText } from "./format";
import { linearScale, logScale, makeScale, powerScale, roundTo } from "./scale";

describe("formatValue", () => {
  it.each([
    [1e6, "Pa", "1.00 MPa"],
    [0.0123, "m", "12.3 mm"],
    [0, "Pa", "0 Pa"],
    [-50e3, "J", "-50.0 kJ"],
    [999.9, "Pa", "1.00 kPa"],
    [0.3, "", "0.300"],
    [1000, "kg/m³", "1000 kg/m³"],
    [9.81, "m/s²", "9.81 m/s²"],
  ])("writes %s %s as %s", (value, unit, text) => {
    expect(formatValue(value, unit)).toBe(text);
  });
});

describe("parseValue", () => {
  it.each([
    ["2.5 MPa", "Pa", 2.5e6],
    ["2.5M", "Pa", 2.5e6],
    ["1e6", "Pa", 1e6],
    ["0,3", "", 0.3],
    ["2 ms", "s", 0.002],
    ["1.62 m/s^2", "m/s²", 1.62],
    ["12 mm", "m", 0.012],
  ])("reads %s", (text, unit, value) => {
    expect(parseValue(text, unit)).toBeCloseTo(value, 12);
  });

  it.each(["", "soft", "1 apple", "1e999", "--3"])("finds no number in %j", (text) => {
    expect(parseValue(text, "Pa")).toBeNull();
  });

  it("reads back what it writes", () => {
    for (const value of [1.25e-4, 0.07, 3, 812, 4.56e5, 7.7e9]) {
      expect(parseValue(formatValue(value, "Pa"), "Pa")! / value).toBeCloseTo(1, 2);
    }
  });
});

describe("formatVector", () => {
  it.each([
    [[40.5, 2275.7, -0.04], "N", "(0.04, 2.28, 0.00) kN"],
    [[0, -150, 250], "N", "(0, -150, 250) N"],
    [[0, 0, 0], "N", "(0.00, 0.00, 0.00) N"],
    [[0, -9.81, 0], "m/s²", "(0.00, -9.81, 0.00) m/s²"],
  ])("writes %s %s as %s", (vector, unit, text) => {
    expect(formatVector(vector, unit)).toBe(text);
  });
});

describe("validationError", () => {
  const positive = { min: 0, max: 1e13, openMin: true };
  it.each([
    ["2 MPa", null],
    ["soft", "“soft” is not a number; for example, write 1.00 MPa."],
    ["0", "Must be greater than 0 Pa."],
    ["1e20", "Must be at most 10.0 TPa."],
  ])("answers %s with %s", (text, answer) => {
    expect(validationError(text, "Pa", positive, 1e6)).toBe(answer);
  });

  it("requires integers where they are expected", () => {
    expect(validationError("2.5", "", { min: 1, max: null }, 3, true)).toBe("Must be an integer.");
    expect(validationError("2", "", { min: 1, max: null }, 3, true)).toBeNull();
  });
});

describe("scales", () => {
  it("are inverted by toPosition", () => {
    for (const scale of [logScale(1e4, 1e8), powerScale(20), linearScale(-2, 3)]) {
      for (const p of [0, 0.2, 0.5, 1]) expect(scale.toPosition(scale.toValue(p))).toBeCloseTo(p, 9);
    }
  });

  it("a log scale with zero starts at zero", () => {
    const scale = makeScale({ kind: "log", low: 1e4, high: 1e8, includesZero: true });
    expect(scale.toValue(0)).toBe(0);
    expect(scale.toPosition(0)).toBe(0);
    expect(scale.toValue(0.5)).toBeCloseTo(1e6, 3);
  });

  it("a log scale has its geometric mean in the middle", () => {
    expect(logScale(1e4, 1e8).toValue(0.5)).toBeCloseTo(1e6, 3);
  });

  it("rounds to short numbers", () => {
    expect(roundTo(1.0372911e6)).toBe(1.04e6);
    expect(niceCeiling(0.0231)).toBeCloseTo(0.03, 12);
    expect(niceCeiling(5)).toBe(5);
    expect(niceCeiling(0)).toBe(0);
  });
});

describe("splitProgressText", () => {
  it("splits the title from the current step", () => {
    expect(splitProgressText("building head (1 of 2): meshing: pass 1, 12 s")).toEqual({
      body: "Building head (1 of 2) …",
      step: "Meshing: pass 1, 12 s",
    });
    expect(splitProgressText("settling")).toEqual({ body: "Settling …", step: "" });
  });
});

describe("countedProgressText", () => {
  it.each([
    [3, 12, 20.4, "Compiling 3 of 12, about 20 s left"],
    [0, 12, null, "Compiling 0 of 12"],
    [11, 12, 0.01, "Compiling 11 of 12, about 1 s left"],
    [1, 40, 200, "Compiling 1 of 40, about 3 min left"],
  ])("writes %s of %s with %s s left", (done, total, seconds, text) => {
    expect(countedProgressText("compiling", done, total, seconds)).toBe(text);
  });
});

import { describe, expect, it } from "vitest";
import { formatValue, niceCeiling, parseValue } from "./format";
import { logScale, powerScale, roundTo } from "./scale";

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

describe("scales", () => {
  it("go there and back", () => {
    for (const scale of [logScale(1e4, 1e8), powerScale(20)]) {
      for (const p of [0, 0.2, 0.5, 1]) expect(scale.toPosition(scale.toValue(p))).toBeCloseTo(p, 9);
    }
  });

  it("a log scale has its geometric mean in the middle", () => {
    expect(logScale(1e4, 1e8).toValue(0.5)).toBeCloseTo(1e6, 3);
  });

  it("round and ceil to numbers that people like", () => {
    expect(roundTo(1.0372911e6)).toBe(1.04e6);
    expect(niceCeiling(0.0231)).toBeCloseTo(0.03, 12);
    expect(niceCeiling(5)).toBe(5);
    expect(niceCeiling(0)).toBe(0);
  });
});

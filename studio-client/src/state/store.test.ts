import { describe, expect, it, vi } from "vitest";

describe("errors", () => {
  it("end when the scene or the world changes, and information stays", async () => {
    vi.stubGlobal("window", { innerWidth: 1280, setTimeout: () => 0 });
    const { clearErrors, setFieldError, toast, useStudio } = await import("./store");
    const clock = vi.spyOn(performance, "now").mockReturnValue(0);
    toast("Saved beam.yaml.");
    toast("the time limit is reached", true);
    setFieldError("dt", "Must be positive.");
    clock.mockReturnValue(100);
    clearErrors(); // of a change before the error
    expect(useStudio.getState().fieldErrors).toEqual({ dt: "Must be positive." });
    clock.mockReturnValue(2000);
    clearErrors();
    expect(useStudio.getState().fieldErrors).toEqual({});
    expect(useStudio.getState().toasts.map(({ message }) => message)).toEqual(["Saved beam.yaml."]);
    clock.mockRestore();
    vi.unstubAllGlobals();
  });
});

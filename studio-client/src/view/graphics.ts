// Graphics quality. Without a GPU, browsers draw on the processor that the simulation needs too; then shadows,
// reflections and antialiasing are switched off. `?graphics=full` or `?graphics=light` in the address overrides this.

export interface Graphics {
  full: boolean;
}

function isSoftware(): boolean {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) return true;
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}

export function detectGraphics(search: string): Graphics {
  const requested = new URLSearchParams(search).get("graphics");
  return { full: requested === "full" || (requested !== "light" && !isSoftware()) };
}

/** The graphics quality of this page. */
export const graphics = detectGraphics(typeof window === "undefined" ? "" : window.location.search);

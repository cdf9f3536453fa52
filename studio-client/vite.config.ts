import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The build is committed inside the Python package, so its file names and bytes must not depend on
// anything but the sources and the lock file.
export default defineConfig({
  base: "./",
  plugins: [react()],
  build: {
    outDir: "../src/continua/studio/page",
    emptyOutDir: true,
    sourcemap: false,
    target: "es2022",
    chunkSizeWarningLimit: 1500,
    modulePreload: { polyfill: false },
    license: { fileName: "licenses.md" },
    rollupOptions: {
      output: {
        entryFileNames: "assets/studio.js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
        codeSplitting: false,
      },
    },
  },
  server: { proxy: { "/ws": { target: "ws://127.0.0.1:8787", ws: true } } },
  test: { include: ["src/**/*.test.ts"] },
});

/** How the dashboard is built: into the Python package, without anything inline, since the server's policy forbids it. */
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = "http://127.0.0.1:7788";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../src/openskelo/server/web",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
  },
  worker: { format: "es" },
  server: {
    host: "127.0.0.1",
    proxy: { "/api": server, "/login": server, "/logout": server, "/ws": { target: server, ws: true } },
  },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});

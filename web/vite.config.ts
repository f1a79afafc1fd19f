/** How the dashboard is built: into the Python package, without anything inline, since the server's policy forbids it. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const server = "http://127.0.0.1:7788";

const outDir = "../src/openskelo/server/web";

/** Beside each file its compressed self, which the server sends to browsers that take it. */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    closeBundle() {
      const folder = new URL(`${outDir}/assets/`, import.meta.url);
      for (const name of readdirSync(folder).filter((name) => /\.(js|css|svg)$/.test(name))) {
        writeFileSync(new URL(`${name}.gz`, folder), gzipSync(readFileSync(new URL(name, folder)), { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  plugins: [react(), compressed()],
  build: {
    outDir,
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

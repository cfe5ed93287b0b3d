import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";
import { shipped } from "./scripts/licences.mjs";

/** Minifying drops all comments, the licences' too. */
const licences: Plugin = {
  name: "licences",
  async generateBundle() {
    this.emitFile({ type: "asset", fileName: "licences.txt", source: await shipped() });
  },
};

/** For `npm run dev`: a daemon that runs already. */
const daemon = process.env["SINEW_HTTP"] ?? "127.0.0.1:8787";
const proxy = { target: `http://${daemon}`, changeOrigin: true, headers: { origin: `http://${daemon}` } };

export default defineConfig({
  plugins: [svelte(), licences],
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 800,
  },
  server: { proxy: { "/api": proxy, "/ws": { ...proxy, ws: true } } },
});

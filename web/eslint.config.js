// Lint rules of the dashboard. The layers are part of them: a folder may import only from the folders listed for it.
// The files directly in src/ (main, app, routes) put the pages together and may import from all folders.
import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

// What each folder may import from, beside itself. `model` is pure TypeScript: no React, no browser.
const MAY_IMPORT = {
  api: [],
  model: ["api"],
  live: ["api", "model"],
  navigation: [],
  ui: ["api", "model", "live", "navigation"],
  app: ["api", "model", "live", "navigation", "ui"],
  graph: ["api", "model", "live", "navigation", "ui", "app"],
  approvals: ["api", "model", "live", "navigation", "ui", "app"],
  runs: ["api", "model", "live", "navigation", "ui", "app"],
  start: ["api", "model", "live", "navigation", "ui", "app"],
  run: ["api", "model", "live", "navigation", "ui", "app", "graph", "approvals"],
};
const FOLDERS = Object.keys(MAY_IMPORT);

function layer(folder) {
  const forbidden = FOLDERS.filter((other) => other !== folder && !MAY_IMPORT[folder].includes(other));
  const patterns = forbidden.map((other) => ({
    regex: `^(\\.\\./)+${other}(/|$)`,
    message: `${folder}/ may not import from ${other}/ (eslint.config.js, MAY_IMPORT)`,
  }));
  if (folder === "model" || folder === "api") {
    patterns.push({ regex: "^(react|react-dom|@xyflow)(/|$)", message: `${folder}/ has no React` });
  }
  return {
    files: [`src/${folder}/**/*.{ts,tsx}`],
    rules: { "no-restricted-imports": ["error", { patterns }] },
  };
}

export default tseslint.config(
  { ignores: ["node_modules", "src/api/schema.ts", "public"] },
  ...tseslint.configs.recommendedTypeChecked,
  {
    files: ["src/**/*.{ts,tsx}"],
    plugins: { "react-hooks": hooks },
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "react-hooks/rules-of-hooks": "error",
      "react-hooks/exhaustive-deps": "error",
      eqeqeq: "error",
      "no-console": ["error", { allow: ["info", "error"] }],
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      // A promise whose outcome nobody handles is marked by `void`.
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-misused-promises": ["error", { checksVoidReturn: { attributes: false } }],
    },
  },
  { files: ["*.{js,ts}", "scripts/**/*.mjs"], extends: [tseslint.configs.disableTypeChecked] },
  ...FOLDERS.map(layer),
);

/** The colour theme: light, dark, or that of the system; stored in this browser. `data-theme` on the root is light or dark. */
import { Cell } from "../model/observable";

export type Theme = "light" | "dark" | "system";

const KEY = "skelo.theme";
const darkSystem = window.matchMedia("(prefers-color-scheme: dark)");

export const theme = new Cell<Theme>(storedTheme());

export function chooseTheme(chosen: Theme): void {
  if (chosen === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, chosen);
  theme.set(chosen);
  apply();
}

export function beginTheme(): void {
  darkSystem.addEventListener("change", apply);
  apply();
}

function storedTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return stored === "light" || stored === "dark" ? stored : "system";
}

function apply(): void {
  const chosen = theme.get();
  const systemTheme = darkSystem.matches ? "dark" : "light";
  document.documentElement.dataset["theme"] = chosen === "system" ? systemTheme : chosen;
}

/** Light, dark, or as the system has it; kept in this browser. `data-theme` on the root is always one of the first two. */
import { Cell } from "../model/readable";

export type Theme = "light" | "dark" | "system";

const KEY = "skelo.theme";
const darkSystem = window.matchMedia("(prefers-color-scheme: dark)");

export const theme = new Cell<Theme>(kept());

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

function kept(): Theme {
  const found = localStorage.getItem(KEY);
  return found === "light" || found === "dark" ? found : "system";
}

function apply(): void {
  const chosen = theme.get();
  const shown = chosen === "system" ? (darkSystem.matches ? "dark" : "light") : chosen;
  document.documentElement.dataset["theme"] = shown;
}

/** The entry point of the dashboard. */
import { createRoot } from "react-dom/client";
import { App } from "./app";
import "./ui/tokens.css";
import "./ui/base.css";

/** A missing chunk means that the server has a newer build: reload, but only once in ten seconds. */
window.addEventListener("vite:preloadError", (event) => {
  const before = Number(sessionStorage.getItem("skelo.reloaded") ?? 0);
  if (Date.now() - before < 10_000) return;
  event.preventDefault();
  sessionStorage.setItem("skelo.reloaded", String(Date.now()));
  location.reload();
});

const root = document.getElementById("root");
if (root === null) throw new Error("the page has no #root");
createRoot(root).render(<App />);

/** Where the page begins. */
import { createRoot } from "react-dom/client";
import { App } from "./app/app";
import "./ui/tokens.css";
import "./ui/base.css";

/** A part that is not there any more: the server has a newer build, and so must this page. Once, lest it goes round. */
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

/** Where the page begins. */
import { createRoot } from "react-dom/client";
import { App } from "./app/app";
import "./ui/tokens.css";
import "./ui/base.css";

const root = document.getElementById("root");
if (root === null) throw new Error("the page has no #root");
createRoot(root).render(<App />);

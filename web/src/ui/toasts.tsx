/** Short messages about what was just done, at the edge of the page; those about failures stay until they are closed. */
import { problemOf } from "../api/errors";
import { useStore } from "../live/use-store";
import { Cell } from "../model/observable";
import { IconButton } from "./button";
import { Icon } from "./icon";
import "./toasts.css";

interface Toast {
  id: number;
  tone: "ok" | "bad";
  text: string;
  detail?: string;
}

const SHOWN_MS = 4_000;
const toasts = new Cell<readonly Toast[]>([]);
let count = 0;

/** Say that something was done. */
export function done(text: string): void {
  const id = add({ tone: "ok", text });
  setTimeout(() => close(id), SHOWN_MS);
}

/** Say what went wrong; takes any error, so that it can end a promise. */
export function failed(error: unknown): void {
  const problem = problemOf(error);
  add({ tone: "bad", text: problem.detail, ...(problem.hint ? { detail: problem.hint } : {}) });
}

function add(toast: Omit<Toast, "id">): number {
  count += 1;
  toasts.set([...toasts.get(), { ...toast, id: count }].slice(-4));
  return count;
}

function close(id: number): void {
  toasts.set(toasts.get().filter((one) => one.id !== id));
}

const itself = (value: readonly Toast[]) => value;

export function Toasts() {
  const shown = useStore(toasts, itself);
  return (
    <div className="toasts" role="status">
      {shown.map((toast) => (
        <div key={toast.id} className={`toast toast-${toast.tone}`}>
          <Icon name={toast.tone === "ok" ? "check" : "warning"} />
          <div>
            {toast.text}
            {toast.detail !== undefined && <p className="muted small">{toast.detail}</p>}
          </div>
          <IconButton label="Close" onClick={() => close(toast.id)}>
            <Icon name="close" size={14} />
          </IconButton>
        </div>
      ))}
    </div>
  );
}

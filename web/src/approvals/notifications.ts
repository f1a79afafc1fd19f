/** Browser notifications about new approvals: off until a person asks for them, remembered on this browser. */
import { useEffect } from "react";
import { paths } from "../navigation/paths";
import { navigate } from "../navigation/router";
import { approvals } from "../live/streams";
import { useStore } from "../live/use-store";
import { headline } from "../model/approval-kinds";
import { Cell } from "../model/observable";

const KEY = "skelo.notify";
const supported = () => "Notification" in window && window.isSecureContext;

export type Wish = "off" | "on" | "blocked" | "impossible";

function wishNow(): Wish {
  if (!supported()) return "impossible";
  if (Notification.permission === "denied") return "blocked";
  return localStorage.getItem(KEY) === "on" && Notification.permission === "granted" ? "on" : "off";
}

const wish = new Cell<Wish>("off");
const itself = (value: Wish) => value;

export function useNotificationWish(): Wish {
  useEffect(() => wish.set(wishNow()), []);
  return useStore(wish, itself);
}

/** Turn them on (the browser asks once) or off. */
export async function toggleNotifications(): Promise<void> {
  if (wish.get() === "on") localStorage.removeItem(KEY);
  else if (supported() && (await Notification.requestPermission()) === "granted") localStorage.setItem(KEY, "on");
  wish.set(wishNow());
}

/** Tell of each approval that is asked from now on; those that were open before are no news. */
export function beginNotifications(): () => void {
  let known: ReadonlySet<string> | null = null;
  return approvals.subscribe(() => {
    const { open, loaded } = approvals.get();
    if (!loaded) return;
    if (known !== null && wishNow() === "on") {
      for (const [id, approval] of open) if (!known.has(id)) tell(id, headline(approval), approval.node);
    }
    known = new Set(open.keys());
  });
}

function tell(id: string, title: string, node: string): void {
  const shown = new Notification(title, { body: `${node} waits for an answer`, tag: id });
  shown.onclick = () => {
    window.focus();
    navigate(paths.approval(id));
    shown.close();
  };
}

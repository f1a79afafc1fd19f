/** A press anywhere on a card opens its node, as its link does; what else can be pressed on it does its own thing. */
import type { MouseEvent } from "react";
import { paths } from "../app/paths";
import { navigate } from "../app/router";

export function openNode(event: MouseEvent<HTMLElement>, runId: string, key: string): void {
  if (event.target instanceof Element && event.target.closest("a, button") !== null) return;
  navigate(paths.node(runId, key));
}

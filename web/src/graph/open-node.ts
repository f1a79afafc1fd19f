/** A click anywhere on a node's card opens the node, as its link does. Links and buttons on the card keep their own action. */
import type { MouseEvent } from "react";
import { paths } from "../navigation/paths";
import { navigate } from "../navigation/router";

export function openNode(event: MouseEvent<HTMLElement>, runId: string, key: string): void {
  if (event.target instanceof Element && event.target.closest("a, button") !== null) return;
  navigate(paths.node(runId, key));
}

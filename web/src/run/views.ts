/** The views of a run, as tabs of its page: each one a component that is loaded when it is first looked at. */
import { type ComponentType, lazy } from "react";

export type View = ComponentType<{ id: string; selected: string | null }>;

interface Named {
  id: string;
  name: string;
  view: View;
}

export const VIEWS: readonly [Named, ...Named[]] = [
  { id: "graph", name: "Graph", view: lazy(() => import("../graph/graph-view")) },
  { id: "timeline", name: "Timeline", view: lazy(() => import("./timeline-view")) },
  { id: "costs", name: "Costs", view: lazy(() => import("./costs-view")) },
  { id: "events", name: "Events", view: lazy(() => import("./events-view")) },
];

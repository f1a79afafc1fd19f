/** The views of a run, as tabs of its page: each one a component that is loaded when it is first looked at. */
import { type ComponentType, lazy } from "react";
import { askForFacts } from "../live/use-facts";

export type View = ComponentType<{ id: string; selected: string | null }>;

interface Named {
  id: string;
  name: string;
  view: View;
  /** Called as soon as the view is chosen, while the run itself is still on its way. */
  prepare: (id: string) => void;
}

type Loaded = Promise<{ default: View }>;

function named(id: string, name: string, load: () => Loaded, ask: (id: string) => void = () => undefined): Named {
  const prepare = (run: string) => {
    void load();
    ask(run);
  };
  return { id, name, view: lazy(load), prepare };
}

export const VIEWS: readonly [Named, ...Named[]] = [
  named("result", "Result", () => import("./result/result-view")),
  named("graph", "Graph", () => import("../graph/graph-view")),
  named("timeline", "Timeline", () => import("./timeline-view"), askForFacts),
  named("costs", "Costs", () => import("./costs-view"), askForFacts),
  named("events", "Events", () => import("./events-view"), askForFacts),
];

/** Which page is at which address. Pages other than the list are loaded when they are first looked at. */
import { type ComponentType, lazy } from "react";
import { RunsPage } from "./runs/runs-page";
import { match, type Params } from "./navigation/router";

export type Page = ComponentType<{ params: Params }>;

const RunPage = lazy(() => import("./run/run-page"));
const ApprovalsPage = lazy(() => import("./approvals/approvals-page"));
const StartPage = lazy(() => import("./start/start-page"));
const ComparePage = lazy(() => import("./run/compare-page"));

const ROUTES: readonly (readonly [string, Page])[] = [
  ["/", RunsPage],
  ["/runs", RunsPage],
  ["/runs/:id", RunPage],
  ["/runs/:id/nodes/*key", RunPage],
  ["/approvals", ApprovalsPage],
  ["/approvals/:id", ApprovalsPage],
  ["/start", StartPage],
  ["/start/*workflow", StartPage],
  ["/compare/:a/:b", ComparePage],
];

export function pageAt(path: string): { page: Page; params: Params; pattern: string } | null {
  for (const [pattern, page] of ROUTES) {
    const params = match(pattern, path);
    if (params !== null) return { page, params, pattern };
  }
  return null;
}

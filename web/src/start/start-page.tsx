/** Starting a run: first which workflow, then what it will do and with what. */
import type { Params } from "../navigation/router";
import { Choose } from "./workflow-list";
import { WorkflowPreview } from "./workflow-preview";
import "./start.css";

export default function StartPage({ params }: { params: Params }) {
  const workflow = params["workflow"];
  return workflow === undefined ? <Choose /> : <WorkflowPreview key={workflow} path={workflow} />;
}

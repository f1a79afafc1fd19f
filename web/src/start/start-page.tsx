/** Starting a run: first which workflow, then what it will do and with what. */
import type { Params } from "../app/router";
import { Choose } from "./choose";
import { Prepare } from "./prepare";
import "./start.css";

export default function StartPage({ params }: { params: Params }) {
  const workflow = params["workflow"];
  return workflow === undefined ? <Choose /> : <Prepare key={workflow} path={workflow} />;
}

/** Start a run. */
import type { Params } from "../app/router";

export default function StartPage({ params }: { params: Params }) {
  return (
    <div className="page">
      <h1>Start a run</h1>
      <p className="muted mono">{params["workflow"]}</p>
    </div>
  );
}

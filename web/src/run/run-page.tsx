/** A run. */
import type { Params } from "../app/router";

export default function RunPage({ params }: { params: Params }) {
  return (
    <div className="page">
      <h1>A run</h1>
      <p className="muted mono">{params["id"]}</p>
    </div>
  );
}

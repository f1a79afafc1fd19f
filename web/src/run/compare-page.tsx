/** Two runs, side by side. */
import type { Params } from "../app/router";

export default function ComparePage({ params }: { params: Params }) {
  return (
    <div className="page">
      <h1>Two runs, side by side</h1>
      <p className="muted mono">{params["a"]}</p>
    </div>
  );
}

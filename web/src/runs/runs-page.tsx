/** All runs. */
import type { Params } from "../app/router";

export function RunsPage(_: { params: Params }) {
  return (
    <div className="page">
      <h1>Runs</h1>
    </div>
  );
}

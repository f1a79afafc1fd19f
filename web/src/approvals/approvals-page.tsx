/** Open approvals. */
import type { Params } from "../app/router";

export default function ApprovalsPage({ params }: { params: Params }) {
  return (
    <div className="page">
      <h1>Open approvals</h1>
      <p className="muted mono">{params["id"]}</p>
    </div>
  );
}

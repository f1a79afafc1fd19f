/** The receipts of the node's attempts, and whether the record that holds them is whole. */
import { useCallback } from "react";
import { listReceipts, verifyRun } from "../../api/client";
import type { Receipt, Verification } from "../../api/types";
import { type RequestState, useRequest } from "../../live/use-request";
import { count, duration, moment } from "../../model/amounts";
import { attemptName, attemptLabel } from "../../model/attempts";
import { StatusBadge } from "../../ui/badge";
import { Button } from "../../ui/button";
import { CopyButton } from "../../ui/copy-button";
import { Icon } from "../../ui/icon";
import { Answer, Facts, Nothing, type PanelProps } from "./panel";

const SHOWN = 60;

export function Receipts({ id, node }: PanelProps) {
  const ended = `${node.attempts} ${node.outcome}`;
  const receipts = useRequest(
    useCallback(
      async (signal: AbortSignal) => {
        void ended; // each attempt that ends leaves another one
        return (await listReceipts(id, signal)).receipts;
      },
      [id, ended],
    ),
  );
  const proof = useRequest(useCallback((signal: AbortSignal) => verifyRun(id, signal), [id]));
  return (
    <>
      <Mark proof={proof} />
      <Answer asked={receipts}>
        {(found) => {
          const mine = found.filter((one) => one.step_id === node.key).reverse();
          if (mine.length === 0) return <Nothing>No attempt has ended yet.</Nothing>;
          return (
            <ol className="attempts">
              {mine.slice(0, SHOWN).map((one) => (
                <One key={`${one.visit} ${one.attempt} ${one.item ?? ""}`} receipt={one} />
              ))}
            </ol>
          );
        }}
      </Answer>
    </>
  );
}

function Mark({ proof }: { proof: RequestState<Verification> }) {
  const again = (
    <Button look="quiet" onClick={proof.again} busy={proof.loading}>
      Verify again
    </Button>
  );
  if (proof.value === null) {
    return <div className="proof">{proof.problem === null ? "Verifying the record…" : proof.problem.detail}</div>;
  }
  const { intact, ended } = proof.value;
  return (
    <div className={`proof ${intact ? "proof-good" : "proof-bad"}`}>
      <span className="proof-mark">
        <Icon name={intact ? "check" : "close"} size={14} />
      </span>
      <div>
        <strong>{intact ? "The record verifies" : "The record does not verify"}</strong>
        <p className="small">
          {intact
            ? `Every line of the run's log is chained to the one before, and unaltered${ended ? "" : " so far"}.`
            : "Something in the run's record was altered or is missing. `skelo verify` says what."}
        </p>
      </div>
      {again}
    </div>
  );
}

function One({ receipt }: { receipt: Receipt }) {
  const { metrics } = receipt;
  const tokens = metrics.tokens_in + metrics.tokens_out;
  return (
    <li className="attempt">
      <header>
        <h3>{attemptName({ ...receipt, item: receipt.item ?? null })}</h3>
        <StatusBadge word={attemptLabel({ status: receipt.status, cached: false })} />
        <CopyButton text={() => JSON.stringify(receipt, null, 2)} what="the receipt" />
      </header>
      <Facts
        rows={[
          ["Ended", moment(new Date(receipt.ts).toISOString())],
          ["Took", `${duration(metrics.wall_ms)}${tokens > 0 ? `, ${count(tokens)} tokens` : ""}`],
          ["Inputs", <Digest key="in" value={receipt.inputs_hash} />],
          ["Outputs", <Digest key="out" value={receipt.output_hash} />],
          ["Receipt before", <Digest key="prev" value={receipt.prev} />],
        ]}
      />
    </li>
  );
}

function Digest({ value }: { value: string }) {
  return (
    <code className="digest" title={value}>
      {value.replace("sha256:", "").slice(0, 20)}…
    </code>
  );
}

/** The proof of a run: its record is checked on demand, its digest can be compared, and the record be taken along. */
import { useState } from "react";
import { exportPath, listReceipts, verifyRun } from "../../api/client";
import { problemOf } from "../../api/errors";
import type { Problem, Verification } from "../../api/types";
import { count } from "../../model/amounts";
import { Button } from "../../ui/button";
import { CopyButton } from "../../ui/copy-button";
import { Icon } from "../../ui/icon";
import { ProblemBox } from "../../ui/notice";
import { FactList, Part } from "./result-view";

interface Checked {
  proof: Verification;
  digest: string;
}

export function Proof({ id, ended }: { id: string; ended: boolean }) {
  const [checked, setChecked] = useState<Checked | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const verify = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const [proof, { digest }] = await Promise.all([verifyRun(id), listReceipts(id)]);
      setChecked({ proof, digest });
    } catch (error) {
      setProblem(problemOf(error));
    }
    setBusy(false);
  };
  return (
    <Part title="Proof">
      <p className="muted small">
        Every event is chained to the one before by its hash. The check reads the whole record again
        {ended ? "." : ", as far as the run has come."}
      </p>
      {checked !== null && <Result {...checked} />}
      {problem !== null && <ProblemBox problem={problem} />}
      <div className="result-buttons">
        <Button busy={busy} onClick={() => void verify()}>
          <Icon name="check" size={14} /> {checked === null ? "Verify now" : "Verify again"}
        </Button>
        <a className="button button-quiet" href={exportPath(id)} download={`${id}.skelo.jsonl`}>
          <Icon name="file" size={14} /> Export
        </a>
      </div>
    </Part>
  );
}

function Result({ proof, digest }: Checked) {
  const { intact } = proof;
  return (
    <div role="status" className={intact ? "result-intact" : "result-altered"}>
      <strong>
        <Icon name={intact ? "check" : "close"} size={14} />{" "}
        {intact ? "The record is complete and unaltered." : "The record was altered, or parts of it are missing."}
      </strong>
      <FactList
        rows={[
          ["Checked", `${count(proof.events)} events, ${count(proof.receipts)} receipts`],
          ["Head", <Hash key="head" value={proof.head} what="the head" />],
          ["Digest of the work", <Hash key="digest" value={digest} what="the digest" />],
          ["Signature", SIGNATURES[proof.signature]],
        ]}
      />
    </div>
  );
}

const SIGNATURES: Record<Verification["signature"], string> = {
  ok: "valid",
  partial: "valid up to an earlier event",
  bad: "not valid",
  none: "not signed",
};

function Hash({ value, what }: { value: string; what: string }) {
  return (
    <span className="result-hash">
      <code title={value}>{value.slice(0, 23)}…</code>
      <CopyButton text={() => value} what={what} />
    </span>
  );
}

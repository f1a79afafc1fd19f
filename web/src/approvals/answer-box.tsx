/** The answer to an approval: approve, deny with a reason, or change what is asked; one step to choose, one to send. */
import { type FormEvent, type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { resolveApproval } from "../api/client";
import { isObject, type Json } from "../api/json";
import { Refusal } from "../api/refusal";
import type { Approval, Problem, ResolveBody } from "../api/types";
import { type Shortcut, useShortcuts } from "../app/shortcuts";
import { check, type FieldProblem } from "../model/form";
import { type AnswerStatus, choices } from "../model/questions";
import { Button } from "../ui/button";
import { ProblemBox, Waiting } from "../ui/notice";
import { isReadable, SchemaForm, showWrong } from "../ui/schema-form";
import { done, failed } from "../ui/toasts";
import { type Draft, draftAtHand, useDraft } from "./use-draft";
import "./answer-box.css";

interface Props {
  approval: Approval;
  onAnswered: () => void;
}

const DONE: Record<AnswerStatus, string> = { approved: "Approved.", denied: "Denied.", modified: "Sent as changed." };

export function AnswerBox({ approval, onAnswered }: Props) {
  const [chosen, setChosen] = useState<AnswerStatus | null>(null);
  const offered = choices(approval);
  useShortcuts(useAnswerKeys(approval, setChosen));
  if (chosen !== null) {
    const sending = { approval, onAnswered, status: chosen, onBack: () => setChosen(null) };
    const draft = chosen === "modified" ? draftAtHand(approval) : NO_DRAFT;
    return draft === null ? <Modifying {...sending} /> : <Sending {...sending} draft={draft} />;
  }
  return (
    <div className="answer-choices">
      <Choice look="primary" hint="a" choice={offered.approved} onChoose={() => setChosen("approved")} />
      <Choice
        look={offered.approved === null ? "primary" : "plain"}
        hint="m"
        choice={offered.modified}
        onChoose={() => setChosen("modified")}
      />
      <Choice look="danger" hint="d" choice={offered.denied} onChoose={() => setChosen("denied")} />
    </div>
  );
}

function Choice(props: {
  look: "primary" | "plain" | "danger";
  hint: string;
  choice: { name: string; means: string } | null;
  onChoose: () => void;
}) {
  if (props.choice === null) return null;
  return (
    <Button look={props.look} title={props.choice.means} onClick={props.onChoose}>
      {props.choice.name}
      <kbd className="answer-key" aria-hidden="true">
        {props.hint}
      </kbd>
    </Button>
  );
}

function useAnswerKeys(approval: Approval, choose: (status: AnswerStatus) => void): readonly Shortcut[] {
  return useMemo(() => {
    const offered = choices(approval);
    const keys: (readonly [string, AnswerStatus])[] = [
      ["a", "approved"],
      ["d", "denied"],
      ["m", "modified"],
      ...(offered.approved === null ? ([["a", "modified"]] as const) : []),
    ];
    return keys.flatMap(([key, status]) => {
      const choice = offered[status];
      return choice === null ? [] : [{ keys: key, what: choice.name, group: "Approvals", run: () => choose(status) }];
    });
  }, [approval, choose]);
}

interface ModifyingProps extends Props {
  status: AnswerStatus;
  onBack: () => void;
}

const NO_PROBLEMS: readonly FieldProblem[] = [];
const NO_DRAFT: Draft = { form: {}, values: undefined };

function Modifying(props: ModifyingProps) {
  const { value, problem, again } = useDraft(props.approval);
  if (problem !== null) return <ProblemBox problem={problem} again={again} />;
  return value === null ? <Waiting what="Loading the form" /> : <Sending {...props} draft={value} />;
}

function Sending({ approval, status, draft, onBack, onAnswered }: ModifyingProps & { draft: Draft }) {
  const answer = useAnswer(approval, status, draft, onAnswered);
  const form = useRef<HTMLFormElement>(null);
  const choice = choices(approval)[status];
  useEffect(() => {
    const first = form.current?.querySelector<HTMLElement>(
      status === "approved" ? "button[type=submit]" : "textarea, input, select",
    );
    first?.focus();
  }, [status]);
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.preventDefault();
      onBack();
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.current?.requestSubmit();
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (form.current === null || !isReadable(form.current)) return;
    void answer.send();
    showWrong(form.current);
  };
  return (
    <form className="answer-form" ref={form} onSubmit={submit} onKeyDown={onKey} noValidate>
      <p className="answer-means">{choice?.means}</p>
      {status === "modified" && (
        <SchemaForm
          schema={draft.form}
          value={answer.values}
          onChange={answer.setValues}
          problems={answer.problems}
          disabled={answer.busy}
        />
      )}
      <label className="field">
        <span className="field-label">
          Reason
          <span className="field-optional">{status === "denied" ? " " : " optional, "}kept in the record</span>
        </span>
        <textarea
          className="input"
          rows={2}
          maxLength={4000}
          required={status === "denied"}
          value={answer.reason}
          onChange={(event) => answer.setReason(event.target.value)}
        />
      </label>
      {answer.problem !== null && <ProblemBox problem={answer.problem} />}
      <div className="answer-choices">
        <Button type="submit" look={status === "denied" ? "danger" : "primary"} busy={answer.busy}>
          {choice?.name}
        </Button>
        <Button look="quiet" onClick={onBack}>
          Back
        </Button>
      </div>
    </form>
  );
}

function useAnswer(approval: Approval, status: AnswerStatus, draft: Draft, onAnswered: () => void) {
  const [values, setValues] = useState(draft.values);
  const [reason, setReason] = useState("");
  const [tried, setTried] = useState(false);
  const problems = status === "modified" && tried ? check(draft.form, values) : NO_PROBLEMS;
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const send = async () => {
    setTried(true);
    if (status === "modified" && check(draft.form, values).length > 0) return;
    setBusy(true);
    setProblem(null);
    try {
      await resolveApproval(approval.id, body(approval, status, values, reason));
      done(DONE[status]);
      onAnswered();
    } catch (error) {
      if (error instanceof Refusal) setProblem(error.problem);
      else failed(error);
    } finally {
      setBusy(false);
    }
  };
  return { values, setValues, reason, setReason, problems, problem, busy, send };
}

function body(approval: Approval, status: AnswerStatus, values: Json | undefined, reason: string): ResolveBody {
  return {
    digest: approval.digest,
    resolution: {
      status,
      ...(status === "modified" ? { modifiedArgs: isObject(values) ? values : {} } : {}),
      ...(reason.trim() === "" ? {} : { reason: reason.trim() }),
    },
  };
}

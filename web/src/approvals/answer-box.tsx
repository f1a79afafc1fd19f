/**
 * The answer to an approval: approve, deny with a reason, or change what is asked; one step to choose, one to send.
 *
 * What is filled in is kept until it is sent (`model/unsent-answers.ts`): the form opens again as it was left.
 */
import { type FormEvent, type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { resolveApproval } from "../api/client";
import { isObject, type Json } from "../api/json";
import { RequestError } from "../api/errors";
import type { Approval, Problem, ResolveBody } from "../api/types";
import { type Shortcut, useShortcuts } from "../app/shortcuts";
import { check, type FieldProblem } from "../model/form";
import { unsentAnswers } from "../live/use-unsent-answers";
import { answerOf, type Choice, choices, headline } from "../model/approval-kinds";
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

const DONE: Record<Choice, string> = {
  approved: "Approved.",
  turn: "Allowed for this turn.",
  run: "Allowed for this run.",
  denied: "Denied.",
  modified: "Modified.",
};
/** The choices in the order of their buttons, each with its key. */
const KEYS: readonly (readonly [Choice, string])[] = [
  ["approved", "a"],
  ["turn", "t"],
  ["run", "r"],
  ["modified", "m"],
  ["denied", "d"],
];

export function AnswerBox({ approval, onAnswered }: Props) {
  const [chosen, setChosen] = useState<Choice | null>(() => openForm(approval));
  const offered = choices(approval);
  const first = offered.approved === null ? "modified" : "approved";
  useShortcuts(useAnswerKeys(approval, setChosen));
  if (chosen !== null) {
    const onBack = () => {
      stepBack(approval);
      setChosen(null);
    };
    const sending = { approval, onAnswered, status: chosen, onBack };
    const draft = chosen === "modified" ? draftAtHand(approval) : NO_DRAFT;
    return draft === null ? <Modifying {...sending} /> : <Sending {...sending} draft={draft} />;
  }
  return (
    <div className="answer-choices">
      {KEYS.map(([choice, key]) => (
        <ChoiceButton
          key={choice}
          look={lookOf(choice, first)}
          hint={key}
          offer={offered[choice]}
          onChoose={() => setChosen(choice)}
        />
      ))}
    </div>
  );
}

/** The answer whose form was open when this approval was left; null if none was, or if it is no choice any more. */
function openForm(approval: Approval): Choice | null {
  const status = unsentAnswers.get().get(approval.id)?.status ?? null;
  return status !== null && choices(approval)[status] !== null ? status : null;
}

function stepBack(approval: Approval): void {
  const begun = unsentAnswers.get().get(approval.id);
  if (begun !== undefined) unsentAnswers.keep(approval.id, { ...begun, status: null });
}

function lookOf(choice: Choice, first: Choice): "primary" | "plain" | "danger" {
  if (choice === "denied") return "danger";
  return choice === first ? "primary" : "plain";
}

function ChoiceButton(props: {
  look: "primary" | "plain" | "danger";
  hint: string;
  offer: { name: string; means: string } | null;
  onChoose: () => void;
}) {
  if (props.offer === null) return null;
  return (
    <Button look={props.look} title={props.offer.means} onClick={props.onChoose}>
      {props.offer.name}
      <kbd className="answer-key" aria-hidden="true">
        {props.hint}
      </kbd>
    </Button>
  );
}

function useAnswerKeys(approval: Approval, choose: (status: Choice) => void): readonly Shortcut[] {
  return useMemo(() => {
    const offered = choices(approval);
    const keys = offered.approved === null ? [...KEYS, ["modified", "a"] as const] : KEYS;
    return keys.flatMap(([status, key]) => {
      const choice = offered[status];
      return choice === null ? [] : [{ keys: key, what: choice.name, group: "Approvals", run: () => choose(status) }];
    });
  }, [approval, choose]);
}

interface ModifyingProps extends Props {
  status: Choice;
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
      answerOf(status).status === "approved" ? "button[type=submit]" : "textarea, input, select",
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
          onChange={(event) => {
            const isBlank = status === "denied" && event.target.value.trim() === "";
            event.target.setCustomValidity(isBlank ? "Say why, in a few words." : "");
            answer.setReason(event.target.value);
          }}
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

function useAnswer(approval: Approval, status: Choice, draft: Draft, onAnswered: () => void) {
  const [begun] = useState(() => unsentAnswers.get().get(approval.id));
  const [values, setValues] = useState(status === "modified" ? (begun?.values ?? draft.values) : undefined);
  const [reason, setReason] = useState(begun?.reason ?? "");
  const isChanged = status === "modified" && JSON.stringify(values) !== JSON.stringify(draft.values);
  useKeptAnswer(approval, status, isChanged ? values : undefined, reason);
  const [tried, setTried] = useState(false);
  const problems = status === "modified" && tried ? check(draft.form, values) : NO_PROBLEMS;
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const send = async () => {
    setTried(true);
    if (status === "modified" && check(draft.form, values).length > 0) return;
    setBusy(true);
    setProblem(null);
    const unsent = unsentAnswers.get().get(approval.id);
    unsentAnswers.drop(approval.id); // on its way: when its event comes first, it is not called unsent
    try {
      await resolveApproval(approval.id, body(approval, status, values, reason));
      done(DONE[status]);
      onAnswered();
    } catch (error) {
      if (unsent !== undefined) unsentAnswers.keep(approval.id, unsent);
      if (error instanceof RequestError) setProblem(error.problem);
      else failed(error);
    } finally {
      setBusy(false);
    }
  };
  return { values, setValues, reason, setReason, problems, problem, busy, send };
}

/** Keeps what is filled in; `changed` are the values if they differ from what the form began with. */
function useKeptAnswer(approval: Approval, status: Choice, changed: Json | undefined, reason: string): void {
  useEffect(() => {
    const earlier = status === "modified" ? undefined : unsentAnswers.get().get(approval.id)?.values;
    const values = changed ?? earlier;
    if (values === undefined && reason.trim() === "") {
      unsentAnswers.drop(approval.id);
      return;
    }
    const { runId } = approval;
    const kept = values === undefined ? {} : { values };
    unsentAnswers.keep(approval.id, { runId, question: headline(approval), status, ...kept, reason });
  }, [approval, status, changed, reason]);
}

function body(approval: Approval, status: Choice, values: Json | undefined, reason: string): ResolveBody {
  return {
    digest: approval.digest,
    resolution: {
      ...answerOf(status),
      ...(status === "modified" ? { modifiedArgs: isObject(values) ? values : {} } : {}),
      ...(reason.trim() === "" ? {} : { reason: reason.trim() }),
    },
  };
}

/** Answers that the person of this tab has begun and not sent. */
import { type UnsentAnswer, type UnsentAnswers, UnsentAnswerStore } from "../model/unsent-answers";
import { useStore } from "./use-store";

export const unsentAnswers = new UnsentAnswerStore(sessionStorage);

const itself = (answers: UnsentAnswers) => answers;

export function useUnsentAnswers(): UnsentAnswers {
  return useStore(unsentAnswers, itself);
}

export function useUnsentAnswer(approvalId: string): UnsentAnswer | null {
  return useUnsentAnswers().get(approvalId) ?? null;
}

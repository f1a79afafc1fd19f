/** The user of this session and their role. */
import { getSession } from "../api/request";
import type { Session } from "../api/types";
import { useRequest } from "./use-request";

const RANK: Record<Session["role"], number> = { viewer: 0, approver: 1, operator: 2 };
const ask = () => getSession();

/** Null until it is known. */
export function useSession(): Session | null {
  return useRequest(ask).value;
}

/** Whether the person may do what takes this role; yes until it is known, since the server has the last word. */
export function useMay(role: Session["role"]): boolean {
  const session = useSession();
  return session === null || RANK[session.role] >= RANK[role];
}

/** The names of the contract's types, as the generated schema has them, and what it leaves open. */
import type { components } from "./schema";

type Schemas = components["schemas"];

export type { Json, JsonObject } from "./json";

export type Run = Schemas["Run"];
export type RunSummary = Schemas["RunSummary"];
export type RunPage = Schemas["RunPage"];
export type RunStatus = Run["status"];
export type Ending = NonNullable<Run["ending"]>;
export type Node = Schemas["Node"];
export type Edge = Schemas["Edge"];
export type Item = Schemas["Item"];
export type ItemPage = Schemas["ItemPage"];
export type LogList = Schemas["LogList"];
export type Artifact = Schemas["Artifact"];
export type Approval = Schemas["Approval"];
export type ApprovalPage = Schemas["ApprovalPage"];
export type Answered = Schemas["Answered"];
export type AnsweredPage = Schemas["AnsweredPage"];
export type Resolution = Schemas["Resolution"];
export type ResolveBody = Schemas["ResolveBody"];
export type Resolved = Schemas["Resolved"];
export type Tool = Schemas["Tool"];
export type Handoff = Schemas["Handoff"];
export type Message = Schemas["Message"];
export type Receipt = Schemas["Receipt"];
export type Receipts = Schemas["Receipts"];
export type Comparison = Schemas["Comparison"];
export type ComparedNode = Schemas["ComparedNode"];
export type ComparedSide = Schemas["ComparedSide"];
export type OutputFile = Schemas["OutputFile"];
export type Verification = Schemas["Verification"];
export type Usage = Schemas["Usage"];
export type Budget = Schemas["Budget"];
export type Fault = Schemas["Fault"];
export type Problem = Schemas["ProblemDetails"];
export type WorkflowFile = Schemas["WorkflowFile"];
export type Changes = Schemas["Changes"];
export type Checked = Schemas["Checked"];
export type StartBody = Schemas["StartBody"];
export type ForkBody = Schemas["ForkBody"];
export type RunPatch = Schemas["RunPatch"];
export type Fact = Schemas["Fact"];
export type Session = Schemas["openskelo__server__models__Session"];
export type Version = Schemas["Version"];
/** Any event, of the log or of the live overlay; `type` tells them apart. */
export type Event = Schemas["EventPage"]["events"][number];
export type EventPage = Schemas["EventPage"];

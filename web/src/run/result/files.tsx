/** The files that the outputs name, to look at and to download. */
import { useCallback, useState } from "react";
import { filePath, getFile, listFiles } from "../../api/client";
import type { OutputFile } from "../../api/types";
import { useRequest } from "../../live/use-request";
import { bytes } from "../../model/amounts";
import { languageOf } from "../../model/highlight";
import { Code } from "../../ui/code";
import { Icon } from "../../ui/icon";
import { ProblemBox, Waiting } from "../../ui/notice";
import { CsvTable, TextView } from "../../ui/value-view";
import { Markdown } from "../../ui/markdown";
import { Part } from "./result-view";

/** A larger file can only be downloaded. */
const MOST_BYTES = 2_000_000;

export function Files({ id, ended }: { id: string; ended: boolean }) {
  const ask = useCallback(
    (signal: AbortSignal) => {
      void ended; // the last outputs name the last files
      return listFiles(id, signal);
    },
    [id, ended],
  );
  const { value } = useRequest(ask);
  if (value === null || value.length === 0) return null;
  return (
    <Part title={value.length === 1 ? "File" : "Files"}>
      <ul className="result-files">
        {value.map((file, at) => (
          <File key={file.path} id={id} file={file} opened={at === 0} />
        ))}
      </ul>
    </Part>
  );
}

function File({ id, file, opened }: { id: string; file: OutputFile; opened: boolean }) {
  const canShow = isShown(file);
  const [open, setOpen] = useState(opened && canShow);
  return (
    <li>
      <div className="result-file">
        <button type="button" aria-expanded={open} disabled={!canShow} onClick={() => setOpen(!open)}>
          <Icon name={open ? "down" : "chevron"} size={13} />
          <span title={file.path}>{file.name}</span>
        </button>
        <span className="muted small number">{bytes(file.size)}</span>
        <a className="text-link small" href={filePath(id, file.path)} download={file.name}>
          Download<span className="unseen"> {file.name}</span>
        </a>
      </div>
      {open && <Preview id={id} file={file} />}
    </li>
  );
}

const isPicture = (file: OutputFile) => /^image\/(png|jpeg|gif|webp)$/.test(file.mediaType);

function isShown(file: OutputFile): boolean {
  const isText = /^text\/|json$|yaml$|xml$|javascript$/.test(file.mediaType) || languageOf(file.name) !== "";
  return isPicture(file) || (isText && file.size <= MOST_BYTES);
}

function Preview({ id, file }: { id: string; file: OutputFile }) {
  if (isPicture(file)) return <img className="result-picture" src={filePath(id, file.path)} alt={file.name} />;
  return <TextFile id={id} file={file} />;
}

function TextFile({ id, file }: { id: string; file: OutputFile }) {
  const ask = useCallback((signal: AbortSignal) => getFile(id, file.path, signal), [id, file.path]);
  const { value, problem, again } = useRequest(ask);
  if (problem !== null) return <ProblemBox problem={problem} again={again} />;
  if (value === null) return <Waiting what="Loading the file" />;
  if (/\.(md|markdown)$/i.test(file.name)) return <Markdown text={value} />;
  if (/\.csv$/i.test(file.name)) return <CsvTable text={value} label={file.name} />;
  if (/\.(json|diff|patch|txt)$/i.test(file.name)) return <TextView text={value} label={file.name} />;
  return <Code text={value} language={languageOf(file.name)} label={file.name} />;
}

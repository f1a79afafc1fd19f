/** A dialog over the page, on the browser's own: it keeps the focus inside, closes on Escape, and gives the focus back. */
import { type ReactNode, useEffect, useId, useRef } from "react";
import { IconButton } from "./button";
import { Icon } from "./icon";
import "./dialog.css";

interface Props {
  title: string;
  onClose: () => void;
  children: ReactNode;
  /** Buttons at its end. */
  actions?: ReactNode;
  wide?: boolean;
}

export function Dialog({ title, onClose, children, actions, wide = false }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      className={wide ? "dialog dialog-wide" : "dialog"}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === element.current) onClose();
      }}
    >
      <div className="dialog-inside">
        <header className="dialog-head">
          <h2 id={id}>{title}</h2>
          <IconButton label="Close" onClick={onClose}>
            <Icon name="close" />
          </IconButton>
        </header>
        <div className="dialog-body">{children}</div>
        {actions !== undefined && <footer className="dialog-actions">{actions}</footer>}
      </div>
    </dialog>
  );
}

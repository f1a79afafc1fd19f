/** The bar above every page: where to go, how the connection is, and what is set for the whole app. */
import type { ReactNode } from "react";
import { useApprovals } from "../live/hooks";
import { CountBadge } from "../ui/badge";
import { ButtonLink } from "../ui/button";
import { Icon, type IconName } from "../ui/icon";
import icon from "../ui/icon.svg";
import { Banner } from "./banner";
import { Link } from "../navigation/link";
import { paths } from "../navigation/paths";
import { usePath } from "../navigation/router";
import { ShortcutHelp } from "./shortcut-help";
import { ThemeSwitch } from "./theme-switch";
import { Who } from "./user-menu";
import "./shell.css";

export function Shell({ children }: { children: ReactNode }) {
  const approvals = useApprovals();
  return (
    <>
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <header className="bar">
        <Link to={paths.runs()} className="bar-home" aria-label="OpenSkelo, all runs">
          <img src={icon} alt="" width="24" height="24" />
          <span className="bar-name">OpenSkelo</span>
        </Link>
        <nav className="bar-nav" aria-label="Main">
          <Tab to={paths.runs()} icon="runs" name="Runs" also="/runs" />
          <Tab to={paths.approvals()} icon="approvals" name="Approvals" also="/approvals">
            <CountBadge count={approvals.open.size} label="open" />
          </Tab>
        </nav>
        <div className="bar-end">
          <Who />
          <ThemeSwitch />
          <ShortcutHelp />
          <ButtonLink to={paths.start()} look="primary" className="bar-start">
            <Icon name="plus" size={14} />
            <span>New run</span>
          </ButtonLink>
        </div>
      </header>
      <Banner />
      {children}
    </>
  );
}

function Tab(props: { to: string; icon: IconName; name: string; also: string; children?: ReactNode }) {
  const path = usePath();
  const current = path === props.to || path === props.also || path.startsWith(`${props.also}/`);
  return (
    <Link to={props.to} className="bar-tab" aria-current={current ? "page" : undefined}>
      <Icon name={props.icon} />
      <span className="bar-tab-name">{props.name}</span>
      {props.children}
    </Link>
  );
}

/** The app: one shell around the page that the address names. */
import { Component, type ReactNode, Suspense, useEffect, useRef } from "react";
import { problemOf } from "./api/errors";
import { beginNotifications } from "./approvals/notifications";
import { begin } from "./live/streams";
import { Empty, ProblemBox, Waiting } from "./ui/notice";
import { ButtonLink } from "./ui/button";
import { Toasts } from "./ui/toasts";
import { paths } from "./navigation/paths";
import { usePath } from "./navigation/router";
import { pageAt } from "./routes";
import { Shell } from "./app/shell";
import { beginTheme } from "./app/theme";
import { useTitle } from "./app/use-title";

export function App() {
  useEffect(() => {
    beginTheme();
    begin();
    return beginNotifications();
  }, []);
  return (
    <Shell>
      <CurrentPage />
      <Toasts />
    </Shell>
  );
}

function CurrentPage() {
  const path = usePath();
  const found = pageAt(path);
  const main = useRef<HTMLElement>(null);
  const pattern = found?.page;
  const first = useRef(true);
  useEffect(() => {
    if (first.current) first.current = false;
    else main.current?.focus({ preventScroll: true });
  }, [pattern]);
  return (
    <main ref={main} tabIndex={-1} className="main" id="main">
      <Caught key={found === null ? path : (found.params["id"] ?? found.pattern)}>
        <Suspense fallback={<Waiting what="Loading" />}>
          {found === null ? <NotFound /> : <found.page params={found.params} />}
        </Suspense>
      </Caught>
    </main>
  );
}

export function NotFound() {
  useTitle("Not found");
  return (
    <Empty
      icon="search"
      title="There is nothing at this address"
      action={<ButtonLink to={paths.runs()}>All runs</ButtonLink>}
    >
      The link may be old, or the run may have been removed.
    </Empty>
  );
}

/** A defect in one page does not take the whole app with it. */
class Caught extends Component<{ children: ReactNode }, { error: unknown }> {
  override state = { error: null as unknown };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return (
      <div className="page">
        <ProblemBox problem={problemOf(this.state.error)} again={() => this.setState({ error: null })} />
      </div>
    );
  }
}

/** Small line pictures, drawn in the colour of the text around them. Meaning is always in words beside or in a label. */

const PATHS = {
  runs: "M3 4.5h10M3 8h10M3 11.5h6",
  approvals: "M2.5 8.5 6 12l7.5-8",
  start: "M5 3.2v9.6L12.5 8z",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.3 10.3 13.5 13.5",
  sun: "M8 10.6a2.6 2.6 0 1 0 0-5.2 2.6 2.6 0 0 0 0 5.2ZM8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9",
  moon: "M13.2 9.6A5.7 5.7 0 0 1 6.4 2.8a5.7 5.7 0 1 0 6.8 6.8Z",
  system: "M2.5 3.5h11v7h-11zM6 13h4",
  help: "M8 14a6 6 0 1 0 0-12 6 6 0 0 0 0 12ZM6.3 6.3a1.8 1.8 0 1 1 2.5 1.7c-.5.2-.8.6-.8 1.2M8 11.2v.1",
  close: "M4 4l8 8M12 4l-8 8",
  chevron: "M6 3.5 10.5 8 6 12.5",
  down: "M3.5 6 8 10.5 12.5 6",
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  check: "M3 8.5 6.5 12 13 4.5",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  stop: "M4 4h8v8H4z",
  fork: "M4.5 2.5v11M4.5 9c0-3 7-1.500 7-5.500M11.500 2v2",
  retry: "M12.8 6A5.2 5.2 0 1 0 13 9.5M13 2.5V6H9.500",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.800V8l2.200 1.500",
  warning: "M8 2 14.500 13.500h-13ZM8 6.500v3M8 11.500v.1",
  bell: "M4 11.5V7a4 4 0 0 1 8 0v4.500l1 1H3ZM6.800 14h2.400",
  file: "M4 1.800h5L12.500 5.300v8.900H4zM9 1.800v3.500h3.500",
  link: "M6.500 9.500a2.500 2.500 0 0 0 3.600 0l2.400-2.400a2.500 2.500 0 0 0-3.600-3.600l-.8.8M9.500 6.500a2.500 2.500 0 0 0-3.600 0L3.500 8.900a2.500 2.500 0 0 0 3.600 3.600l.8-.8",
  out: "M9.500 11.500v2h-7v-11h7v2M6.500 8h7M11 5.500 13.500 8 11 10.500",
  plus: "M8 3v10M3 8h10",
  trash: "M2.500 4h11M6 4V2.500h4V4M4 4l.7 9.500h6.600L12 4",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}

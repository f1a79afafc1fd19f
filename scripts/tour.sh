#!/bin/sh
# The tour: runs a workflow, kills it in the middle, resumes it, approves it, and verifies its record.
# Usage: tour.sh BIN PROJECT FILE    (BIN is the folder of skelo and python)
set -eu
bin=$(cd "$1" && pwd)
cd "$2"
file=$3
PATH=$bin:$PATH

bold= plain=
if [ -t 1 ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
show() { printf '$ %s\n' "$*"; }
expect() {  # expect CODE COMMAND...: runs the command as a user would type it, and checks its exit code
    wanted=$1; shift
    show "$@"
    code=0; "$@" </dev/null || code=$?
    [ "$code" -eq "$wanted" ] || { echo "exit code $code, expected $wanted" >&2; exit 1; }
}
finished() { grep -h -c attempt.succeeded .skelo/events/*.jsonl 2>/dev/null | awk '{n += $1} END {print n + 0}'; }

say "1. What the workflow will do"
expect 0 skelo explain "$file"

say "2. Run it, and kill the process (SIGKILL) after its first finished steps"
before=$(finished)
show "skelo run $file &"
skelo run "$file" </dev/null &
run=$!
waited=0
while [ "$(finished)" -le "$before" ] && kill -0 "$run" 2>/dev/null && [ "$waited" -lt 300 ]; do
    sleep 0.1; waited=$((waited + 1))
done
show "kill -9 $run"
kill -9 "$run" 2>/dev/null || true
wait "$run" 2>/dev/null || true

say "3. Resume: finished steps are not repeated; then it waits for a person (exit code 3)"
expect 3 skelo resume last

say "4. Approve, and the run goes on to its end"
expect 0 skelo approve last --reason checked

say "5. The receipts, and the proof that the record is complete"
expect 0 skelo receipts last
expect 0 skelo verify last
expect 0 skelo output last

say "Try next"
echo "  cd $2"
for command in runs "show last" "events last" "replay last" --help; do
    echo "  $bin/skelo $command"
done

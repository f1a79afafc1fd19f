#!/bin/sh
# The demo: a topic becomes an article, by the embedded model: no key, no network. Then the proof of what happened.
# Usage: demo.sh BIN PROJECT FILE TOPIC    (BIN is the folder of skelo)
set -eu
bin=$(cd "$1" && pwd)
cd "$2"
file=$3 topic=$4
PATH=$bin:$PATH

bold='' plain=''
if [ -t 1 ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
quoted() {  # the words as a reader would have to type them
    for word; do
        case $word in
            *[!A-Za-z0-9_./:=@%+,-]*) printf " '%s'" "$(printf %s "$word" | sed "s/'/'\\\\''/g")" ;;
            *) printf ' %s' "$word" ;;
        esac
    done
}
show() { printf '$%s\n' "$(quoted "$@")"; "$@" </dev/null; }

say "1. What the workflow will do"
show skelo explain "$file"

say "2. Run it: four steps by the model, the last one by code"
show skelo run "$file" --input "topic=$topic"

say "3. What it wrote"
written=$(skelo output last file_path)
printf '$ cat %s\n' "$written"
cat "$written"
echo

say "4. The receipts, and the proof that the record is whole"
show skelo receipts last
show skelo verify last

say "Look around"
echo "  make tour    a workflow is killed, resumed, approved and verified"
printf '  cd%s\n' "$(quoted "$2")"
for command in runs "show last" "events last" "--help" "serve    (a dashboard of all runs)"; do
    echo "  $bin/skelo $command"
done

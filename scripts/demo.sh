#!/bin/sh
# The demo: the embedded model writes an article on a topic, without a key or a network; then the record is verified.
# Usage: demo.sh BIN PROJECT FILE TOPIC    (BIN is the folder of skelo)
set -eu
bin=$(cd "$1" && pwd)
cd "$2"
file=$3 topic=$4
PATH=$bin:$PATH

bold='' plain=''
if [ -t 1 ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
quoted() {  # the arguments as a user would type them
    for word; do
        case $word in
            *[!A-Za-z0-9_./:=@%+,-]*) printf " '%s'" "$(printf %s "$word" | sed "s/'/'\\\\''/g")" ;;
            *) printf ' %s' "$word" ;;
        esac
    done
}
show() { printf '$%s\n' "$(quoted "$@")"; "$@" </dev/null; }

say "1. What the workflow will do (without head: what each block takes, gives and may cost)"
printf '$ skelo explain%s | head -n 17\n' "$(quoted "$file")"
skelo explain "$file" | head -n 17

say "2. Run it: the model does four steps, code does the rest"
show skelo run "$file" --input "topic=$topic"

say "3. What it wrote"
written=$(skelo output last file_path)
printf '$ cat %s\n' "$written"
cat "$written"
echo

say "4. The receipts, and the proof that the record is complete"
show skelo receipts last
show skelo verify last

say "About the model"
echo "  The embedded model has 135 million parameters. It shows that the workflow runs, without a key; what it writes is"
echo "  not true and not good. This line in skelo.yaml (in$(quoted "$2")) uses a better one, with OPENAI_API_KEY set:"
echo "    providers: { cloud: { kind: openai, model: gpt-5-mini } }"
echo "  A model file of your own: $bin/skelo model use FILE.gguf"

say "Try next"
echo "  make tour    a run is killed, resumed, approved and verified"
printf '  cd%s\n' "$(quoted "$2")"
for command in runs "show last" "events last" "--help" "serve    (the dashboard)"; do
    echo "  $bin/skelo $command"
done

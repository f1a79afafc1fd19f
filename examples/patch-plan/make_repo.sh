#!/bin/sh
# Makes repo/: a small git repository whose last change broke the futures component. Running it again starts over.
set -eu
cd "$(dirname "$0")"
rm -rf repo
mkdir repo
cd repo
git init -q -b main

commit() {
    git add -A
    git -c user.name=example -c user.email=example@example.invalid commit -q -m "$1"
}

cat > futures.py <<'PY'
"""Futures contracts: what they are worth on the day they are settled."""


def price(spot, rate, days):
    """The forward price of something that costs `spot` today, at simple interest."""
    return round(spot * (1 + rate * days / 365), 2)


def settle(contract):
    """The price that a contract, as it comes from the exchange's file, is settled at."""
    days = int(contract["days"])
    return price(contract["spot"], contract["rate"], days)
PY
commit "Price futures and settle them"

sed -e 's/int(contract\["days"\])/contract["days"]/' futures.py > changed && mv changed futures.py
commit "Trust the exchange's file"

#!/usr/bin/env bash
# The whole gate without any CI product: plan-and-apply.sh review | apply | drift
#
#   review  preview with policies, save the update plan, write the change order, judge it against the limits
#   apply   carry out exactly what was reviewed: where a job list, a node or a setting has changed since, nothing is done
#   drift   what differs in the cloud's and in Slurm's eyes; repairs nothing
#
# Run it in the project's folder, logged in to the backend, with the stack's passphrase or KMS at hand. Settings come from
# the environment:
#   STACK        stack; by default the selected one
#   OUT          folder of what is written (default: change-order)
#   LIMITS       for example "--max-share 50% --max-jobs 20 --max-job-age 12h"
#   POLICY_PACK  policy pack, empty for none (default: policies where that folder is)
#   POLICY_CONFIG  its configuration
#   PYTHON       default: venv/bin/python where it is, else python3
#
# Exit codes of review: 0 may be applied, 1 failed, 2 wrong arguments, 3 limits exceeded, 4 plan not known.
# Of drift: 0 none, 5 Slurm differs, 6 resources differ, 7 both, 1 something could not be asked.
set -euo pipefail

OUT=${OUT:-change-order}
PYTHON=${PYTHON:-$([ -x venv/bin/python ] && echo venv/bin/python || echo python3)}
POLICY_PACK=${POLICY_PACK-$([ -d policies ] && echo policies || true)}
stack=()
[ -z "${STACK:-}" ] || stack=(--stack "$STACK")
policies=()
[ -z "$POLICY_PACK" ] || policies=(--policy-pack "$POLICY_PACK")
[ -z "${POLICY_CONFIG:-}" ] || policies+=(--policy-pack-config "$POLICY_CONFIG")
read -r -a limits <<< "${LIMITS:-}"

order() { "$PYTHON" -m slinky_iac plan "$OUT/preview.json" "${limits[@]}" "${removals[@]}" "$@"; }

review() {
  mkdir -p "$OUT"
  # An order or a plan of an earlier review must never be taken for this one's.
  rm -f "$OUT"/preview.json "$OUT"/update-plan.json "$OUT"/removals.json "$OUT"/order.{md,html,json,txt}
  removals=()
  local previewed=0 code=0
  PULUMI_ENABLE_STREAMING_JSON_PREVIEW=1 pulumi preview --json --non-interactive "${stack[@]}" "${policies[@]}" \
    --save-plan "$OUT/update-plan.json" > "$OUT/preview.json" || previewed=$?
  order --format json --out "$OUT/order.json" || code=$?
  if [ "$code" = 4 ] && "$PYTHON" -m slinky_iac drain plan --json "${stack[@]}" > "$OUT/removals.json"; then
    # A preview shows no removal's jobs; this asks for them.
    removals=(--removals "$OUT/removals.json")
    code=0
    order --format json --out "$OUT/order.json" || code=$?
  fi
  [ -s "$OUT/order.json" ] || return 1
  order --format markdown --out "$OUT/order.md" || true
  order --format html --out "$OUT/order.html" || true
  order --out "$OUT/order.txt" || true
  cat "$OUT/order.txt"
  [ "$previewed" = 0 ] || [ "$code" != 0 ] || code=1
  # Without a plan nobody can apply by mistake what was refused.
  [ "$code" = 0 ] || rm -f "$OUT/update-plan.json"
  return "$code"
}

apply() {
  if [ ! -s "$OUT/update-plan.json" ]; then
    echo "no $OUT/update-plan.json: run review first; it leaves none where it refuses" >&2
    return 1
  fi
  pulumi up --yes --non-interactive "${stack[@]}" "${policies[@]}" --plan "$OUT/update-plan.json"
}

drift() {
  local resources=0 slurm=0
  pulumi refresh --preview-only --expect-no-changes --non-interactive "${stack[@]}" || resources=$?
  "$PYTHON" -m slinky_iac drift "${stack[@]}" || slurm=$?
  case "$resources $slurm" in
    "0 0") return 0 ;;
    "0 5") return 5 ;;
    *" 0") return 6 ;;
    *" 5") return 7 ;;
    *) return 1 ;;
  esac
}

case "${1:-}" in
  review | apply | drift) "$1" ;;
  *)
    sed -n '2,6p' "$0" | sed 's/^# \{0,1\}//' >&2
    exit 2
    ;;
esac

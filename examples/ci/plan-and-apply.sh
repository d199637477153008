#!/usr/bin/env bash
# The whole gate without any CI product: plan-and-apply.sh review | state | preview | judge | apply | drift
#
#   review   preview, then judge: for a machine of your own. In CI these two are two jobs:
#   state    whether the state holds foreign code, and the policies are there: before any code of the branch is installed
#   preview  preview with policies and save the update plan; runs the branch's code, and judges nothing
#   judge    write the change order of what preview left, and judge it against the limits: needs no pulumi, no secret, no network
#   apply    carry out exactly what was reviewed: where a job list, a node or a setting has changed since, nothing is done
#   drift    what differs in the cloud's and in Slurm's eyes; repairs nothing
#
# Run it in the project's folder, logged in to the backend, with the stack's passphrase or KMS at hand. It judges with the code,
# the Python and the policies of its own checkout, which in CI is another one than the branch's (docs/ci.md). Settings come from
# the environment:
#   STACK        stack; by default the selected one
#   OUT          folder of what is written (default: change-order)
#   LIMITS       for example "--max-share 50% --max-jobs 20 --max-job-age 12h"; all options of `plan` that judge
#   POLICY_PACK  policy pack, empty for none (default: policies beside the script's examples)
#   POLICY_CONFIG  its configuration
#   STATE_ALLOW  what your own program has in its state besides: packages, dotted names of dynamic providers
#   PYTHON       default: venv/bin/python of the script's checkout, and no other
#
# Exit codes of review and judge: 0 may be applied, 1 failed, 2 wrong arguments, 3 limits exceeded, 4 plan not known, 7 would pass its
# deadline. Of drift: 0 none, 5 Slurm differs, 6 resources differ, 7 both, 1 something could not be asked.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
OUT=${OUT:-change-order}
# Never the project's: a branch would bring its own judge.
PYTHON=${PYTHON:-$here/venv/bin/python}
POLICY_PACK=${POLICY_PACK-$here/policies}
stack=()
[ -z "${STACK:-}" ] || stack=(--stack "$STACK")
policies=()
[ -z "$POLICY_PACK" ] || policies=(--policy-pack "$POLICY_PACK")
[ -z "${POLICY_CONFIG:-}" ] || policies+=(--policy-pack-config "$POLICY_CONFIG")
# All lines: what a workflow writes as a block must not lose its second limit.
read -r -d '' -a limits <<< "${LIMITS:-}" || true
allowed=()
for each in ${STATE_ALLOW:-}; do allowed+=(--allow "$each"); done

# -P: the folder in which this runs is the branch's, and its slinky_iac isn't the one that judges. -s: nor what a user installed.
slinky() { PYTHONPATH=$here "$PYTHON" -P -s -m slinky_iac "$@"; }

fail() {
  echo "$*" >&2
  return 1
}

judge_is_there() {
  [ -x "$PYTHON" ] || fail "PYTHON: there is no $PYTHON, so nothing is judged, previewed or applied. Make it first, before anything" \
    "of the branch: python3 -m venv $here/venv && $here/venv/bin/pip install --require-hashes -r $here/requirements.lock"
}

policies_are_there() {
  if [ -n "$POLICY_PACK" ] && [ ! -f "$POLICY_PACK/PulumiPolicy.yaml" ]; then
    fail "POLICY_PACK: there is no policy pack in $POLICY_PACK, so nothing is previewed or applied. Check it out, or set" \
      "POLICY_PACK= for none"
  elif [ -n "${POLICY_CONFIG:-}" ] && [ ! -s "$POLICY_CONFIG" ]; then
    fail "POLICY_CONFIG: $POLICY_CONFIG isn't there or is empty, so nothing is previewed or applied"
  fi
}

state_is_ours() {
  local said
  # Engines load code from the state; one that others can write to is looked at before (docs/operations.md, "Back up").
  said=$(slinky verify-state "${stack[@]}" "${allowed[@]}") || fail "$said"
}

state() {
  judge_is_there && policies_are_there && state_is_ours
}

order() { slinky plan "$OUT/preview.json" "${limits[@]}" "${removals[@]}" --folder "$OUT"; }

limits_are_right() {
  local code=0
  [ "${#limits[@]}" = 0 ] || slinky plan --check-limits "${limits[@]}" || code=$?
  case "$code" in 0 | 2) ;; *) code=1 ;; esac
  return "$code"
}

preview() {
  local previewed=0 known=0
  mkdir -p "$OUT"
  # What an earlier review left must never be taken for this one's, so it goes before anything can fail.
  rm -f "$OUT"/preview.{json,exit} "$OUT"/update-plan.json "$OUT"/update-plan.json.new "$OUT"/removals.json "$OUT"/order.{md,html,json,txt}
  judge_is_there || return 1
  policies_are_there || return 1
  # A slip in the limits is found before minutes are spent on a preview.
  limits_are_right || return
  state_is_ours || return 1
  PULUMI_ENABLE_STREAMING_JSON_PREVIEW=1 pulumi preview --json --non-interactive "${stack[@]}" "${policies[@]}" \
    --save-plan "$OUT/update-plan.json.new" > "$OUT/preview.json" || previewed=$?
  slinky plan "$OUT/preview.json" > "$OUT/order.txt" || known=$?
  rm -f "$OUT/order.txt"
  # A preview shows no removal's jobs; this asks for them.
  if [ "$known" = 4 ]; then slinky drain plan --json "${stack[@]}" > "$OUT/removals.json" || rm -f "$OUT/removals.json"; fi
  echo "$previewed" > "$OUT/preview.exit"
}

judge() {
  local previewed code=0
  removals=()
  rm -f "$OUT"/update-plan.json "$OUT"/order.{md,html,json,txt}
  # However this ends, the plan is only there if the last line but one was reached.
  trap 'rm -f "$OUT/update-plan.json.new"' EXIT
  judge_is_there || return 1
  limits_are_right || return
  for each in preview.json preview.exit; do
    [ -f "$OUT/$each" ] && [ ! -L "$OUT/$each" ] || fail "no $OUT/$each: run preview first" || return 1
  done
  previewed=$(head -c 8 "$OUT/preview.exit")
  [ ! -s "$OUT/removals.json" ] || removals=(--removals "$OUT/removals.json")
  order || code=$?
  [ ! -s "$OUT/order.txt" ] || cat "$OUT/order.txt"
  case "$code" in 0 | 2 | 3 | 4 | 7) ;; *) code=1 ;; esac
  [ "$previewed" = 0 ] || [ "$code" != 0 ] || code=1
  [ "$code" = 0 ] || return "$code"
  # Pages that could not be read were not approved.
  for page in md html json txt; do [ -s "$OUT/order.$page" ] || fail "$OUT/order.$page could not be written" || return 1; done
  [ -f "$OUT/update-plan.json.new" ] || fail "preview left no update plan in $OUT" || return 1
  mv -f "$OUT/update-plan.json.new" "$OUT/update-plan.json"
}

review() {
  trap 'rm -f "$OUT/update-plan.json.new"' EXIT
  preview || return
  judge
}

apply() {
  if [ ! -s "$OUT/update-plan.json" ]; then
    echo "no $OUT/update-plan.json: run review first; it leaves none where it refuses" >&2
    return 1
  fi
  state || return 1
  pulumi up --yes --non-interactive "${stack[@]}" "${policies[@]}" --plan "$OUT/update-plan.json"
}

drift() {
  local resources=0 slurm=0
  judge_is_there || return 1
  state_is_ours || return 1
  pulumi refresh --preview-only --expect-no-changes --non-interactive "${stack[@]}" || resources=$?
  slinky drift "${stack[@]}" || slurm=$?
  case "$resources $slurm" in
    "0 0") return 0 ;;
    "0 5") return 5 ;;
    *" 0") return 6 ;;
    *" 5") return 7 ;;
    *) return 1 ;;
  esac
}

case "${1:-}" in
  review | state | preview | judge | apply | drift) "$1" ;;
  *)
    sed -n '2,9p' "$0" | sed 's/^# \{0,1\}//' >&2
    exit 2
    ;;
esac

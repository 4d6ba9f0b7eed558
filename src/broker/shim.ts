// The POSIX sh program that stands between the provider and the broker: one envelope in, one answer out. Called as
// `/bin/sh SHIM EVENT T GATE|OTHER`, or read by a subshell of the hook's own /bin/sh with the run directory as a fourth argument.
// Whatever fails in here: as GATE exit 2 with a reason on stderr, as OTHER exit 0 in silence. As GATE it must never exit with the
// admitting code without the broker's own word for this very call.

/** Reply FIFOs made with the run directory. The number is part of the shim's text. */
export const SLOT_COUNT = 8;

/**
 * Exit code of an admitted gate; the outer form (render/handler-form.ts) turns it into 0 and every other but 2 into a deny.
 * A shell that found nothing to run exits 0.
 */
export const ADMITTED_CODE = 90;

/** Names of what the shim uses, relative to the run directory. */
export const SHIM_LAYOUT = {
  requests: "q",
  replies: "r",
  envelopes: "e",
  bodies: "b",
  shimDir: "s",
  shim: "s/shim",
} as const;

export const SLOTS: readonly string[] = Array.from({ length: SLOT_COUNT }, (_, index) => String(index));

// Why it looks the way it does (each line was a measured hazard):
// - it stands in braces: a shim that was cut short must fail while the shell still reads it, before stderr is closed, because an
//   exit 2 in silence is no denial to codex;
// - slots are persistent FIFOs claimed by creating e/SLOT under noclobber, on `{ :; }` because a failed redirect on a
//   special builtin ends the shell; never unlinked, or `<>` would create a regular file in their place;
// - the deadline is end-of-file: a background sleep holds the only write end, and a write-only one, so that a broker
//   answering a dead caller gets ENXIO; no signals, no `read -t`, no `timeout` binary;
// - `q` is opened read-write, which never blocks although the broker may be gone;
// - stderr goes to /dev/null and our own words to fd 7, or a shell's "Killed" would become part of the reason;
// - KILL for the sleep, because TERM can be lost between fork and the reset of traps;
// - the reply is three lines and must name our pid ($$: of the hook's outer shell where that reads the shim): anything else is
//   stale or garbage;
// - a rewrite that could not be printed must not become a plain exit 0.
// Measured side by side and left out, because it saved less than a tenth of a call: one process a run that holds the write ends of all
// slots in the place of a sleep a call (2 to 5 %, and nothing where a subshell reads the shim); starting the sleep while the broker
// decides (none); `exec` of a sh by the user's own shell (3 to 7 %). The largest part left is the start of `cat`, a fifth of a call;
// the shell's own `read` takes a system call a byte.
export const SHIM_TEXT = `#!/bin/sh
{
PATH=/usr/bin:/bin LC_ALL=C IFS=' '
export PATH LC_ALL
umask 077
trap '' PIPE
exec 7>&2 2>/dev/null
event=\${1-} limit=\${2-} kind=\${3-} slot='' sleeper='' sent=''
run=\${4-}
if [ -z "$run" ]; then run=\${0%/*} run=\${run%/*}; fi
leave() {
  trap '' HUP INT TERM
  if [ -n "$sleeper" ]; then kill -9 "$sleeper"; fi
  exec 6<&-
  if [ -n "$sent" ] && [ -p "$run/q" ]; then { echo "D $slot $$"; } 1<>"$run/q"; fi
  exit "$1"
}
fail() {
  if [ "$kind" = OTHER ]; then leave 0; fi
  echo "bridle: $1; denied" >&7
  leave 2
}
trap 'fail "the hook was ended by a signal"' HUP INT TERM
case $event in '' | *[!A-Za-z_]*) fail 'the hook was called without an event' ;; esac
case $limit in '' | *[!0-9]*) fail 'the hook was called without a deadline' ;; esac
set -C
for try in ${SLOTS.join(" ")}; do
  if [ ! -p "$run/e/$try" ] && { :; } >"$run/e/$try"; then slot=$try; break; fi
done
if [ -z "$slot" ]; then
  slot=x$$
  mkfifo "$run/r/$slot" 7>&- || fail 'the run directory is damaged'
  { :; } >"$run/e/$slot" || fail 'the run directory is damaged'
fi
reply=$run/r/$slot
if [ ! -p "$reply" ] || [ ! -p "$run/q" ]; then fail 'the run directory is damaged'; fi
{
  sleep "$limit" </dev/null >&4 3>&- 4>&- 6<&- 7>&- &
  sleeper=$!
  exec 3>&- 4>&-
  cat >|"$run/e/$slot" 6<&- 7>&- || fail 'the envelope could not be stored'
  if [ ! -p "$run/q" ]; then fail 'the run directory is damaged'; fi
  sent=1
  { echo "T $slot $$ $event"; } 1<>"$run/q" || fail 'the supervisor could not be asked'
  read -r code pid rest <&6 || fail 'no answer from the supervisor in time'
  IFS= read -r err <&6 || fail 'no whole answer from the supervisor in time'
  IFS= read -r out <&6 || fail 'no whole answer from the supervisor in time'
  if [ "$pid" != "$$" ] || [ -n "$rest" ]; then fail 'the answer was for another call'; fi
  case $code in
    0 | 2)
      if [ "$code" = 2 ] && [ -z "$err" ]; then fail 'denied without a reason'; fi
      if [ -n "$err" ]; then printf '%s\\n' "$err" >&7 || fail 'the answer could not be printed'; fi
      if [ -n "$out" ]; then printf '%s\\n' "$out" || fail 'the answer could not be printed'; fi
      ;;
    F0 | F2)
      code=\${code#F}
      if [ ! -f "$run/b/$slot.err" ] || [ ! -f "$run/b/$slot.out" ]; then fail 'the answer is incomplete'; fi
      if [ "$code" = 2 ] && [ ! -s "$run/b/$slot.err" ]; then fail 'denied without a reason'; fi
      cat "$run/b/$slot.err" >&7 || fail 'the answer could not be printed'
      cat "$run/b/$slot.out" 7>&- || fail 'the answer could not be printed'
      ;;
    *) fail 'the answer could not be read' ;;
  esac
  if [ "$code" = 0 ] && [ "$kind" != OTHER ]; then leave ${ADMITTED_CODE}; fi
  leave "$code"
} 3<>"$reply" 4>"$reply" 6<"$reply"
fail 'the run directory is damaged'
}
`;

// The watchdog's program: POSIX sh that waits on its stdin and, when that ends, ends every process tree it was told of. It must
// never signal a process whose identity is not proven, never follow a link, and use nothing but /proc and the tools below.

import { SHIM_LAYOUT } from "../broker/shim.ts";

/** A variable that is last in its own environment: a grep that stops at a NUL byte does not find it there. */
const SELF_TEST = "BRIDLE_WATCHDOG_SELF_TEST";

/** The whole environment. */
export function watchdogEnv(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  // SHLVL: a bash whose stdin is a socket would read ~/.bashrc below 2.
  return { PATH: "/usr/bin:/bin", LC_ALL: "C", SHLVL: "2", ...extra, [SELF_TEST]: "1" };
}

/** Between the program and the protocol on stdin. */
export const END_OF_PROGRAM = ".";

/**
 * What stands in argv: reads the program from stdin, so that a process list shows one short line, then runs it when it is whole. `read`
 * takes one byte at a time, so that nothing of the protocol is lost.
 */
export const WATCHDOG_LOADER = `p=;while IFS= read -r l&&[ "$l" != ${END_OF_PROGRAM} ];do p="$p$l
";done;[ "$l" = ${END_OF_PROGRAM} ]&&eval "$p"`;

// Why it looks the way it does:
// - one line a run, in a slot with a number, so that adding and removing is one assignment and the memory is bounded;
// - one grep reads every /proc/PID/stat and puts the path before each line, so that a process whose name holds a line break cannot pretend
//   to be another one; without a grep they are read one by one, which is slower;
// - the tree comes from the parents of one snapshot, taken before the first kill: afterwards orphans belong to init. An agent dies by
//   itself when its pipes close, so it is stopped first;
// - environments hold NUL bytes, which `read` cannot see, so grep looks; one that is deaf behind a NUL (busybox) is given lines by tr;
// - a signal follows the look that proved the process at once, and a later round compares start times: a pid may be another's by then;
// - a group is signalled while its leader, or a marked member, is known to be in it;
// - a directory is entered first and identified then, so that what is emptied is what was identified.
/** Lines: `+ SLOT PID START GROUP MARKER RUNID DEV:INO PATH`, `- SLOT`. 0 stands for a pid, start time and group not known yet. */
export const WATCHDOG_PROGRAM = `
trap '' HUP INT TERM
IFS=' '
newline='
'
last=0
while read -r verb slot rest; do
  case $slot in ''|*[!0-9]*) continue ;; esac
  case $verb in
    +) eval "run_$slot=\\$rest"; [ "$slot" -gt "$last" ] && last=$slot ;;
    -) eval "run_$slot=" ;;
  esac
done

runs=
slot=0
while [ "$slot" -lt "$last" ]; do
  slot=$((slot + 1))
  eval "rest=\\$run_$slot"
  [ -n "$rest" ] && runs="$runs $slot"
done
[ -n "$runs" ] || exit 0

nap() { sleep 0.01 2>/dev/null || sleep 1; }

look() {
  line=
  { while IFS= read -r part; do line="$line$part "; done <"/proc/$1/stat"; } 2>/dev/null
  [ -n "$line" ] || return 1
  set -- \${line##*\\) }
  [ $# -ge 20 ] || return 1
  state=$1 parent=$2 group=$3
  shift 19
  start=$1
}

note() {
  [ "$pid" = $$ ] && return
  eval "now_\${round}_$pid=$1:$4 group_\${round}_$pid=$3"
  eval "kids_\${round}_$2=\\"\\$kids_\${round}_$2 $pid\\""
}

snapshot() {
  round=$((round + 1))
  list=$(printf '%s\\n' /proc/[0-9]*/stat | xargs grep -s '' /dev/null 2>/dev/null)
  set -f
  IFS=$newline
  for line in $list; do
    IFS=' '
    pid=\${line#/proc/}
    pid=\${pid%%/*}
    set -- \${line##*\\) }
    [ $# -ge 20 ] && note "$1" "$2" "$3" "\${20}"
  done
  IFS=' '
  set +f
  [ -n "$list" ] && return
  for entry in /proc/[0-9]*; do
    pid=\${entry#/proc/}
    look "$pid" && note "$state" "$parent" "$group" "$start"
  done
}

# Every living member of the tree below pid $1, which started at $2.
doom_tree() {
  eval "known=\\$now_\${round}_$1"
  [ "\${known#?:}" = "$2" ] || return 1
  set -- "$1"
  while [ $# -gt 0 ]; do
    pid=$1
    shift
    eval "known=\\$now_\${round}_$pid kids=\\$kids_\${round}_$pid"
    set -- "$@" $kids
    case $known in ''|Z:*|X:*) continue ;; esac
    doomed="$doomed $pid"
    struck="$struck $pid:\${known#?:}"
  done
}

find_marked() {
  if [ -n "$hears_nul" ]; then
    printf '%s\\n' /proc/[0-9]*/environ | xargs grep -lsE "$pattern" 2>/dev/null
  else
    for entry in /proc/[0-9]*/environ; do
      tr '\\000' '\\n' 2>/dev/null <"$entry" | grep -qE "$pattern" && printf '%s\\n' "$entry"
    done
  fi
}

# A zombie shows no environment, so what is found here lives.
doom_marked() {
  for entry in $(find_marked | tr '\\n' ' '); do
    pid=\${entry#/proc/}
    pid=\${pid%/environ}
    [ "$pid" = $$ ] && continue
    eval "known=\\$now_\${round}_$pid group=\\$group_\${round}_$pid"
    start=\${known#?:}
    [ -n "$known" ] || look "$pid" || continue
    doomed="$doomed $pid"
    struck="$struck $pid:$start"
    for slot in $runs; do
      eval "set -- \\$run_$slot"
      [ "$group" = "$3" ] && groups="$groups $3"
    done
  done
}

# Directly after the look that proved them.
strike() {
  [ -n "$doomed" ] && kill -s KILL $doomed 2>/dev/null
  for leader in $groups; do
    [ "$leader" -gt 1 ] && kill -s KILL -- "-$leader" 2>/dev/null
  done
}

end_trees() {
  ids=
  for slot in $runs; do
    eval "set -- \\$run_$slot"
    ids="$ids|$4"
    [ "$1" -gt 1 ] && look "$1" && [ "$start" = "$2" ] && kill -s STOP "$1" 2>/dev/null
  done
  pattern="(^|[^A-Za-z0-9_])BRIDLE_RUN_MARKER=([A-Za-z0-9_-]+:)*(\${ids#|})(:|[^A-Za-z0-9_-]|$)"
  hears_nul=
  grep -qsE '(^|[^A-Z])${SELF_TEST}=' /proc/$$/environ && hears_nul=yes
  round=0 quiet=0 struck=
  while [ "$quiet" -lt 2 ] && [ "$round" -lt 300 ]; do
    doomed= groups= before=$struck struck=
    snapshot
    for slot in $runs; do
      eval "set -- \\$run_$slot"
      [ "$1" -gt 1 ] && doom_tree "$1" "$2" && groups="$groups $3"
    done
    for victim in $before; do doom_tree "\${victim%%:*}" "\${victim#*:}"; done
    # What is known dies first; the look into the environments takes longer.
    strike
    doomed= groups=
    doom_marked
    strike
    if [ -z "$struck" ]; then quiet=$((quiet + 1)); else quiet=0; nap; fi
  done
}

end_groups() {
  for slot in $runs; do
    eval "set -- \\$run_$slot"
    [ "$3" -gt 1 ] && kill -s KILL -- "-$3" 2>/dev/null
  done
}

remove_directory() (
  eval "rest=\\$run_$1"
  set -- $rest
  run_id=$5 identity=$6
  path=\${rest#"$1 $2 $3 $4 $5 $6 "}
  case $path in /*/"$run_id") ;; *) exit ;; esac
  [ -L "$path" ] && exit
  cd -P "$path" || exit
  [ "$(stat -c %d:%i . 2>/dev/null)" = "$identity" ] || exit
  [ -L ${SHIM_LAYOUT.shimDir} ] || chmod 700 ${SHIM_LAYOUT.shimDir}
  rm -rf ./* ./.[!.]* ./..?*
  cd / && rmdir "$path"
)

if [ -r /proc/self/stat ]; then end_trees; else end_groups; fi
for slot in $runs; do remove_directory "$slot"; done
exit 0
`;

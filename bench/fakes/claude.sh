// agent-bridle testkit: a fake provider
# A claude for the bench; fakes.mjs puts a first line before it. Answers the control channel of Bridle and of the official SDK, and does what the
# prompt orders: `print=FILE` prints that file, `calls=N gate=PATH` asks the hooks before N calls, with a pause before each, once PATH exists, and
# says how long each took; anything else is answered at once. Only `calls` needs bash. The line above is a comment to whoever reads the file,
# and an error to the shell: no matter.
PATH=/usr/bin:/bin

if [ "$1" = --version ]; then
  echo '2.1.332+fake (Claude Code)'
  exit 0
fi

session=s settings='{}'
for word; do
  case $word in
    --settings=*) IFS= read -r settings <"${word#*=}" ;; # one line without an end: read says no, and has it
    --session-id=*) session=${word#*=} ;;
  esac
done

# The hooks of the settings, as they stand there: a command holds no quote and no backslash, or the preflight refuses.
listing=''
for event in SessionStart PreToolUse; do
  head="\"$event\":[{\"hooks\":[{\"type\":\"command\",\"command\":\""
  command=''
  case $settings in
    *"$head"*)
      command=${settings#*"$head"}
      command=${command%%'"'*}
      listing="$listing${listing:+,}{\"event\":\"$event\",\"source\":\"flagSettings\",\"commandText\":\"$command\",\"disabled\":false}"
      ;;
  esac
  eval "command_$event=\$command"
done
hasCallbacks=no

say() {
  printf '%s\n' "$1"
}

envelope() { # EVENT FIELDS
  envelope="{\"session_id\":\"$session\",\"transcript_path\":\"/dev/null\",\"cwd\":\"$PWD\",\"permission_mode\":\"default\",\"hook_event_name\":\"$1\",$2}"
}

# runHook EVENT FIELDS: the hook of an event as a command, with an envelope on stdin. Its exit code is the answer.
runHook() {
  eval "command=\$command_$1"
  if [ -z "$command" ]; then return 0; fi
  envelope "$1" "$2"
  /bin/sh -c "$command" >/dev/null 2>&1 <<END
$envelope
END
}

sayHook() { # EVENT CODE
  say "{\"type\":\"system\",\"subtype\":\"hook_response\",\"hook_name\":\"$1\",\"hook_event\":\"$1\",\"exit_code\":$2,\"outcome\":\"success\",\"session_id\":\"$session\"}"
}

# callBack EVENT ID FIELDS: asks over stdout and waits for the line that answers.
callBack() {
  envelope "$1" "$3"
  say "{\"type\":\"control_request\",\"request_id\":\"$2\",\"request\":{\"subtype\":\"hook_callback\",\"callback_id\":\"$callback\",\"input\":$envelope}}"
  IFS= read -r answer || exit 1
  case $answer in
    *'"subtype":"success","request_id":"'"$2"'"'*) ;;
    *) exit 1 ;; # another line than the answer: what is measured would not be a call
  esac
}

answer() {
  id=${line#*'"request_id":"'}
  say "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"${id%%'"'*}\",\"response\":$1}}"
}

valueOf() { # NAME: what stands behind NAME= in the prompt
  value=${line#*"$1="}
  value=${value%%[ \"]*}
}

sayResult() {
  say "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"terminal_reason\":\"completed\",\"duration_ms\":1,\"duration_api_ms\":1,\"num_turns\":1,\"result\":\"$1\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1},\"total_cost_usd\":0,\"permission_denials\":[],\"session_id\":\"$session\",\"uuid\":\"u\"}"
}

# With bash. Microseconds of each call, as an agent sees them: from before it asks until it has the answer.
makeCalls() {
  valueOf calls && calls=$value
  valueOf gate && gate=$value
  eval 'exec 9<> <(:)' # nobody writes to it: a read with a deadline is a pause that starts no process. Quoted, for the shells that cannot read it
  while [ ! -e "$gate" ]; do read -r -t 0.1 -u 9; done
  took='' call=0
  while [ "$call" -lt "$calls" ]; do
    call=$((call + 1))
    read -r -t "0.$((200 + (RANDOM * 32768 + RANDOM) % 600))" -u 9
    id="toolu_${session}_$call"
    input="{\"command\":\"work $call\",\"description\":\"scripted\"}"
    fields="\"tool_name\":\"Bash\",\"tool_input\":$input,\"tool_use_id\":\"$id\""
    say "{\"type\":\"assistant\",\"message\":{\"role\":\"assistant\",\"model\":\"fake\",\"content\":[{\"type\":\"tool_use\",\"id\":\"$id\",\"name\":\"Bash\",\"input\":$input}]},\"parent_tool_use_id\":null,\"session_id\":\"$session\"}"
    start=${EPOCHREALTIME/./}
    if [ $hasCallbacks = yes ]; then
      callback=bridle-PreToolUse callBack PreToolUse "request-$call" "$fields"
      end=${EPOCHREALTIME/./}
    else
      runHook PreToolUse "$fields"
      code=$?
      end=${EPOCHREALTIME/./}
      sayHook PreToolUse $code
      if [ $code != 0 ]; then exit 1; fi
    fi
    took="$took $((end - start))"
    say "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"content\":\"done\",\"is_error\":false,\"tool_use_id\":\"$id\"}]},\"parent_tool_use_id\":null,\"tool_result_meta\":[{\"id\":\"$id\",\"permission_decision\":{\"decision\":\"accept\",\"source\":\"hook\"}}],\"session_id\":\"$session\"}"
  done
  sayResult "${took# }"
}

work() {
  say "{\"type\":\"system\",\"subtype\":\"init\",\"cwd\":\"$PWD\",\"tools\":[\"Bash\"],\"model\":\"fake\",\"session_id\":\"$session\",\"uuid\":\"u\"}"
  if [ $hasCallbacks = yes ]; then
    callback=bridle-canary callBack UserPromptSubmit request-0 '"prompt":"p"'
  fi
  case $line in
    *print=*)
      valueOf print
      cat "$value"
      sayResult done
      ;;
    *calls=*) makeCalls ;;
    *) sayResult done ;;
  esac
}

while IFS= read -r line; do
  case $line in
    *'"subtype":"initialize"'*)
      case $line in *'"bridle-canary"'*) hasCallbacks=yes ;; esac
      runHook SessionStart "\"source\":\"startup\",\"model\":\"fake\""
      code=$?
      if [ -n "$command_SessionStart" ]; then sayHook SessionStart $code; fi
      answer '{"claude_code_version":"2.1.332+fake","hook_on_failure_supported":true,"hooks_applied":true,"current_permission_mode":"default","commands":[],"models":[],"account":{}}'
      ;;
    *'"subtype":"get_settings"'*)
      answer "{\"errors\":[],\"effective\":$settings,\"sources\":[{\"source\":\"flagSettings\",\"settings\":$settings}]}"
      ;;
    *'"subtype":"get_hooks_listing"'*) answer "{\"policy\":{},\"hooks\":[$listing]}" ;;
    *'"subtype":"interrupt"'*) answer '{}' ;;
    *'"type":"user"'*) work ;;
  esac
done
exit 0

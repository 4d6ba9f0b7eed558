#!/bin/sh
// agent-bridle testkit: a fake provider
# A claude of a few kilobytes: 200 of them at a time are cheap. Answers the control channel, asks the rendered hooks through their own
# commands and heeds them, and makes the calls that its prompt orders: `turns=N deny=M pause=SECONDS`. It starts nothing but hooks and
# sleep; everything else is the shell itself. The line above is a comment to whoever reads the file, and an error to the shell: no matter.
PATH=/usr/bin:/bin

if [ "$1" = --version ]; then
  echo '2.1.332+fake (Claude Code)'
  exit 0
fi

session='' settings='{}' model=fake
for word; do
  case $word in
    --settings=*) IFS= read -r settings <"${word#*=}" ;; # one line without an end: read says no, and has it
    --session-id=*) session=${word#*=} ;;
  esac
done

# The hooks of the settings, as they stand there: a command holds no quote and no backslash, or the preflight refuses.
listing=''
for event in SessionStart PreToolUse Stop SessionEnd; do
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

say() {
  printf '%s\n' "$1"
}

# ask EVENT FIELDS: runs the hook of an event with an envelope on stdin. Its exit code is the answer.
ask() {
  eval "command=\$command_$1"
  if [ -z "$command" ]; then return 0; fi
  /bin/sh -c "$command" >/dev/null 2>&1 <<END
{"session_id":"$session","transcript_path":"/dev/null","cwd":"$PWD","permission_mode":"default","hook_event_name":"$1",$2}
END
  code=$?
  # Nobody reads the end of the last one.
  if [ "$1" != SessionEnd ]; then
    say "{\"type\":\"system\",\"subtype\":\"hook_response\",\"hook_name\":\"$1\",\"hook_event\":\"$1\",\"exit_code\":$code,\"outcome\":\"success\",\"session_id\":\"$session\"}"
  fi
  return $code
}

answer() {
  id=${line#*'"request_id":"'}
  say "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"${id%%'"'*}\",\"response\":$1}}"
}

number() { # the value behind NAME= in the prompt
  value=${line#*"$1="}
  value=${value%%[!0-9.]*}
}

work() {
  number turns && turns=$value
  number deny && deny=$value
  number pause && pause=$value
  say "{\"type\":\"system\",\"subtype\":\"init\",\"cwd\":\"$PWD\",\"tools\":[\"Bash\"],\"model\":\"$model\",\"session_id\":\"$session\"}"
  turn=0 admitted=0 denied=0
  while [ "$turn" -lt "$turns" ]; do
    turn=$((turn + 1))
    id="toolu_${session}_$turn"
    word=work
    if [ "$turn" -le "$deny" ]; then word=forbidden; fi
    input="{\"command\":\"$word $turn\",\"description\":\"scripted\"}"
    say "{\"type\":\"assistant\",\"message\":{\"role\":\"assistant\",\"model\":\"$model\",\"content\":[{\"type\":\"tool_use\",\"id\":\"$id\",\"name\":\"Bash\",\"input\":$input}]},\"parent_tool_use_id\":null,\"session_id\":\"$session\"}"
    if ask PreToolUse "\"tool_name\":\"Bash\",\"tool_input\":$input,\"tool_use_id\":\"$id\""; then
      admitted=$((admitted + 1)) said=accept isError=false
    else
      denied=$((denied + 1)) said=reject isError=true
    fi
    say "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"content\":\"$said\",\"is_error\":$isError,\"tool_use_id\":\"$id\"}]},\"parent_tool_use_id\":null,\"tool_result_meta\":[{\"id\":\"$id\",\"permission_decision\":{\"decision\":\"$said\",\"source\":\"hook\"}}],\"session_id\":\"$session\"}"
    sleep "$pause"
  done
  ask Stop '"stop_hook_active":false'
  say "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"terminal_reason\":\"completed\",\"num_turns\":$turns,\"result\":\"admitted $admitted denied $denied\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1},\"total_cost_usd\":0,\"session_id\":\"$session\"}"
}

while IFS= read -r line; do
  case $line in
    *'"subtype":"initialize"'*)
      ask SessionStart "\"source\":\"startup\",\"model\":\"$model\""
      answer '{"claude_code_version":"2.1.332+fake","hook_on_failure_supported":true,"current_permission_mode":"default"}'
      ;;
    *'"subtype":"get_settings"'*)
      answer "{\"errors\":[],\"effective\":$settings,\"sources\":[{\"source\":\"flagSettings\",\"settings\":$settings}]}"
      ;;
    *'"subtype":"get_hooks_listing"'*) answer "{\"policy\":{},\"hooks\":[$listing]}" ;;
    *'"subtype":"interrupt"'*) answer '{}' ;;
    *'"type":"user"'*) work ;;
  esac
done
ask SessionEnd '"reason":"other"'
exit 0
